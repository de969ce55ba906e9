# SPDX-License-Identifier: BSD-2-Clause
# What the tests of packages do in a Debian, sourced by them after tests/lib.sh.

# lap WHAT: reports the seconds since the last one.
lap_us=${EPOCHREALTIME/./}
lap() {
	local now=${EPOCHREALTIME/./}
	diag "$1: $(((now - lap_us) / 1000000)).$(((now - lap_us) / 100000 % 10)) s"
	lap_us=$now
}

# mount_debian ROOT DIR: mounts a copy of ROOT at DIR, with the file systems that programs need.
# Files that are written are in memory, DIR.written/upper; DIR.lower is ROOT.
mount_debian() {
	mkdir "$2" "$2.written"
	ln -s "$1" "$2.lower"
	at_end "umount -lR '$2' '$2.written' 2>/dev/null"
	mount -t tmpfs none "$2.written"
	mkdir "$2.written/upper" "$2.written/work"
	mount -t overlay -o "lowerdir=$1,upperdir=$2.written/upper,workdir=$2.written/work" none "$2"
	mount -t proc none "$2/proc"
	mount -t sysfs none "$2/sys"
	mount -t tmpfs none "$2/tmp"
	mount -t tmpfs none "$2/dev/shm"
}

# All files of a root, without those of other mounts.
list_files() { (cd "$1" && find . -xdev -printf '%M %u:%g %p %l\n') | LC_ALL=C sort -k3; }

# raise_version FROM TO OLD NEW: writes the packages of folder FROM to TO with version NEW.
raise_version() {
	local deb dir
	mkdir "$2"
	for deb in "$1"/*_"$3"_*.deb; do
		dir=$2/${deb##*/}
		dpkg-deb -R "$deb" "${dir%.deb}"
		sed -i "/^Version:\|^Depends:/s/\b$3\(\$\|)\)/$4\1/g" "${dir%.deb}/DEBIAN/control"
		dpkg-deb -Znone --root-owner-group -b "${dir%.deb}" "$dir" >/dev/null
		rm -r "${dir%.deb}"
	done
}

# installed_versions ROOT: of our packages.
installed_versions() {
	chroot "$1" dpkg-query -W -f '${binary:Package} ${Version} ${db:Status-Abbrev}\n' |
		grep ebtrace | awk '{ print $2, $3 }' | sort -u
}

# try_packages SUITE ROOT DEBS: installs and uses them.
try_packages() {
	local suite=$1 root=$2
	cp "$3"/*.deb tests/packages/{runtime.c,reader.c,CMakeLists.txt} "$root/tmp"
	chroot "$root" sh -c 'dpkg -i /tmp/*.deb' >"$TMP/log" 2>&1
	ok $? "$suite: the packages are installed" || diag "$(tail -5 "$TMP/log")"
	chroot "$root" dpkg --audit >"$TMP/log" 2>&1
	is "$(<"$TMP/log")" "" "$suite: with all that they need"
	is "$(find /proc/[0-9]*/root -lname "$root" 2>/dev/null)" "" "$suite: and no process is started"
	try_manual "$suite" "$root"

	build_programs "$suite" "$root"
	trace_programs "$suite" "$root"
	record_memory "$suite" "$root"
}

# Every page of docs/man is there, and refers only to pages that are; the commands' are found by name.
try_manual() {
	local suite=$1 root=$2 page missing=
	for page in docs/man/*.scd; do
		page=$(basename "$page" .scd)
		man -M "$root/usr/share/man" -P cat "${page##*.}" "${page%.*}" 2>>"$TMP/log" |
			grep -q "^${page%.*}(${page##*.})" || missing+=" $page"
	done
	is "$missing" "" "$suite: man has each page of the manual" || diag "$(<"$TMP/log")"
}

build_programs() {
	local suite=$1 root=$2
	chroot "$root" sh -c 'set -e; cd /tmp; warn="-Wall -Wextra -pedantic -Werror"
		build() { # PROGRAM PACKAGE
			gcc -std=c11 $warn $1.c -o $1-c $(pkg-config --cflags --libs $2)
			g++ -std=c++20 $warn -x c++ $1.c -x none -o $1-c++ $(pkg-config --cflags --libs $2)
			gcc -static $1.c -o $1-static $(pkg-config --static --cflags --libs $2)
		}
		build runtime libebtrace-probes
		build reader libebtrace' >"$TMP/log" 2>&1
	ok $? "$suite: pkg-config: C11, C++20 and static programs are built" || diag "$(<"$TMP/log")"
	is "$(chroot "$root" pkg-config --modversion libebtrace libebtrace-probes | sort -u)" "$version" \
		"$suite: pkg-config: they are of this version"
	programs="c c++ static"
	[ "$suite" = bookworm ] || return
	chroot "$root" sh -c 'cd /tmp && cmake -DVERSION="$0" . && make &&
		mv runtime runtime-cmake && mv reader reader-cmake' "$version" >"$TMP/log" 2>&1
	ok $? "$suite: CMake: programs are built" || diag "$(<"$TMP/log")"
	programs+=" cmake"
}

# A line for a program that waits for one, when its tracer has attached to the libraries it loads.
line_when_attached() {
	wait_for tracer_rests >&2
	echo
}

# count_events TRACE: as the programs print them; events without thread and CPU do not count, nor does the time before
# the probes were in a library, which is longer where the machine is busy.
count_events() {
	jq -rn '[inputs] | map(select(.domain != null and .cpu != null and .tid != null) | .kind) as $k |
		def count($kind): [$k[] | select(. == $kind)] | length;
		"begin \(count("begin")), counter \(count("counter")), end \(count("end")), " +
		"lost \(map(select(.kind == "lost" and .history != true)) | length)"' "$1"
}

# Compares the events that each program counts itself with those of a live trace and of its ring.
trace_programs() {
	local suite=$1 root=$2 by said got n=1000
	for by in $programs; do
		n=$((n + 1))
		said=$(line_when_attached | chroot "$root" ebtrace -q -f ndjson -o /tmp/trace.ndjson \
			-- "/tmp/runtime-$by" $n 2>"$TMP/log")
		got=$(count_events "$root/tmp/trace.ndjson")
		is "$got $said" "$said begin $n, counter $n, end $n, lost 0" \
			"$suite: $by: all events are traced live, with domain, thread and CPU" ||
			diag "$(<"$TMP/log")" "$(grep '"kind":"lost"' "$root/tmp/trace.ndjson")"
		rm -rf "$root/tmp/rings" && mkdir "$root/tmp/rings"
		said=$(EBTRACE_START=1 EBTRACE_PRESERVE=1 EBTRACE_DIR=/tmp/rings \
			chroot "$root" "/tmp/runtime-$by" $n </dev/null)
		is "$(chroot "$root" sh -c "/tmp/reader-$by /tmp/rings/*.events" 2>&1)" "$said" \
			"$suite: $by: and read from the ring"
	done
}

record_memory() {
	local suite=$1 root=$2
	# shellcheck disable=SC2016
	chroot "$root" ebtrace mem record --rate 1 -o /tmp/perl.ctf -- \
		perl -e 'push @x, ("x" x 1000) . $_ for 1 .. 5000; print scalar @x' >"$TMP/out" 2>"$TMP/log"
	is "$? $(<"$TMP/out")" "0 5000" "$suite: mem record runs perl" || diag "$(<"$TMP/log")"
	chroot "$root" ebtrace mem /tmp/perl.ctf >"$TMP/out" 2>"$TMP/log"
	is "$? $(grep -c '^ *allocated  *[1-9][0-9.]* MiB' "$TMP/out")" "0 1" \
		"$suite: and mem reports its allocations" || diag "$(<"$TMP/log")" "$(head "$TMP/out")"
}

# remove_packages SUITE ROOT DEBS VERSION: upgrades to these, then purges them.
remove_packages() {
	local suite=$1 root=$2
	list_files "$root" >"$TMP/files.old"
	rm -r "$root"/tmp/*
	cp "$3"/*.deb "$root/tmp"
	chroot "$root" sh -c 'dpkg -i /tmp/*.deb' >"$TMP/log" 2>&1
	is "$? $(installed_versions "$root")" "0 $4 ii" "$suite: they are upgraded" ||
		diag "$(tail -5 "$TMP/log")"
	list_files "$root" >"$TMP/files.new"
	same_file "$TMP/files.new" "$TMP/files.old" "$suite: of the older version no file is left"
	# shellcheck disable=SC2046
	chroot "$root" dpkg --purge $(chroot "$root" dpkg-query -W -f '${Package}\n' '*ebtrace*') \
		>"$TMP/log" 2>&1
	is "$? $(installed_versions "$root")" "0 " "$suite: they are purged" ||
		diag "$(tail -5 "$TMP/log")"
	list_files "$root" >"$TMP/files.after"
	same_file "$TMP/files.after" "$TMP/files.before" "$suite: all files are as they were before"
	(cd "$root.written/upper" && find . -type f | while read -r file; do
		cmp -s "$file" "$root.lower/$file" || echo "$file"
	done) >"$TMP/changed"
	grep -vE '^\./(var/(log/dpkg\.log|lib/dpkg/.*|cache/ldconfig/aux-cache)|etc/ld\.so\.cache)$' \
		"$TMP/changed" >"$TMP/changed.others"
	is "$(<"$TMP/changed.others")" "" "$suite: none has changed but those of dpkg and ldconfig"
	is "$(chroot "$root" ldconfig -p | grep ebtrace)" "" "$suite: the linker finds nothing of ours"
}
