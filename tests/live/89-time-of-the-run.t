#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A run of running processes begins when their probes are in place, and ends when taking them off begins.
. tests/lib.sh
need_root
need_command jq

now() { date +%s%N; }
pids=()
for _ in 1 2 3 4 5 6; do
	"$O/tests/prog/minigc" -q -s 600 -r 2000 >/dev/null &
	children+=($!)
	pids+=(-p $!)
done
begun=$(now)
"$O/ebtrace" stat --mode stream --json -d 20ms "${pids[@]}" -o "$TMP/json" 2>"$TMP/err"
is $? 0 "six running processes are watched for a moment"
took=$(($(now) - begun))
jq -e --argjson took "$took" '.total.wall_ns * 2 < $took and .total.wall_ns >= 20000000' "$TMP/json" >/dev/null
ok $? "the time in which probes were attached and detached is no part of the run" ||
	diag "the command took $took, the run $(jq .total.wall_ns "$TMP/json")" "$(cat "$TMP/err")"
jq -e '.total.wall_ns as $run | [.processes[] |
	.wall_ns <= $run + 20000000 and ([.domains[] | .elapsed_ns] | max) <= .wall_ns] |
	length > 0 and all' "$TMP/json" >/dev/null
ok $? "no process was seen for longer than the run" || diag "$(jq -c '.processes[] | .wall_ns, .domains' "$TMP/json")"

# A later file of a run begins where the one before it ends.
ends_with 0 "$O/ebtrace" -q --max-size 64K --rotate 2 -o "$TMP/run.ebt" -- "$O/tests/prog/minigc" -q -t 2 -n 100000 -c /dev/null
last=$("$O/ebtrace" -f ndjson "$TMP/run.1.ebt" | jq -s 'map(.ts // empty) | max')
ends_with 0 "$O/ebtrace" stat --json "$TMP/run.ebt" >"$TMP/json"
is "$(jq .begin_ns "$TMP/json")" "$last" "the statistics of a later file of --rotate begin with that file"
jq -e '.total.wall_ns as $run | [.processes[].domains[] | .elapsed_ns <= $run] | length > 0 and all' "$TMP/json" >/dev/null
ok $? "and no domain has lived for longer" || diag "$(jq -c '.total.wall_ns, .processes[].domains' "$TMP/json")"
done_testing
