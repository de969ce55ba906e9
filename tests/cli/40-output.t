#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What -o does to the file that it names, to the parts of other runs, and to its own inputs.
. tests/lib.sh
need_command jq
need_command xz

xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/1.events"
xz -dc tests/data/ocaml-5.3.0/b-domains4.events.xz >"$TMP/2.events"
"$O/ebtrace" -q -f ndjson --ocaml-version 5.3 "$TMP/1.events" >"$TMP/want"
"$O/ebtrace" -q -f ebt --ocaml-version 5.3 "$TMP/1.events" >"$TMP/want.ebt"
dir=$TMP/dir
mkdir "$dir"
out=$dir/out.ndjson
write() { "$O/ebtrace" --ocaml-version 5.3 "$TMP/1.events" -o "$out" >"$TMP/stdout" 2>"$TMP/err"; }
files() { (cd "$dir" && find . -mindepth 1 | sort | sed 's,^\./,,' | tr '\n' ' '); }
afresh() { rm -rf "$dir" && mkdir "$dir"; }
inode() { stat -Lc %i "$1"; }

write
is "$? $(files)" "0 out.ndjson " "a new file is all that is made"
same_file "$out" "$TMP/want" "and it is whole"
chmod 640 "$out"
before=$(inode "$out")
write
is "$? $(files) $(stat -c %a "$out")" "0 out.ndjson  640" "a file of one's own is replaced and keeps its mode"
[ "$(inode "$out")" != "$before" ]
ok $? "by another file"
same_file "$out" "$TMP/want" "which is whole"

# Links and names: the file itself is written.
afresh
echo old >"$dir/far" && chmod 604 "$dir/far" && ln -s far "$out"
before=$(inode "$dir/far")
write
is "$? $(files) $(inode "$dir/far") $(stat -c %a "$dir/far") $(readlink "$out")" "0 far out.ndjson  $before 604 far" \
	"through a link, the file that it leads to is written in place"
same_file "$dir/far" "$TMP/want" "and it is whole, without what was longer before"
head -c 1000000 /dev/zero >"$dir/far"
write
same_file "$dir/far" "$TMP/want" "a longer one is cut"
afresh
ln -s nowhere "$out"
write
is "$? $(files)" "0 nowhere out.ndjson " "a link that leads to nothing makes a file there, as the shell does"
same_file "$dir/nowhere" "$TMP/want" "which is whole"
afresh
echo old >"$dir/other" && ln "$dir/other" "$out"
write
is "$? $(files)" "0 other out.ndjson " "a file with two names is written"
same_file "$dir/other" "$TMP/want" "under both"
long=$dir/$(head -c 243 /dev/zero | tr '\0' n).ndjson
afresh
: >"$long"
out=$long write
is $? 0 "a file whose name leaves no room for another is written"
same_file "$long" "$TMP/want" "in place"
afresh
out=$long write
is $? 0 "also where there was none"
same_file "$long" "$TMP/want" "whole"
afresh
"$O/ebtrace" "$TMP/no.ebt" -o "$long" 2>"$TMP/err"
is "$? $(files)" "1 " "without an input there is none after it"

# What is no regular file is written at once.
afresh
mkfifo "$out"
cat "$out" >"$TMP/got" &
write
is "$? $(files)" "0 out.ndjson " "a FIFO is written to and stays one"
wait
same_file "$TMP/got" "$TMP/want" "its reader has all"
rm "$TMP/got"
(sleep 0.5 && exec timeout 30 cat "$out" >"$TMP/got") &
write
wait
same_file "$TMP/got" "$TMP/want" "one that comes later, too"
"$O/ebtrace" -q --ocaml-version 5.3 "$TMP/1.events" -f ndjson -o /dev/stdout | cat >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "/dev/stdout is where standard output leads"
"$O/ebtrace" -q --ocaml-version 5.3 "$TMP/1.events" -f ndjson -o /dev/stdout >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "to a file, too"
"$O/ebtrace" -q --ocaml-version 5.3 "$TMP/1.events" -f ndjson -o >(cat >"$TMP/got"; : >"$TMP/got.done")
wait_for test -e "$TMP/got.done"
same_file "$TMP/got" "$TMP/want" "a pipe to a process is written to"

# What cannot be: one line, and nothing is left.
refused() { # "what" MESSAGE
	local before
	before=$(files)
	write
	is "$? $(grep -c . "$TMP/err") $(files)" "1 1 $before" "$1: one line, status 1, nothing is made"
	grep -q "cannot write '.*': $2" "$TMP/err"
	ok $? "$1: the line names the reason" || diag "$(cat "$TMP/err")"
}
afresh
mkdir "$out"
refused "a directory" "Is a directory"
out=$dir/ refused "a name that ends in a slash" "Is a directory"
out=$dir/none/out refused "a directory that is not there" "No such file or directory"
out='' refused "no name at all" "No such file or directory"
afresh
ln -s loop "$dir/loop"
out=$dir/loop refused "a link that leads to itself" "Too many levels"

# A run that is refused before its first event leaves what was there as it was.
untouched() { # "what"
	"$O/ebtrace" -q "$TMP/no such file" -o "$out" 2>"$TMP/err"
	is "$? $(files)" "1 $2" "$1: nothing is made nor removed"
	"$O/ebtrace" -q -p 999999999 -o "$out" 2>"$TMP/err"
	is "$? $(files)" "5 $2" "$1: nor if there is no such process"
}
afresh
untouched "no file yet" ""
ln -s nowhere "$out"
untouched "a link that leads to nothing" "out.ndjson "
afresh
echo old >"$out"
untouched "an old file" "out.ndjson "
is "$(cat "$out")" old "whose content is that of before"
ln "$out" "$dir/other"
untouched "a file with two names" "other out.ndjson "
is "$(cat "$out")" old "nor does a file change that is written in place"

# An input is never an output.
afresh
itself() { # "what" COMMAND...
	local what=$1 sum
	shift
	sum=$(md5sum "$dir"/* | md5sum)
	"$@" >"$TMP/stdout" 2>"$TMP/err"
	is "$? $(md5sum "$dir"/* | md5sum)" "2 $sum" "$what is refused, and nothing is touched"
	grep -q "is both input and output" "$TMP/err"
	ok $? "$what: a line names the reason" || diag "$(cat "$TMP/err")"
}
cp "$TMP/want.ebt" "$dir/run.ebt"
cp "$TMP/want.ebt" "$dir/more.ebt"
ln -s run.ebt "$dir/link.ebt"
itself "a file into itself" "$O/ebtrace" "$dir/run.ebt" -o "$dir/run.ebt"
itself "a file into a link to itself" "$O/ebtrace" "$dir/run.ebt" -o "$dir/link.ebt"
itself "a file read through a link" "$O/ebtrace" "$dir/link.ebt" -o "$dir/run.ebt"
itself "the second of two inputs" "$O/ebtrace" "$TMP/2.events" "$dir/more.ebt" -o "$dir/../dir/more.ebt"
itself "a file on standard input" "$O/ebtrace" - -o "$dir/run.ebt" <"$dir/run.ebt"
cp "$TMP/want.ebt" "$dir/run"
itself "a report into the capture" "$O/ebtrace" stat "$dir/run" -o "$dir/run"
append() { "$O/ebtrace" "$dir/run.ebt" -f ebt >>"$dir/run.ebt"; }
itself "a file at the end of itself" append
through() { "$O/ebtrace" "$dir/run.ebt" -f ebt -o /dev/stdout 1<>"$dir/run.ebt"; }
itself "a file through standard output" through
ln "$dir/run.ebt" "$dir/hard.ebt"
itself "a file under another name of its own" "$O/ebtrace" "$dir/run.ebt" -o "$dir/hard.ebt"

# What a run that was killed has left: it is found, told, converted, and never removed.
afresh
run=$dir/run.ebt
mkfifo "$TMP/in"
exec 9<>"$TMP/in" # a writer is there before the reader, which would find the end otherwise
"$O/ebtrace" "$TMP/in" -o "$run" 2>"$TMP/err" 9>&- &
tracer=$!
children+=($tracer)
head -c 3000 "$TMP/want.ebt" >&9
wait_for test -e "$run.part"
kill -9 $tracer
wait $tracer 2>/dev/null
exec 9>&-
is "$(files)" "run.ebt.part " "a run that is killed leaves its part, and no file with the name of a whole one"
cp "$TMP/want.ebt" "$run.part" # as much as a longer run would have left
"$O/ebtrace" --ocaml-version 5.3 "$TMP/1.events" -o "$run" 2>"$TMP/err"
is "$? $(files)" "0 run.ebt run.ebt.part " "the same command again keeps it"
same_file "$run.part" "$TMP/want.ebt" "as it was"
recover=$(sed -n "s|.*'$dir/run.ebt.part' was left by an earlier run; to recover it: ebtrace ||p" "$TMP/err")
is "$recover" "'$run.part' -o '$dir/run.recovered.ebt'" "and names the command that recovers it"
eval "'$O/ebtrace' -q $recover"
is "$? $(files)" "0 run.ebt run.ebt.part run.recovered.ebt " "which does so"
"$O/ebtrace" -f ndjson "$dir/run.recovered.ebt" >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "and makes a whole capture of it"
rm "$run"
"$O/ebtrace" "$run.part" -o "$run" 2>"$TMP/err"
is "$? $(files)" "0 run.ebt run.ebt.part run.recovered.ebt " "it can be recovered to the name that it was to get"
same_file "$run.part" "$TMP/want.ebt" "without harm to it"
"$O/ebtrace" -f ndjson "$run" >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "and the result is whole"
is "$(grep -c "was left" "$TMP/err")" 0 "which is not reported"
"$O/ebtrace" -q --ocaml-version 5.3 "$TMP/1.events" -o "$out"
cp "$out" "$out.part.3"
write
grep -q "'$out.part.3' was left by an earlier run; to keep it: mv '$out.part.3' '$dir/out.recovered.3.ndjson'" "$TMP/err"
ok $? "what needs no conversion is to be moved" || diag "$(cat "$TMP/err")"
cp "$out" "$out.partly"
: >"$out.part.x"
write
is "$(grep -c 'was left' "$TMP/err")" 1 "names that are only like those of parts are nobody's"

for i in 4 5 6; do cp "$out" "$out.part.$i"; done
write
is "$(grep -c 'was left' "$TMP/err") $(grep -c 'more part' "$TMP/err")" "4 0" "each of four parts is reported, and no more"
for i in 7 8 9; do cp "$out" "$out.part.$i"; done
write
is "$(grep -c 'was left' "$TMP/err") $(grep -c "and 3 more parts of '$out'" "$TMP/err")" "4 1" \
	"of many parts the first are reported, and how many more there are" || diag "$(cat "$TMP/err")"
if [ "$(id -u)" = 0 ]; then
	chown 65534 "$out".part.[4-9]
	write
	is "$(grep -c 'was left' "$TMP/err") $(grep -c 'more parts' "$TMP/err")" "1 0" "those of another user are left to that user"
fi
rm "$out".part.[4-9]

# Two runs at once with one name.
together() { # "what" WANT-FILES
	mkfifo "$TMP/a" "$TMP/b"
	exec 8<>"$TMP/a" 9<>"$TMP/b"
	"$O/ebtrace" --ocaml-version 5.3 "$TMP/a" -o "$out" 2>"$TMP/err.a" 8>&- 9>&- &
	local a=$!
	wait_for test -e "$out.part"
	"$O/ebtrace" --ocaml-version 5.3 "$TMP/b" -o "$out" 2>"$TMP/err.b" 8>&- 9>&- &
	local b=$!
	wait_for test -e "$out.part.1"
	wait_for grep -q "another run is writing '$out', now in '$out.part'" "$TMP/err.b"
	ok $? "$1: the second reports that the first runs"
	cat "$TMP/2.events" >&9
	exec 9>&-
	wait $b
	is $? 0 "$1: the one that ends first has the name"
	cat "$TMP/1.events" >&8
	exec 8>&-
	wait $a
	is "$? $(files)" "1 out.ndjson out.ndjson.part " "$1: the other keeps what it has beside it"
	grep -q "this run is complete in '$out.part'" "$TMP/err.a"
	ok $? "$1: and where" || diag "$(cat "$TMP/err.a")"
	"$O/ebtrace" -q -f ndjson --ocaml-version 5.3 - <"$TMP/2.events" >"$TMP/want.2"
	same_file "$out" "$TMP/want.2" "$1: the first has all of its own"
	same_file "$out.part" "$TMP/want" "$1: and the second"
	rm "$TMP/a" "$TMP/b"
}
afresh
together "two runs"
afresh
echo old >"$out"
together "two runs and an old file"
# Its part is another file at the end.
afresh
mkfifo "$TMP/a"
exec 8<>"$TMP/a"
"$O/ebtrace" -q --ocaml-version 5.3 "$TMP/a" -o "$out" 2>"$TMP/err.a" 8>&- &
a=$!
wait_for test -e "$out.part"
echo another >"$dir/other" && mv "$dir/other" "$out.part"
cat "$TMP/1.events" >&8
exec 8>&-
wait $a
is "$? $(files)$(cat "$out.part")" "1 out.ndjson.part another" "a file that took the place of the part gets no name"
grep -q "'$out' is lost: another process removed or replaced '$out.part'" "$TMP/err.a"
ok $? "which is told" || diag "$(cat "$TMP/err.a")"
rm "$TMP/a"
afresh
echo old >"$dir/far" && ln -s far "$out"
mkfifo "$TMP/a"
exec 8<>"$TMP/a"
"$O/ebtrace" -q --ocaml-version 5.3 "$TMP/a" -o "$out" 2>"$TMP/err.a" 8>&- &
a=$!
is_locked() { grep -q ":$(stat -c %i "$dir/far") " /proc/locks; } # to try it would take it
wait_for is_locked
write
is "$? $(cat "$dir/far")" "1 old" "a file that one run is to write in place is not for a second one"
grep -q "another run is writing it" "$TMP/err"
ok $? "which reports it" || diag "$(cat "$TMP/err")"
cat "$TMP/1.events" >&8
exec 8>&-
wait $a
same_file "$dir/far" "$TMP/want" "and the first has it for its own"

# A file that appears between the last check of the name and the exchange of both files.
afresh
cat >"$TMP/swap.c" <<'EOF'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	static int calls;
	if (flags & RENAME_EXCHANGE && !calls++) {
		int fd = openat(to_dir, "theirs", O_WRONLY | O_CREAT, 0600);
		if (write(fd, "theirs", 6) != 6 || close(fd) || renameat(to_dir, "theirs", to_dir, to))
			return -1;
	}
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}
EOF
gcc -shared -fPIC -o "$TMP/swap.so" "$TMP/swap.c"
echo old >"$out"
ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$TMP/swap.so write
is "$? $(cat "$out") $(files)" "1 theirs out.ndjson out.ndjson.part " "another file that is there at the last moment stays"
same_file "$out.part" "$TMP/want" "beside the whole output"
grep -q "'$out' was written by another process meanwhile and is kept; this run is complete in '$out.part'" "$TMP/err"
ok $? "which a line reports" || diag "$(cat "$TMP/err")"
done_testing
