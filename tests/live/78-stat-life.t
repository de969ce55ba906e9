#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How long a process lives that is seen through probes alone: not as long as the run.
. tests/lib.sh
need_root
need_command jq

"$O/ebtrace" stat --json --mode probes -o "$TMP/json" -- sh -c 'sleep 1; "$1" -s 1 -r 2000 -q >/dev/null; sleep 1' sh \
	"$O/tests/prog/minigc" >"$TMP/err" 2>&1
is "$?" 0 "a program begins a second after the run, and ends a second before"
jq -e '[.processes[] | select(.pauses.count > 0)] | length == 1' "$TMP/json" >/dev/null
ok $? "its pauses are seen" || diag "$(cat "$TMP/err")"
jq -e '.total.wall_ns as $run | [.processes[] | select(.pauses.count > 0)] |
	length > 0 and all(.wall_ns + 1500000000 < $run and .wall_ns > 500000000)' "$TMP/json" >/dev/null
ok $? "it has lived for its own time, not for the run's" || diag "$(jq -c '.total.wall_ns, .processes[].wall_ns' "$TMP/json")"
jq -e '[.processes[] | select(.pauses.count > 0) | .wall_ns as $life | .domains[] | .elapsed_ns <= $life] | length > 0 and all' "$TMP/json" >/dev/null
ok $? "and none of its domains for longer"
done_testing
