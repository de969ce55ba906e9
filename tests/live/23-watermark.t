#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Watermark mode: no trap for an event, one for each quarter of a ring; and rings that start late
# are noticed by their marker.
. tests/lib.sh
. tests/counts.sh
need_root
gc=$O/tests/prog/minigc

mkfifo "$TMP/in"
# Paced so that the late ring wraps after some 90 ms: sooner than a look by chance would find it on a
# busy machine, later than the CPU of a virtual one may be taken away for.
EBTRACE_DIR=$TMP "$gc" -q -w -l -t 1 -n 50000 -r 200000 -c "$TMP/late.counts" <"$TMP/in" 2>"$TMP/err" &
program=$!
children+=("$program")
exec 8>"$TMP/in"
wait_for grep -q ready "$TMP/err"
"$O/ebtrace" -v --mode watermark -f ndjson -o "$TMP/late.ndjson" -p "$program" 2>"$TMP/log" 8>&- &
tracer=$!
children+=("$tracer")
wait_for grep -q 'attached to' "$TMP/log"

# The traps in the program's memory: its sites are nops but for those of the control markers, and of
# sampled allocations and pages, which are rare and in no ring.
# Of each note: its name, and the byte at its site (offset from the start of the mapped file).
base=$(awk '/minigc/ { split($1, a, "-"); print a[1]; exit }' "/proc/$program/maps")
readelf -n "$gc" | awk '/Name:/ { name = $2 } /Location:/ { sub(",", "", $2); print name, $2 }' >"$TMP/sites"
while read -r name at; do
  byte=$(dd if="/proc/$program/mem" bs=1 count=1 iflag=skip_bytes skip=$((16#$base + at)) 2>/dev/null | od -An -tx1)
  echo "$name ${byte# }"
done <"$TMP/sites" | sort >"$TMP/bytes"
diag "$(tr '\n' ';' <"$TMP/bytes")"
is "$(awk '$2 == "cc" { print $1 }' "$TMP/bytes" | xargs)" "alloc alloc collect page_alloc page_free page_scavenge promote ring_request ring_start ring_stop watermark" \
  "the markers of control, of sampled allocations and of pages are breakpoints"
is "$(awk '$2 == "90" { n++ } END { print n }' "$TMP/bytes")" "$(($(wc -l <"$TMP/bytes") - 11))" \
  "every other marker is a nop"
echo >&8
wait_for test -s "$TMP/late.counts"
exec 8>&-
wait $tracer
is $? 0 "the tracer ends with the program"
"$O/tests/prog/tally" <"$TMP/late.ndjson" >"$TMP/late.tally"
# 50,000 events at full speed pass in a few ms, and more than a ring holds: without wake-ups, and
# without notice of the ring's start, most would be gone.
whole late
jq -es 'map(select(.kind == "begin")) | length > 0 and all(.[]; has("tid") | not)' "$TMP/late.ndjson" >/dev/null
ok $? "no event came by a trap"
done_testing
