#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# stat on a program whose pauses are known: by the program itself, which reads the clock on both
# sides of every probe, and by the times of the events in its ring.
. tests/lib.sh
need_root
need_command jq
count=500
mkdir -m 700 "$TMP/rings"
export EBTRACE_DIR=$TMP/rings

# Each percentile against the one of the same rank among the exact values, or between two bounds.
# Input: the percentiles; -v slack: parts of the value that it may be off.
within='FNR == 1 { file++ }
	file < 3 { v[file, FNR] = $1; n[file] = FNR; next }
	{ parts = int($1 * 10000 + 0.5) * n[1]; rank = (parts - parts % 1000000) / 1000000 + (parts % 1000000 > 0)
	  least = v[1, rank]; most = v[2, rank]; seen++
	  if ($2 < least * (1 - slack) - 1 || $2 > most * (1 + slack) + 1) { print $1 " %: " $2 ", not in " least " .. " most; bad = 1 } }
	END { if (seen != 18 || n[1] != 2 * count || n[2] != n[1]) { print seen " percentiles of " n[1] " pauses"; bad = 1 }; exit bad }'

for mode in ring watermark stream; do
	EBTRACE_PRESERVE=1 "$O/ebtrace" stat -q --json --mmu --mode $mode -o "$TMP/json" -- "$O/tests/prog/pauses" $count >"$TMP/known" 2>"$TMP/err"
	is $? 0 "$mode: the program's own status"
	is "$(jq .total.pauses.count "$TMP/json")" $((2 * count)) "$mode: every pause is there, what is inside and between is none"
	jq -r '.total.pauses.percentiles_ns | to_entries[] | "\(.key) \(.value)"' "$TMP/json" >"$TMP/percentiles"
	cut -d' ' -f1 "$TMP/known" | sort -n >"$TMP/least"
	cut -d' ' -f2 "$TMP/known" | sort -n >"$TMP/most"
	awk -v slack=0.001 -v count=$count "$within" "$TMP/least" "$TMP/most" "$TMP/percentiles" >"$TMP/bad"
	ok $? "$mode: every percentile is what the program knows, within 0.1 %" || diag "$(cat "$TMP/bad")"

	ends_with 0 "$O/ebtrace" -f ndjson "$TMP"/rings/*.events | jq -r 'select(.kind == "begin" or .kind == "end") | [.domain, .ts, .kind, .name] | @tsv' |
		awk '$4 != "minor" && $4 != "major" { next } $3 == "begin" { b[$1] = $2; next } { print $2 - b[$1] }' | sort -n >"$TMP/exact"
	awk -v slack=0.00049 -v count=$count "$within" "$TMP/exact" "$TMP/exact" "$TMP/percentiles" >"$TMP/bad"
	ok $? "$mode: every percentile is that of the events, within the error of the histogram" || diag "$(cat "$TMP/bad")"
	is "$(jq .total.pauses.min_ns "$TMP/json") $(jq .total.pauses.max_ns "$TMP/json")" "$(head -1 "$TMP/exact") $(tail -1 "$TMP/exact")" \
		"$mode: the shortest and the longest are exact"
	is "$(jq .total.gc_ns "$TMP/json")" "$(awk '{ n += $1 } END { printf "%.0f", n }' "$TMP/exact")" "$mode: the GC time is their sum"
	jq -e '.total | .coverage_percent == 100 and .cpu_user_ns + .cpu_system_ns > 0 and .peak_rss_bytes > 0 and .wall_ns > .gc_ns / 2' "$TMP/json" >/dev/null
	ok $? "$mode: nothing was lost, and CPU time and memory are known" || diag "$(jq -c '.total | del(.phases)' "$TMP/json")"
	jq -r '.processes[].domains[] | .domain as $d | .mmu[] | select(.least_percent != null) | [$d, .window_ns, .least_percent] | @tsv' "$TMP/json" |
		awk '{ printf "%d %d %.6f\n", $1, $2, $3 }' | sort >"$TMP/windows"
	ends_with 0 "$O/ebtrace" -f ndjson "$TMP"/rings/*.events | jq -r 'select(.ts) | [.domain, .ts, .kind, .name // "-"] | @tsv' |
		awk -v runs=domain_condition_wait -f tests/stat-mmu.awk | sort >"$TMP/want"
	same_file "$TMP/windows" "$TMP/want" "$mode: the least share of the mutator in each window is that of the events"
	rm -f "$TMP"/rings/*
done

# Memory of a program with rings of 8 MiB for each of two threads, which are no memory of its own.
gc=$O/tests/prog/minigc
memory() { # as without a ring
	local with without
	with=$(jq .total.peak_rss_bytes "$TMP/json") without=$(jq .total.peak_rss_bytes "$TMP/without")
	[ $((with > without ? with - without : without - with)) -lt 4194304 ]
	ok $? "$1: the peak of memory is without its rings" || diag "$with bytes, without a ring $without"
}
ends_with 0 "$O/ebtrace" stat --json -q --mode probes -o "$TMP/without" -- "$gc" -q -t 2 -n 300000 -c /dev/null
EBTRACE_LOG_WSIZE=20 ends_with 0 "$O/ebtrace" stat --json -q --mode ring -o "$TMP/json" -- "$gc" -q -t 2 -n 300000 -c /dev/null
memory "a program that is started"
rm -f "$TMP/in"
mkfifo "$TMP/in"
EBTRACE_START=1 EBTRACE_LOG_WSIZE=20 EBTRACE_DIR=$TMP "$gc" -q -w -t 2 -n 300000 -c /dev/null <"$TMP/in" 2>"$TMP/said" &
program=$!
children+=($program)
exec 7>"$TMP/in"
wait_for grep -qs ready "$TMP/said"
: >"$TMP/err"
"$O/ebtrace" stat --json -v --mode ring -o "$TMP/json" -p $program 2>"$TMP/err" 7>&- &
tracer=$!
children+=($tracer)
wait_for grep -qs 'reading the ring' "$TMP/err"
echo >&7
exec 7>&-
wait $tracer
is $? 0 "-p: the report is written"
memory "a process that runs already"
wait $program

# The report of a program goes to stderr, that of a process to stdout; Ctrl-C asks for it.
ends_with 0 "$O/ebtrace" stat -- "$O/tests/prog/pauses" 10 >"$TMP/out" 2>"$TMP/err"
is "$(wc -l <"$TMP/out") $(grep -c '^  pauses 20$' "$TMP/err")" "20 1" "a program's report is on stderr, its own output on stdout"
gc=$O/tests/prog/minigc
EBTRACE_START=1 "$gc" -q -t 2 -s 600 -r 50000 -c /dev/null &
prog=$!
children+=("$prog")
wait_for test -e "$EBTRACE_DIR/$prog.events"
for mode in ring stream; do
	"$O/ebtrace" stat --mode $mode --interval 100ms -p $prog >"$TMP/out" 2>"$TMP/err" &
	tracer=$!
	children+=("$tracer")
	wait_for sh -c "[ \$(grep -c '^ .*0 *\$' '$TMP/out') -ge 3 ]"
	ok $? "$mode: a line for each interval, while it runs"
	kill -INT $tracer
	wait $tracer
	is "$? $(grep -c '^Process' "$TMP/out")" "0 1" "$mode: Ctrl-C prints the report"
done
begin=$(date +%s%N)
ends_with 0 "$O/ebtrace" stat --json -d 300ms -p $prog >"$TMP/json"
jq -e --argjson run $(($(date +%s%N) - begin)) '.processes[0] | .wall_ns < $run and (.domains | length == 2)
	and all(.domains[]; .elapsed_ns <= $run and .gc_ns > 0 and .gc_ns <= .elapsed_ns)
	and .comm == "minigc" and .collections.minor > 0 and .words.minor_allocated > 0' "$TMP/json" >/dev/null
ok $? "a process that has run for long: only the time of the run counts" || diag "$(jq -c '.processes[0] | del(.phases)' "$TMP/json")"
ends_with 0 "$O/ebtrace" stat --json --interval 100ms -d 300ms -p $prog >"$TMP/json"
is "$(jq -s 'length - 1' "$TMP/json")" "$(jq -s '.[-1].total.wall_ns / 100000000 | floor' "$TMP/json")" \
	"a run has a line for each of its intervals, the last one, too"
jq -es '. as $all | all(range(1; length); $all[. - 1].total as $was | $all[.].total |
	.pauses.count >= $was.pauses.count and .gc_ns >= $was.gc_ns and .elapsed_ns >= $was.elapsed_ns)
	and all(range(1; length - 1); $all[. - 1].total.gc_ns < $all[.].total.gc_ns) and all(.[]; .at_ns - .begin_ns == .total.wall_ns)' \
	"$TMP/json" >/dev/null
ok $? "each line has all since the begin" || diag "$(jq -c '[.at_ns - .begin_ns, .total.wall_ns, .total.gc_ns, .total.pauses.count]' "$TMP/json")"
kill $prog
wait $prog # else it is a child that can be traced
"$O/ebtrace" stat -p $$ >"$TMP/out" 2>/dev/null
is "$? $(wc -c <"$TMP/out")" "4 0" "a process with nothing to trace has no report"
done_testing
