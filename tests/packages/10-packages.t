#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages: nothing of the folder in which they are built is in them, make install installs the
# same files; in a Debian 12 and a Debian 13 they are installed, used to build, trace and record programs,
# upgraded and purged. BUILDS=2, as in `make nightly`: they are built twice, and both are equal.
# The test has a mount namespace of its own for its mounts.
if [ -z "${EBT_OWN_MOUNTS:-}" ] && unshare -m true 2>/dev/null; then
	EBT_OWN_MOUNTS=1 exec unshare -m "$0" "$@"
fi
. tests/lib.sh
. tests/packages/debian.sh
need_root
[ -n "${EBT_OWN_MOUNTS:-}" ] || skip_all "no mount namespace can be made"
for command in dpkg-buildpackage dh lintian debootstrap scdoc git jq man; do
	need_command $command
done
declare -A roots
tests/root.sh packages-bookworm >"$TMP/bookworm.path" 2>"$TMP/bookworm.log" &
tests/root.sh packages-trixie >"$TMP/trixie.path" 2>"$TMP/trixie.log"
wait $!
for suite in bookworm trixie; do
	roots[$suite]=$(<"$TMP/$suite.path")
	[ -n "${roots[$suite]}" ] || skip_all "no Debian: $(tail -1 "$TMP/$suite.log")"
done
lap "the roots"

multiarch=$(gcc -print-multiarch)
directories=(PREFIX=/usr LIBDIR="/usr/lib/$multiarch")
# The test may be run by a make, whose options must not reach another.
plain_make() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES make "$@"; }

# In a folder of another name: the second one.
git status --porcelain >"$TMP/tree.before"
mkdir -p "$TMP/another/folder"
# gcc optimizes and describes less, where they are built once.
[ "${BUILDS:-1}" = 1 ] && export DEB_CFLAGS_APPEND="-Og -g1"
[ "${BUILDS:-1}" = 1 ] || TMPDIR=$TMP/another/folder packaging/deb.sh "$TMP/two" >"$TMP/two.log" 2>&1 &
plain_make deb O="$TMP/one" >"$TMP/one.log" 2>&1
ok $? "make deb builds packages in which lintian finds no error and no warning" ||
	diag "$(<"$TMP/one.log")"
wait $!
ok $? "they are built a second time, if that is wanted" || diag "$(<"$TMP/two.log")"
[ -n "$(find "$TMP/one/deb" -name '*.changes')" ] || done_testing
lap "the build and lintian"
debs=$TMP/one/deb
names="ebtrace libebtrace-dev libebtrace-probes1 libebtrace1"
version=$(sed -n 's/^VERSION := //p' Makefile)
wanted=
for name in $names; do
	wanted+="${name}_${version}_amd64.deb "
	[ "$name" = libebtrace-dev ] || wanted+="$name-dbgsym_${version}_amd64.deb "
done
# shellcheck disable=SC2086
is "$(cd "$debs" && echo *.deb)" "$(printf '%s\n' $wanted | LC_ALL=C sort | paste -sd' ')" \
	"the packages, with debug symbols, of the version of the Makefile"
# What a build has of its own: where it was, and when.
mkdir "$TMP/contents"
for deb in "$debs"/*.deb; do dpkg-deb -R "$deb" "$TMP/contents/${deb##*/}"; done
# shellcheck disable=SC2016
find "$TMP/contents" -type f -exec sh -c 'for file; do
	case $file in
	*.gz) zcat "$file" ;;
	*.debug) objcopy --decompress-debug-sections "$file" "$file.plain" && cat "$file.plain" && rm "$file.plain" ;;
	*) cat "$file" ;;
	esac >"$0" && grep -qa "/ebtrace-deb\." "$0" && echo "$file"
done' "$TMP/content" {} + >"$TMP/named"
find "$TMP/contents" -name '*.debug' | grep -q . && [ ! -s "$TMP/named" ]
ok $? "nothing in them has the name of the folder in which they are built" || diag "$(<"$TMP/named")"
is "$(git grep -lwE '__(DATE|TIME|TIMESTAMP)__' -- '*.c' '*.h' '*.bpf.c')" "" "and no source has the time"
different=
[ "${BUILDS:-1}" = 1 ] || for deb in "$debs"/*.deb; do
	cmp -s "$deb" "$TMP/two/${deb##*/}" || different+=" ${deb##*/}"
done
is "$different" "" "the packages of all builds are equal, byte by byte"
git status --porcelain >"$TMP/tree.after"
cmp -s "$TMP/tree.before" "$TMP/tree.after"
ok $? "the tree is as it was"
# Nothing in them starts a process: no script, no unit, no file but programs, libraries and texts.
for name in $names; do
	deb=$debs/${name}_${version}_amd64.deb
	dpkg-deb --ctrl-tarfile "$deb" | tar t | grep -vE '^\./(|control|md5sums|shlibs|symbols|triggers)$'
	dpkg-deb -I "$deb" triggers 2>/dev/null | grep -vE '^(#.*|activate-noawait ldconfig)$'
	dpkg-deb -c "$deb" | awk '$1 !~ /^d/ { print $6 }' | grep -vE \
		"^\./usr/(bin/ebtrace|(include|lib/$multiarch|share/(bash-completion|doc|fish|man|zsh))/.*)$"
done >"$TMP/others"
is "$(<"$TMP/others")" "" "they hold programs, libraries and texts, and no maintainer's script"

# make install: files are compared by mode, name and target of a link.
files_of_packages() {
	for name in $names; do
		dpkg-deb -c "$debs/${name}_${version}_amd64.deb"
	done | awk '$1 ~ /^d/ || $6 ~ /^\.\/usr\/share\/doc\// { next }
		{ if ($6 ~ /\/man\/man[0-9]\//) sub(/\.gz$/, "", $6); print $1, $6, $8 }'
}
files_in() { (cd "$1" && find . -type l -printf '%M %p %l\n' -o ! -type d -printf '%M %p \n'); }
mkdir "$TMP/build"
cp -a "$O"/{user,usdt-probes,bpf,packaging,man,ebtrace,preload-dir} "$O"/lib*.{a,o,so,so.1} "$TMP/build"
to_build=(O="$TMP/build" "${directories[@]}")
plain_make -j2 install "${to_build[@]}" DESTDIR="$TMP/installed" >"$TMP/log" 2>&1
ok $? "make install" || diag "$(tail -5 "$TMP/log")"
is "$(grep '^  CC ' "$TMP/log" | tr -s ' ')" " CC user/engine/record/record.c" \
	"another folder of the preloaded library: only the file that uses its name is compiled"
files_of_packages | LC_ALL=C sort >"$TMP/files.packages"
files_in "$TMP/installed" | LC_ALL=C sort >"$TMP/files.installed"
same_file "$TMP/files.installed" "$TMP/files.packages" "make install installs what the packages do"
mv "$TMP/installed" "$TMP/moved"
"$TMP/moved/usr/bin/ebtrace" mem record -q -o "$TMP/out.ctf" -- true 2>"$TMP/log"
ok $? "what is installed can be moved: mem record finds its library" || diag "$(<"$TMP/log")"
touch "$TMP/moved/usr/include/ebtrace/theirs.h"
plain_make uninstall "${to_build[@]}" DESTDIR="$TMP/moved" >"$TMP/log" 2>&1
is "$? $(files_in "$TMP/moved" | cut -d' ' -f2)" "0 ./usr/include/ebtrace/theirs.h" \
	"make uninstall leaves a file of others, and nothing else"
rm "$TMP/moved/usr/include/ebtrace/theirs.h"
plain_make uninstall "${to_build[@]}" DESTDIR="$TMP/moved" >"$TMP/log" 2>&1
is "$? $(find "$TMP/moved" ! -type d -o -name ebtrace)" "0 " \
	"and without that file no folder of ours"
lap "make install"

raise_version "$debs" "$TMP/newer" "$version" "$version+newer"
for suite in bookworm trixie; do
	mount_debian "${roots[$suite]}" "$TMP/$suite"
	list_files "$TMP/$suite" >"$TMP/files.before"
	try_packages "$suite" "$TMP/$suite" "$debs"
	remove_packages "$suite" "$TMP/$suite" "$TMP/newer" "$version+newer"
	umount -R "$TMP/$suite"
	lap "$suite"
done
done_testing
