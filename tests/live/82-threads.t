#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -t TID: the events of one thread, of a running process, a program of ours and a capture.
. tests/lib.sh
need_root
need_command jq

# Fewer collections may all be the first thread's, before the others have begun.
ends_with 0 "$O/ebtrace" -q --mode stream -o "$TMP/all.ebt" -- "$O/tests/prog/minigc" -q -t 3 -n 20000 -c /dev/null
ends_with 0 "$O/ebtrace" -f ndjson "$TMP/all.ebt" >"$TMP/all"
tids=($(jq -r 'select(.ts != null and .tid != null and .kind == "begin").tid' "$TMP/all" | sort -un))
is ${#tids[@]} 3 "the program has three threads"
shown() { jq -c 'select(.ts != null and (.kind | IN("lost", "process") | not))' "$@"; }
for tid in "${tids[@]}"; do
	ends_with 0 "$O/ebtrace" -f ndjson -t "$tid" "$TMP/all.ebt" >"$TMP/one" 2>"$TMP/err"
	shown "$TMP/one" >"$TMP/got"
	jq -c --argjson tid "$tid" 'select(.tid == $tid and .kind != "process")' "$TMP/all" >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "-t of a capture: all events of the thread, and no others"
done
ends_with 0 "$O/ebtrace" -f ndjson -t "${tids[0]}" -t "${tids[2]}" "$TMP/all.ebt" 2>"$TMP/err" | shown >"$TMP/got"
jq -c --argjson a "${tids[0]}" --argjson b "${tids[2]}" \
	'select((.tid == $a or .tid == $b) and .kind != "process")' "$TMP/all" >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "-t twice: those of both"
"$O/ebtrace" stat --json -t "${tids[1]}" "$TMP/all.ebt" 2>/dev/null | jq -e '.processes[0].domains | length == 1' >/dev/null
ok $? "stat -t counts the domain of the thread alone"

mkfifo "$TMP/in"
"$O/tests/prog/minigc" -q -w -l -t 2 -n 5000 -c "$TMP/counts" <"$TMP/in" 2>"$TMP/ready" &
program=$!
children+=("$program")
exec 8>"$TMP/in"
"$O/ebtrace" -f ndjson -o "$TMP/live" -t "$program" -p "$program" 2>"$TMP/err" 8>&- &
tracer=$!
children+=("$tracer")
wait_for test -e "$TMP/live.part"
wait_for rests $tracer
echo >&8
wait_for test -s "$TMP/counts"
exec 8>&-
wait $tracer
is $? 0 "-t with -p: the trace ends with the program" || diag "$(cat "$TMP/err")"
is "$(jq -rs 'map(select(.kind == "begin")) | length > 0 and all(.[]; .domain == 0)' "$TMP/live")" true \
	"the main thread's events are shown alone" || diag "$(cat "$TMP/err")"
is "$(jq -s 'map(select(.kind == "begin")) | length' "$TMP/live")" \
	"$(awk '$1 == 0 && $2 == "begin" { n += $3 } END { print n }' "$TMP/counts")" "all of them"
done_testing
