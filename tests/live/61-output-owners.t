#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Root's -o among other users' files and links: what a shell's ">" is refused is refused, what it
# would write is written and keeps its owner, and planted names change nothing.
. tests/lib.sh
need_root
need_command setpriv
need_command xz

exec 7>/run/lock/ebtrace-sysctl.lock
flock 7
for name in protected_symlinks protected_regular protected_fifos protected_hardlinks; do
	at_end "echo $(cat /proc/sys/fs/$name) >/proc/sys/fs/$name"
done
guard() { # VALUE: of all of them
	local name
	for name in symlinks hardlinks; do echo "$1" >/proc/sys/fs/protected_$name; done
	for name in regular fifos; do echo $(($1 * 2)) >/proc/sys/fs/protected_$name; done
}

chmod 755 "$TMP"
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/1.events"
ends_with 0 "$O/ebtrace" -q -f ndjson --ocaml-version 5.3 "$TMP/1.events" >"$TMP/want"
install -m 755 "$O/ebtrace" "$TMP/ebtrace"
sticky=$TMP/sticky
out=$sticky/out.ndjson
user=65534
as() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
afresh() {
	rm -rf "$sticky" "$TMP/home"
	mkdir -m 1777 "$sticky"
	install -d -o $user -g $user -m 755 "$TMP/home"
}
files() { (cd "$sticky" && find . -mindepth 1 | sort | sed 's,^\./,,' | tr '\n' ' '); }
write() { "$TMP/ebtrace" -q --ocaml-version 5.3 "$TMP/1.events" -o "$out" >"$TMP/stdout" 2>"$TMP/err"; }
owner() { stat -c %u:%g:%a "$1"; }
denied() { # "what" FILE
	local before
	before="$(owner "$2") $(cat "$2")"
	as 0 sh -c "exec 3>'$out'" 2>/dev/null
	is $? 2 "$1: a shell is refused"
	write
	is "$? $(grep -c "cannot write '$out': Permission denied" "$TMP/err")" "1 1" "$1: -o is refused" || diag "$(cat "$TMP/err")"
	is "$(owner "$2") $(cat "$2")" "$before" "$1: the file is as it was"
	is "$(find "$sticky" "$TMP/home" -name '*.part*')" "" "$1: and nothing is left beside it"
}

guard 1
afresh
echo secret >"$TMP/home/target" && chmod 600 "$TMP/home/target"
as $user ln -s "$TMP/home/target" "$out"
denied "another user's link in a sticky directory" "$TMP/home/target"
afresh
as $user ln -s "$TMP/home/made" "$out"
write
is "$? $(ls "$TMP/home")" "1 " "nor is a file made where such a link leads to nothing"
afresh
as $user sh -c "umask 077; echo theirs >'$out'"
denied "another user's file in a sticky directory" "$out"
afresh
as $user mkfifo "$out"
timeout 300 "$TMP/ebtrace" -q "$TMP/1.events" -o "$out" 2>"$TMP/err"
is "$? $(grep -c "Permission denied" "$TMP/err")" "1 1" "another user's FIFO in a sticky directory: -o is refused"

# Without these rules the kernel lets it be, as it does for a shell: the file keeps its place.
guard 0
afresh
echo secret >"$TMP/home/target" && chown $user:$user "$TMP/home/target" && chmod 600 "$TMP/home/target"
before=$(stat -c %i "$TMP/home/target")
as $user ln -s "$TMP/home/target" "$out"
write
is "$? $(owner "$TMP/home/target") $(stat -c %i "$TMP/home/target")" "0 $user:$user:600 $before" \
	"through a link that the kernel follows, the file is written and keeps mode, owner and number"
same_file "$TMP/home/target" "$TMP/want" "and it is whole"
afresh
as $user ln -s "$TMP/home/made" "$out"
"$TMP/ebtrace" -q "$TMP/none" -o "$out" 2>"$TMP/err"
is "$? $(ls "$TMP/home")" "1 " "a run that is refused leaves nothing behind such a link"

guard 1
# Another user's file in a directory that is his: written, and still his.
afresh
as $user sh -c "umask 077; echo theirs >'$TMP/home/out.ndjson'"
out=$TMP/home/out.ndjson write
is "$? $(owner "$TMP/home/out.ndjson") $(ls "$TMP/home")" "0 $user:$user:600 out.ndjson" "another user's file stays his"
same_file "$TMP/home/out.ndjson" "$TMP/want" "and is whole"
"$TMP/ebtrace" -q "$TMP/none" -o "$TMP/home/out.ndjson" 2>"$TMP/err"
same_file "$TMP/home/out.ndjson" "$TMP/want" "a run that is refused leaves it as it was"

# Names that are planted where the part goes.
for plant in "ln -s '$TMP/home/target'" "ln '$TMP/home/target'" "mkfifo" "mkdir"; do
	for next in 1 2; do
		afresh
		guard 0 # so that every one of them can be planted and followed
		echo secret >"$TMP/home/target" && chown $user "$TMP/home/target" && chmod 644 "$TMP/home/target"
		as $user sh -c "$plant '$out.part'"
		[ $next = 1 ] || as $user sh -c "$plant '$out.part.1'"
		before="$(owner "$TMP/home/target") $(cat "$TMP/home/target")"
		planted=$(files)
		timeout 300 "$TMP/ebtrace" -q --ocaml-version 5.3 "$TMP/1.events" -o "$out" 2>"$TMP/err"
		is "$? $(owner "$TMP/home/target") $(cat "$TMP/home/target")" "0 $before" \
			"${plant%% \'*} at FILE.part, $next of them: what is behind it does not change"
		is "$(files) $(owner "$out")" "out.ndjson $planted 0:0:644" "which is left, and FILE is root's"
		same_file "$out" "$TMP/want" "and whole"
	done
done
guard 1

# FILE is replaced by a link while it is written.
afresh
echo secret >"$TMP/home/target"
mkfifo "$TMP/in"
"$TMP/ebtrace" -q --ocaml-version 5.3 "$TMP/in" -o "$out" 2>"$TMP/err" &
tracer=$!
exec 9>"$TMP/in"
wait_for test -e "$out.part"
as $user ln -s "$TMP/home/target" "$out"
cat "$TMP/1.events" >&9
exec 9>&-
wait $tracer
is "$? $(cat "$TMP/home/target") $(readlink "$out")" "1 secret $TMP/home/target" \
	"a link that is planted at FILE during the run is neither followed nor replaced"
same_file "$out.part" "$TMP/want" "what was written is kept, and named"
grep -q "in '$out.part'" "$TMP/err"
ok $? "in a line"
# The directory is replaced while it runs: the file goes where the directory went.
afresh
mkdir "$sticky/d"
"$TMP/ebtrace" -q --ocaml-version 5.3 "$TMP/in" -o "$sticky/d/out.ndjson" 2>"$TMP/err" &
tracer=$!
exec 9>"$TMP/in"
wait_for test -e "$sticky/d/out.ndjson.part"
mv "$sticky/d" "$sticky/e"
ln -s "$TMP/home" "$sticky/d"
cat "$TMP/1.events" >&9
exec 9>&-
wait $tracer
is "$? $(ls "$TMP/home") $(ls "$sticky/e")" "0  out.ndjson" "a directory that is replaced by a link: nothing goes behind the link"

# So do the files of a rotation that are begun after that.
afresh
mkdir "$sticky/d"
"$TMP/ebtrace" -q --ocaml-version 5.3 "$TMP/in" -o "$sticky/d/out.ndjson" --max-size 4K --rotate 2 2>"$TMP/err" &
tracer=$!
exec 9>"$TMP/in"
wait_for test -e "$sticky/d/out.ndjson.part"
mv "$sticky/d" "$sticky/e"
ln -s "$TMP/home" "$sticky/d"
cat "$TMP/1.events" >&9
exec 9>&-
wait $tracer
is "$? $(ls "$TMP/home") $(ls "$sticky/e" | xargs)" "0  out.1.ndjson out.ndjson" "nor do the later files of a rotation"
afresh
as $user ln -s "$TMP/home/target" "$sticky/out.1.ndjson"
"$TMP/ebtrace" -q --ocaml-version 5.3 "$TMP/1.events" -o "$out" --max-size 4K --rotate 3 2>"$TMP/err"
is "$? $(files)" "1 out.1.ndjson " "a link at the name of an older file is not replaced"

afresh
as $user sh -c "echo theirs >'$sticky/out.1.ndjson'"
"$TMP/ebtrace" -q --ocaml-version 5.3 "$TMP/1.events" -o "$out" --max-size 4K --rotate 3 2>"$TMP/err"
is "$? $(files) $(cat "$sticky/out.1.ndjson")" "1 out.1.ndjson  theirs" "nor is another user's file"

# In place: while there is no event, what was there stays.
afresh
echo old >"$sticky/far.ebt"
ln -s far.ebt "$sticky/out.ebt"
EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q -t 1 -s 600 -r 100 -c /dev/null &
program=$!
children+=($program)
wait_for test -s "$TMP/$program.events"
"$TMP/ebtrace" -q --mode ring -p $program -e 'no such' -o "$sticky/out.ebt" &
tracer=$!
children+=($tracer)
is_locked() { grep -q ":$(stat -c %i "$sticky/far.ebt") " /proc/locks; } # to try it would take it
wait_for is_locked
sleep 0.4
is "$(cat "$sticky/far.ebt")" old "a file that is written in place is left until there is something to write"
kill -INT $tracer
wait $tracer
is "$? $("$TMP/ebtrace" info --json "$sticky/far.ebt" | grep -c '"whole":true')" "0 1" "at the end it is whole"
kill $program
wait $program 2>/dev/null

# Without root: what may not be written, and where no part can be made.
user_write() { as $user "$TMP/ebtrace" -q --ocaml-version 5.3 - -o "$1" <"$TMP/1.events" 2>"$TMP/err"; }
afresh
as $user sh -c "echo old >'$TMP/home/ro.ndjson'; chmod 444 '$TMP/home/ro.ndjson'"
user_write "$TMP/home/ro.ndjson"
is "$? $(cat "$TMP/home/ro.ndjson") $(ls "$TMP/home")" "1 old ro.ndjson" "a file that is read-only is not replaced"
grep -q "cannot write '.*ro.ndjson': Permission denied" "$TMP/err"
ok $? "and a message reports it"
echo old >"$TMP/mine.ndjson" && chown $user "$TMP/mine.ndjson"
user_write "$TMP/mine.ndjson"
is $? 0 "a file in a directory that may not be written to is written"
same_file "$TMP/mine.ndjson" "$TMP/want" "in place"
user_write "$TMP/none.ndjson"
is "$? $(grep -c "cannot write '.*none.ndjson': Permission denied" "$TMP/err")" "1 1" "a new one in there is refused"
install -o $user -g 0 -m 660 /dev/null "$TMP/home/group.ndjson"
user_write "$TMP/home/group.ndjson"
is "$? $(owner "$TMP/home/group.ndjson")" "0 $user:0:660" "a file of a group that is not one's own stays that group's"
same_file "$TMP/home/group.ndjson" "$TMP/want" "and is whole"

# No room.
mkdir "$TMP/small"
mount -t tmpfs -o size=64k tmpfs "$TMP/small"
at_end "umount '$TMP/small'"
echo old >"$TMP/small/out.ndjson"
for i in 2 3; do install -o $user -m 600 "$TMP/1.events" "$TMP/$i.events"; done
"$TMP/ebtrace" -q -f ndjson --ocaml-version 5.3 "$TMP/1.events" "$TMP/2.events" "$TMP/3.events" -o "$TMP/small/out.ndjson" 2>"$TMP/err"
is "$? $(cat "$TMP/small/out.ndjson")" "1 old" "a full disk: the file of before is still there"
[ -s "$TMP/small/out.ndjson.part" ] && grep -q "No space left" "$TMP/err" && grep -q "the output so far is in '.*\.part'" "$TMP/err"
ok $? "and what was written, in a part that is named" || diag "$(cat "$TMP/err")"
rm "$TMP/small/out.ndjson.part"
mkdir "$TMP/few"
mount -t tmpfs -o size=1m,nr_inodes=2 tmpfs "$TMP/few"
at_end "umount '$TMP/few'"
echo old >"$TMP/few/out.ndjson"
"$TMP/ebtrace" -q -f ndjson --ocaml-version 5.3 "$TMP/1.events" -o "$TMP/few/out.ndjson" 2>"$TMP/err"
is "$? $(head -c 9 "$TMP/few/out.ndjson")" "1 old" "a disk without room for another file: the old one is not sacrificed"

# Somebody takes FILE at the very moment at which it is named.
cat >"$TMP/late.c" <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	static int calls;
	if (!calls++) {
		unlinkat(to_dir, to, 0);
		close(openat(to_dir, to, O_CREAT | O_EXCL | O_WRONLY, 0644));
	}
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}
END
${CC:-cc} -shared -fPIC -o "$TMP/late.so" "$TMP/late.c"
for old in "" old; do
	afresh
	[ -z "$old" ] || echo old >"$out"
	ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$TMP/late.so write
	is "$? $(files) $(wc -c <"$out")" "1 out.ndjson out.ndjson.part  0" "${old:-no} file before: what came in between is kept"
	same_file "$out.part" "$TMP/want" "${old:-no} file before: and what was written, too"
done
done_testing
