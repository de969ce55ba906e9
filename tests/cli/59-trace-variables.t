#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# EBTRACE_MEMTRACE, EBTRACE_PAGETRACE and their rate, as a user sets them: files that cannot be written, rates that are
# none, FIFOs, pipes and devices.
. tests/lib.sh
need_command jq
minigc=$PWD/$O/tests/prog/minigc
ebtrace=$PWD/$O/ebtrace
cd "$TMP" || exit 1
prog() { "$minigc" -o -p -q -n 3000 -c counts; }
count() { awk -v kind="$1" '$2 == kind { n += $3 } END { print n + 0 }' counts; }

# says LINE VARIABLE=VALUE...: the program runs to its end, and this line alone is on stderr
says() {
	local line=$1
	shift
	rm -f counts
	env "$@" "$minigc" -o -p -q -n 300 -c counts 2>err
	is "$? $(test -s counts && echo ran) $(cat err)" "0 ran ${line:+ebtrace: $line}" "$*: ${line:-no line}"
}
for variable in EBTRACE_MEMTRACE EBTRACE_PAGETRACE; do
	says "$variable='nowhere/x': No such file or directory; no trace is written" $variable=nowhere/x
	says "$variable='.': Is a directory; no trace is written" $variable=.
	ln -sf file link
	says "$variable='link': a symbolic link; name the file itself; no trace is written" $variable=link
	says "" $variable=/dev/null
	says "" $variable=
	says "$variable='a?[31mb/x': No such file or directory; no trace is written" $variable=$'a\e[31mb/x'
done
[ ! -e file ]
ok $? "a symbolic link is not followed"
rate="not a rate (like 1e-5, above 0 and at most 1)"
for bad in 0 -1 2 nan inf x 1e-5x 1,5; do
	says "EBTRACE_MEMTRACE_RATE='$bad': $rate; no trace is written" EBTRACE_MEMTRACE=bad.ctf EBTRACE_MEMTRACE_RATE=$bad
	says "EBTRACE_MEMTRACE_RATE='$bad': $rate; 1e-5 is used" EBTRACE_MEMTRACE_RATE=$bad
done
[ ! -e bad.ctf ]
ok $? "the trace of a rate that is none is not there"
says "EBTRACE_MEMTRACE_SEED='x': not a number from 0 on; the samples are not repeatable" EBTRACE_MEMTRACE_SEED=x
says "EBTRACE_MEMTRACE_SEED='-1': not a number from 0 on; the samples are not repeatable" EBTRACE_MEMTRACE_SEED=-1
says "" EBTRACE_MEMTRACE=one.ctf EBTRACE_MEMTRACE_RATE=1
says "" EBTRACE_MEMTRACE=preset.ctf EBTRACE_MEMTRACE_RATE= EBTRACE_MEMTRACE_SEED=
is "$("$ebtrace" info --json one.ctf | jq .sample_rate) $("$ebtrace" info --json preset.ctf | jq '.sample_rate == 1e-5')" "1 true" \
	"without a rate, a word is sampled with a probability of 1e-5"

# Streams have what a file has.
export EBTRACE_MEMTRACE_SEED=5 EBTRACE_MEMTRACE_RATE=0.01
objects() { "$ebtrace" trace -q -f ndjson "$1" | jq -s '[.[] | select(.kind == "alloc")] | length'; }
EBTRACE_MEMTRACE=file.ctf prog
[ "$(count alloc)" -gt 100 ]
ok $? "a trace of $(count alloc) samples"
is "$(objects file.ctf)" "$(count alloc)" "in a file"
EBTRACE_MEMTRACE=/dev/stdout prog | objects - >got
is "$(cat got)" "$(count alloc)" "from /dev/stdout, a pipe"
EBTRACE_MEMTRACE=/dev/stdout prog | "$ebtrace" mem summary - >summary 2>err
is "$? $(cat err) $(grep -c ": $(count alloc) objects with" summary)" "0  1" "mem summary reads it" || diag "$(cat summary)"
EBTRACE_PAGETRACE=/dev/fd/5 prog 5>&1 >/dev/null | "$ebtrace" trace -q -f ndjson - | jq -s '[.[] | select(.kind == "page_alloc")] | length' >got
is "$(cat got)" "$(count page_alloc)" "and a page trace from /dev/fd/5"
{ echo before; EBTRACE_MEMTRACE=/dev/stderr prog 2>&1 >/dev/null; } >>mixed
tail -c +8 mixed >mixed.ctf
is "$(head -1 mixed | tr -d '\0') $(objects mixed.ctf)" "before $(count alloc)" "a file behind /dev/stderr is appended to, not truncated"
says "EBTRACE_MEMTRACE='/dev/fd/77': Bad file descriptor; no trace is written" EBTRACE_MEMTRACE=/dev/fd/77
says "EBTRACE_MEMTRACE='/dev/fd/0': Bad file descriptor; no trace is written" EBTRACE_MEMTRACE=/dev/fd/0 </dev/null

mkfifo fifo
cat fifo >from.fifo &
children+=($!)
EBTRACE_MEMTRACE=fifo prog 2>err
wait $!
is "$(cat err) $(objects from.fifo)" " $(count alloc)" "a FIFO"
EBTRACE_MEMTRACE=fifo prog 2>err &
program=$!
children+=($program)
wait_for grep -q waiting err
cat fifo >late
wait $program
is "$? $(cat err)" "0 ebtrace: EBTRACE_MEMTRACE='fifo': waiting up to 10 s for a reader of this FIFO" \
	"a program waits for a reader of its FIFO, and says so"
is "$(objects late)" "$(count alloc)" "which gets all"
EBTRACE_MEMTRACE=fifo prog 2>err
is "$? $(tail -1 err)" "0 ebtrace: EBTRACE_MEMTRACE='fifo': no process reads this FIFO; no trace is written" \
	"but not for ever" || diag "$(cat err)"

# A reader that goes, and one that stays and reads nothing.
head -c 100 fifo >part &
EBTRACE_MEMTRACE_RATE=1 EBTRACE_MEMTRACE=fifo prog 2>err
is "$? $(cat err)" "0 " "a program whose reader has gone runs to its end, without a signal"
exec 6<>fifo
EBTRACE_MEMTRACE_RATE=1 EBTRACE_MEMTRACE=fifo prog 2>err
is "$? $(cat err)" "0 " "as does one whose reader reads nothing"
exec 6>&-

if [ "$(id -u)" = 0 ] && cp "$minigc" suid && chmod 4755 suid && chmod 755 .; then
	EBTRACE_MEMTRACE=suid.ctf EBTRACE_MEMTRACE_RATE=x setpriv --reuid 65534 --clear-groups ./suid -o -q -n 300 -c /dev/null 2>err
	is "$? $(cat err) $(ls suid.ctf 2>/dev/null)" "0  " "a set-user-ID program ignores the variables"
fi
done_testing
