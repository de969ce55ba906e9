#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Short children on a busy machine, whose rings are found before the records of their forks are read: each
# of their events is there once, as each child is one process, to the ring and to the probes.
. tests/lib.sh
need_root
need_command jq
brood=$O/tests/prog/brood
need_file "$brood"
for ((i = 0; i < 2 * $(nproc); i++)); do
	nice "$BASH" -c 'while :; do :; done' &
	children+=($!)
done

for mode in stream stream auto; do
	nice timeout 300 "$O/ebtrace" -q --mode $mode -f ndjson -o "$TMP/t" -- "$brood" 200 20 0 8 2>"$TMP/err"
	is $? 0 "--mode $mode: 200 short children of a program are traced" || diag "$(cat "$TMP/err")"
	jq -r 'select(.kind == "begin").pid' "$TMP/t" | sort | uniq -c | awk '$1 > 20 { print $2 ": " $1 }' >"$TMP/more"
	is "$(cat "$TMP/more")" "" "no event of any of them comes twice"
	begins=$(grep -c '"kind":"begin"' "$TMP/t")
	lost=$(jq -s 'map(select(.kind == "lost")) | length' "$TMP/t")
	[ "$begins" = $((201 * 20)) ] || [ "$lost" -gt 0 ]
	ok $? "and each is there, or a loss" || diag "$begins begins"
done

# A process that executes the same file again and again: the ring of one program may be found when the next one runs.
for mode in stream stream stream auto probes; do
	ends_with 0 nice timeout 300 "$O/ebtrace" -q --mode $mode -f ndjson -o "$TMP/t" -- "$brood" 0 20 12 2>"$TMP/err"
	begins=$(grep -c '"kind":"begin"' "$TMP/t")
	lost=$(jq -s 'map(select(.kind == "lost")) | length' "$TMP/t")
	[ "$begins" = $((13 * 20)) ] || { [ "$lost" -gt 0 ] && [ "$begins" -lt $((13 * 20)) ]; }
	ok $? "--mode $mode: each event of 13 programs of one file is there once, or a loss" || diag "$begins begins, $lost losses"
done
done_testing
