#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --mode counters: what the kernel counts equals what stat makes of the events of the same run.
. tests/lib.sh
. tests/counters.sh
need_root
need_command jq
need_command setpriv
prog=$O/tests/prog

retry start "$prog/minigc" -w -t 3 -n 30000
check_same 'threads without a ring' 1000
is "$(number counters .total.lost.events)" 0 'nothing is lost'

# A ring that is on changes nothing: its domains are the lanes.
export EBTRACE_START=1 EBTRACE_DIR=$TMP
retry start "$prog/minigc" -w -t 3 -n 30000
check_same 'domains with a ring' 1000
is "$(number counters '[.processes[].domains[].domain]')" '[0,1,2]' 'by domain'

# One thread pauses all rings.
retry start "$prog/paused_ring" 8
check_same 'rings that are paused' 8
is "$(number counters '.total.pauses.cut.end')" 16 'a pause of the rings cuts the phases of each domain'
unset EBTRACE_START EBTRACE_DIR

# The begin of this one was not seen, and its inner phases were no pauses.
start "$prog/long_pause"
wait_for grep -sq paused "$TMP/out"
attach counters counters
sleep 0.5
go
wait "$PID"
end_well "${tracers[@]}"
is "$(number counters '[.total.pauses.count, .total.pauses.cut.start, .total.unmatched_ends]')" '[3,1,0]' \
	'a pause that had begun is cut, and its phases are no pauses'
is "$(number counters '.total.pauses.cut.longest_ns > .total.elapsed_ns * 0.9')" true 'it lasted since the begin of the run'

start "$prog/long_pause"
wait_for grep -sq paused "$TMP/out"
attach counters counters
sleep 2
kill -9 "$PID"
wait "$PID" 2>/dev/null
exec 9>&-
end_well "${tracers[@]}"
is "$(number counters '[.total.phases[] | select(.name == "major_mark") | .count > 10]')" '[true]' \
	'a process that is killed keeps its numbers'

start "$prog/minigc" -w -t 2 -n 8000
both counters
check_same 'two tracers that count' 300

# The tracer ends first, in the middle of the work.
start "$prog/minigc" -w -t 2 -s 3 -r 4000
attach counters counters -d 1500ms
go
end_well "${tracers[@]}"
is "$(number counters '[.total.pauses.count > 20, .total.lost.events]')" '[true,0]' 'a run that ends before its process'
wait "$PID"

# Each process is counted whole, or was not watched from its begin. In an emulated guest children live for longer.
ends_with 0 "$O/ebtrace" stat --json --mode counters -o "$TMP/brood.json" -- "$prog/brood" 200 25 20 4 wait /dev/null \
	$(((SLOWNESS - 1) * 100)) </dev/null 2>"$TMP/err"
all=$((221 * 25))
is "$(number brood "[.total.pauses.count == $all or .total.lost.unwatched_ns > 0, .total.pauses.count <= $all,
	.total.pauses.count > 100, .total.lost.events]")" '[true,true,true,0]' '200 short children and 20 programs' ||
	diag "$(number brood '[.total.pauses, .total.lost]')" "$(head -5 "$TMP/err")"

# Threads that have ended leave their numbers, and no lane.
ends_with 0 "$O/ebtrace" stat --json --mode counters -o "$TMP/threads.json" -- "$prog/many_pauses" 8 2500 >"$TMP/out" 2>&1
pauses=$(grep -ohE '^[0-9]+' "$TMP/out" | head -1)
is "$(number threads .total.pauses.count)" "$pauses" 'eight threads' || diag "$(head -3 "$TMP/out")"

start "$prog/minigc" -w -t 1 -s 2.2 -r 4000
attach counters counters --interval 500ms
go
wait "$PID"
end_well "${tracers[@]}"
# Each document has all since the begin; the last one is the report.
jq -s '[.[].total.pauses.count]' "$TMP/counters.json" >"$TMP/lines"
ok "$(jq '[length >= 4, .[1] > 20, . == sort, .[-2] > .[-1] / 2] | if all then 0 else 1 end' "$TMP/lines")" \
	'a document for each interval, with its pauses' || diag "$(jq -c . "$TMP/lines")"
ends_with 0 "$O/ebtrace" stat --interval 300ms --mode counters -o "$TMP/text" -- "$prog/minigc" -t 1 -s 1.5 -r 4000 >"$TMP/out" 2>&1
awk '$1 ~ /^[0-9.]+$/ && $2 + 0 > 5 && $5 != "-" { lines++ } END { exit lines < 3 }' "$TMP/text"
ok $? 'a line for each interval' || diag "$(head -8 "$TMP/text")"

setpriv --bounding-set -all --inh-caps -all "$O/ebtrace" stat --mode counters -- true 2>"$TMP/err"
is "$? $(grep -o '.*needs' "$TMP/err")" '7 ebtrace: --mode counters: cannot load the BPF programs: needs' \
	'without privilege it is refused'

done_testing
