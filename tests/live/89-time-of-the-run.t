#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A run of running processes begins when their probes are in place, and ends when taking them off begins.
. tests/lib.sh
need_root
need_command jq

now() { date +%s%N; }
pids=()
for _ in 1 2 3 4 5 6; do
	"$O/tests/prog/minigc" -q -s 60 -r 2000 >/dev/null &
	children+=($!)
	pids+=(-p $!)
done
begun=$(now)
"$O/ebtrace" stat --mode stream --json -d 20ms "${pids[@]}" -o "$TMP/json" 2>"$TMP/err"
is $? 0 "six running processes are watched for a moment"
took=$(($(now) - begun))
jq -e --argjson took "$took" '.total.wall_ns * 2 < $took and .total.wall_ns >= 20000000' "$TMP/json" >/dev/null
ok $? "the time in which probes were put in place and taken off is no part of the run" ||
	diag "the command took $took, the run $(jq .total.wall_ns "$TMP/json")" "$(cat "$TMP/err")"
jq -e '.total.wall_ns as $run | [.processes[] |
	.wall_ns <= $run + 20000000 and ([.domains[] | .elapsed_ns] | max) <= .wall_ns] |
	length > 0 and all' "$TMP/json" >/dev/null
ok $? "no process was seen for longer than the run" || diag "$(jq -c '.processes[] | .wall_ns, .domains' "$TMP/json")"
done_testing
