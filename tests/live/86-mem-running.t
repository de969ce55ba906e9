#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Reports and records of a running process's sampled allocations, without a change to it; and what is
# missing where that does not work.
. tests/lib.sh
need_root
need_command cc
need_command jq

# Waits for a byte; 300 times 4,096 bytes at one place, 100 times 8,192 at another; the first are freed.
cat >"$TMP/allocs.c" <<'END_C'
#include <stdlib.h>
#include <sys/sdt.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
APART static void *sampled(size_t size, size_t weight)
{
	void *p = malloc(size);
	STAP_PROBE3(otel_memory, alloc, p, size, weight);
	return p;
}
APART static void make_and_free(void)
{
	void *p = sampled(10, 4096);
	STAP_PROBE1(otel_memory, free, p);
	free(p);
}
APART static void keep(void)
{
	static void *kept[100];
	static int n;
	kept[n++] = sampled(8192, 8192);
}
int main(void)
{
	char byte;
	if (read(0, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < 300; i++)
		make_and_free();
	for (int i = 0; i < 100; i++)
		keep();
	return 0;
}
END_C
cc -O1 -g -fno-omit-frame-pointer "$TMP/allocs.c" -o "$TMP/allocs"
ok $? "a program with markers otel_memory is compiled"

# begin NAME COMMAND...: the program, waiting, and ebtrace attached to it; end lets it run.
begin() {
	local name=$1
	shift
	rm -f "$TMP/go"
	mkfifo "$TMP/go"
	"$TMP/allocs" <"$TMP/go" &
	program=$!
	children+=($program)
	exec 5>"$TMP/go"
	timeout 300 "$@" -v -p $program >"$TMP/$name.out" 2>"$TMP/$name.err" &
	tracer=$!
	wait_for grep -q 'attached to' "$TMP/$name.err"
}
end() {
	echo >&5
	exec 5>&-
	end_well $tracer
}

begin record "$O/ebtrace" mem record -o "$TMP/out.ctf"
end
is $? 0 "its allocations are recorded" || diag "$(cat "$TMP/record.err")"
is "$("$O/ebtrace" info "$TMP/out.ctf" | sed -n 's/^  events *//p')" \
	"700: 400 alloc, 0 promote, 300 collect" "all of them are in the trace"
is "$(stat -c %a "$TMP/out.ctf")" 600 "which is its user's alone"
ends_with 0 "$O/ebtrace" mem hotspots "$TMP/out.ctf" >"$TMP/recorded"
head -1 "$TMP/recorded" | grep -q ': 400 sampled objects that stand for 256000 words in '
ok $? "its report says that samples stand for words" || diag "$(head -1 "$TMP/recorded")"
is "$(grep -cE ' (words    objects  allocated at|words: own      below  function)$' "$TMP/recorded") $(grep -c samples "$TMP/recorded")" "2 0" \
	"and so do the columns of hotspots" || diag "$(<"$TMP/recorded")"
ends_with 0 "$O/ebtrace" mem flame -o "$TMP/flame.svg" "$TMP/out.ctf"
is "$(grep -cE '^<title>.*\), [0-9]+ words?$|, 256000 words' "$TMP/flame.svg" | sed 's/^[1-9].*/some/') $(grep -cE ' [0-9]+ samples?\>' "$TMP/flame.svg")" \
	"some 0" "and the flame graph"
grep -qE '^ *2\.0 MiB .* sampled \(' "$TMP/recorded"
ok $? "its report has the bytes of the samples: 300 * 4096 + 100 * 8192" || diag "$(cat "$TMP/recorded")"
grep -qE '^ *1\.2 MiB .* make_and_free$' "$TMP/recorded" && grep -qE '^ *800\.0 KiB .* keep$' "$TMP/recorded"
ok $? "and of the functions that call for them"

is "$(grep -cE '^ .* not known .* (sampled|make_and_free|keep)' "$TMP/recorded") $(grep -c '^Intervals are not known' "$TMP/recorded")" "1 1" \
	"without intervals, as the rate is not known" || diag "$(cat "$TMP/recorded")"
is "$("$O/ebtrace" mem "$TMP/out.ctf" | sed -n '/^Allocated at/,/^Alive/p' | grep -cE '^ +2\.0 MiB +400 samples +100\.0 %  sampled \(')" 1 \
	"but with the number of samples in the summary" || diag "$("$O/ebtrace" mem "$TMP/out.ctf")"
is "$("$O/ebtrace" mem hotspots --json "$TMP/out.ctf" | jq -c '[.programs[0].rate, .total.low, .total.bytes, (.total.objects_estimate | round)]')" \
	"[null,null,2048000,76900]" "the objects are those of the weights: 300 * 4096 / 16 of 2 words, and 100 of 8192 bytes"
is "$("$O/ebtrace" mem hotspots --rate 2e-3 --json "$TMP/out.ctf" | jq -c '[.programs[0].rate, .total.low < .total.bytes, .total.high > .total.bytes, .total.bytes]')" \
	"[0.002,true,true,2048000]" "a rate that is given gives them their intervals"

begin piped "$O/ebtrace" mem record -o -
end
is "$? $("$O/ebtrace" info - <"$TMP/piped.out" | sed -n 's/^  events *//p')" \
	"0 700: 400 alloc, 0 promote, 300 collect" "-o - writes the trace to standard output" || diag "$(<"$TMP/piped.err")"

begin report "$O/ebtrace" mem hotspots
end
is $? 0 "a running process is reported without a file" || diag "$(cat "$TMP/report.err")"
same() { sed -n '/ bytes /,$p' "$1"; }
is "$(same "$TMP/report.out")" "$(same "$TMP/recorded")" "with the same numbers"

begin stopped "$O/ebtrace" mem hotspots
pkill -STOP -P $tracer
echo >&5
exec 5>&-
wait $program
pkill -CONT -P $tracer
end_well $tracer
is "$(same "$TMP/stopped.out")" "$(same "$TMP/recorded")" "also if it has ended before the first record is read"

for program in "$TMP/allocs" "sh -c '\"\$0\"; exit 3' $TMP/allocs" "sh -c 'exec \"\$0\"' $TMP/allocs"; do
	eval "\"$O/ebtrace\" mem hotspots -- $program" < <(sleep 0.5; echo) >"$TMP/started.out" 2>"$TMP/started.err"
	is "$(grep -cE '^ *(1\.2 MiB .* make_and_free|800\.0 KiB .* keep)$' "$TMP/started.err")" 2 \
		"the functions of a program that is started: ${program//"$TMP/"/}" || diag "$(cat "$TMP/started.err")"
done
"$O/ebtrace" mem -- sh -c 'echo ran; exit 3' >"$TMP/started.out" 2>"$TMP/started.err"
is "$? $(head -1 "$TMP/started.out")" "3 ran" "one without markers runs, with its status"
is "$(grep -v '^No alloc' "$TMP/started.err")" \
	"ebtrace: nothing was traced: neither 'sh' nor a program that it started has markers of sampled allocations (ebtrace:alloc or otel_memory:alloc); without any: ebtrace mem record -o FILE -- PROGRAM" \
	"and at the end one line says that there was nothing"

sleep 60 &
children+=($!)
"$O/ebtrace" mem record -o "$TMP/none.ctf" -p $! 2>"$TMP/err"
is $? 4 "of a process without markers nothing is recorded"
is "$(sed "s/process $!/process N/" "$TMP/err")" \
	"ebtrace: process N has no markers of sampled allocations (ebtrace:alloc or otel_memory:alloc) and no OCaml 5 in native code; start it anew with: ebtrace mem record -o FILE -- PROGRAM; --wait waits until it, or a child of it, has some" \
	"one line names what is missing"
[ ! -e "$TMP/none.ctf" ]
ok $? "and no file is written"
chmod 755 "$TMP"
install -m 755 "$O/ebtrace" "$TMP/ebtrace"
(cd / && setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/ebtrace" mem -- "$TMP/allocs" <<<x) 2>"$TMP/err"
is $? 7 "without privilege they cannot be read"
is "$(cat "$TMP/err")" \
	"ebtrace: sampled allocations are read through BPF: cannot load the BPF programs: needs CAP_BPF and CAP_PERFMON, or root; 'ebtrace info --kernel' shows what it allows" \
	"and one line says so"
for arguments in "-o x.ctf" "-p 1" "-o x.json -p 1" "-o x.ctf -p 1 -- true" "-o x.ctf -p 1 --rate 1e-3"; do
	# shellcheck disable=SC2086
	"$O/ebtrace" mem record $arguments 2>"$TMP/err"
	is $? 2 "mem record $arguments is refused"
done
done_testing
