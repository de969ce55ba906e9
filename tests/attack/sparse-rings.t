#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Sparse ring files of thousands of domains cost their maker nothing: they must not cost the reader
# its memory, whether they are given as files or mapped by a traced process.
. tests/lib.sh
need_root

# Sixteen files, of 65,536 rings, where memory for all of ebtrace is 200 MB.
"$O/tests/attack/sparse_rings" "$TMP" 16 || skip_all "cannot forge ring files"
small() { (ulimit -v 200000 && timeout 300 "$O/ebtrace" "$@"); }
small -f ndjson "$TMP"/*.events >"$TMP/out" 2>"$TMP/err"
is $? 0 "sixteen sparse files of 4,096 domains are read in little memory"
is "$(tail -1 "$TMP/out" | jq '.events > 500 and .lost_words > 100000000')" true \
	"what there is no memory for is counted as lost" || tail -1 "$TMP/out"
is "$(grep -c -e '--buffer' "$TMP/err")" 1 "and one line reports it" || diag "$(cat "$TMP/err")"
small stat --fail-on-loss "$TMP"/*.events >/dev/null 2>&1
is $? 3 "--fail-on-loss minds it"

# One file and room for all of it: nothing is lost.
ends_with 0 timeout 300 "$O/ebtrace" --buffer 1G -f ndjson "$TMP/1.events" >"$TMP/out" 2>"$TMP/err"
is "$(grep -c '"kind":"counter"' "$TMP/out") $(tail -1 "$TMP/out" | jq -c '[.damaged, .lost_words]')" \
	"4096 [4096,0]" "with memory every record is delivered, every ring's damage reported"
rm "$TMP"/*.events

# A process that goes on making them.
"$O/tests/attack/endless_rings" "$TMP" 40 &
hostile=$!
children+=("$hostile")
wait_for grep -q events "/proc/$hostile/maps"
"$O/ebtrace" --mode ring -f ndjson -o "$TMP/out" -p "$hostile" 2>"$TMP/err" &
tracer=$!
children+=("$tracer")
peak() { awk '$1 == "VmHWM:" { print $2 }' "/proc/$tracer/status"; }
wait_for grep -q -e '--buffer' "$TMP/err"
ok $? "of a process that makes ring after ring so many are read as fit, and a message reports it"
made() { [ "$(grep -c events "/proc/$hostile/maps")" -ge 40 ]; }
wait_for made
kib=$(peak) files=$(find "/proc/$tracer/fd" -lname '*.events*' | wc -l)
[ "$kib" -lt 500000 ]
ok $? "its rings use no more than the buffer" || diag "$kib KiB"
[ "$files" -le 64 ]
ok $? "and not all descriptors"
diag "$kib KiB, $files ring files"
kill "$hostile"
wait "$tracer"
is $? 0 "the run ends as usual"
is "$(tail -1 "$TMP/out" | jq '.lost_words > 1000000')" true "with a count of what was lost"
done_testing
