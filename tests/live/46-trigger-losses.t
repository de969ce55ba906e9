#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Events that a ring buffer of the kernel drops while a trigger fires: the capture has the losses in their
# places, and the capture, its info and the line at the end count them.
. tests/lib.sh
need_root
need_command jq

timeout 300 "$O/ebtrace" --mode probes --bpf-buffer 4K --trigger 'pause>20us' --before 1000s --after 1000s --trigger-memory 256M \
	-o "$TMP/run.ebt" -- "$O/tests/prog/minigc" -q -n 200000 -c "$TMP/emitted" 2>"$TMP/err"
is "$? $(ls "$TMP" | grep -c '\.ebt$')" "0 1" "one capture has all that comes" || diag "$(cat "$TMP/err")"
lost=$(sed -n 's/^ebtrace: 1 capture from [0-9]* events, \([0-9]*\) lost$/\1/p' "$TMP/err")
[ "${lost:-0}" -gt 0 ]
ok $? "the line at the end has how many were lost" || diag "$(cat "$TMP/err")"
ends_with 0 "$O/ebtrace" -q -f ndjson "$TMP/run.1.ebt" >"$TMP/t"
is "$(jq -s '[.[] | select(.kind == "lost").events] | add' "$TMP/t")" "$lost" "the losses in the capture are as many"
jq -s -e 'map(select(.ts)) | [.[0].ts, .[-1].ts] as [$a, $b] | map(select(.kind == "lost")) |
	length > 1 and all(.since <= .ts and .ts >= $a and .ts <= $b)' "$TMP/t" >"$TMP/jq"
ok $? "each is where its events are missing"
is "$(tail -1 "$TMP/t" | jq -c '[.kind, .lost_events]')" "[\"summary\",$lost]" "its summary counts them"
is "$(ends_with 0 "$O/ebtrace" info --json "$TMP/run.1.ebt" | jq .lost_events)" "$lost" "so does info"
# Phases, counters and sizes; each thread has some moments of its own besides.
emitted=$(awk '$2 == "begin" || $2 == "end" { n += $3 } END { print n }' "$TMP/emitted")
seen=$(jq -s '[.[] | select(.kind == "begin" or .kind == "end")] | length' "$TMP/t")
[ "$seen" -lt "$emitted" ] && [ $((seen + lost)) -ge "$emitted" ]
ok $? "what is there and what was lost cover all phases of the program" || diag "$seen seen, $lost lost, $emitted emitted"
"$O/ebtrace" -q --fail-on-loss -f ndjson "$TMP/run.1.ebt" >"$TMP/t"
is $? 3 "a capture with losses fails where that is asked for"
done_testing
