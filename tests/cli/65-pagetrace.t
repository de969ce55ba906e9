#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Go's page traces as inputs, against the events that an independent decoder found in them.
. tests/lib.sh
need_command xz
need_command perl
need_command jq
ebt=$O/ebtrace
data=tests/data/pagetrace
for path in $data/*.pt.xz; do
	name=$(basename "$path" .pt.xz)
	xz -dc "$path" >"$TMP/$name.pt"
	xz -dc "$data/$name.merged.txt.xz" >"$TMP/$name.truth"
	[ -s "$TMP/$name.pt" ] && names="$names $name"
done

# NDJSON on stdin as the truth has it: time, P, kind, address, pages; damage and late times apart.
events() {
	jq -r 'select(.kind | startswith("page_")) |
		"\(.ts - (.late_us // 0) * 1000)\t\(.domain)\t\(.kind[5:] | ascii_upcase)\t\(.addr)\t\(.pages)"' |
		sed -e 's/SCAVENGE/SCAV/'
}
short() { sed -e 's/SCAVENGE/SCAV/' "$1"; }

for name in $names; do
	"$ebt" -q -f ndjson "$TMP/$name.pt" 2>"$TMP/$name.log" >"$TMP/$name.ndjson"
	events <"$TMP/$name.ndjson" >"$TMP/$name.events"
	cmp -s "$TMP/$name.events" <(short "$TMP/$name.truth")
	ok $? "$name: NDJSON has the events of the truth, in the same order" ||
		diag "$(diff "$TMP/$name.events" <(short "$TMP/$name.truth") | head -5)"
done
is "$(jq -r 'select(.kind == "header") | "\(.source) \(.producer) \(.clock)"' "$TMP/light-go122.ndjson")" \
	"pagetrace go pagetrace monotonic" "the header names the source, the producer and the clock"
is "$(jq -r 'select(.kind == "header") | .start_ns' "$TMP/light-go122.ndjson")" \
	"$(head -1 "$TMP/light-go122.truth" | cut -f1)" "a trace starts with its earliest event"

name=gc-p4-go121
# Its first block is read before the other Ps' are written.
{ head -c 40000 "$TMP/$name.pt"; sleep 0.3; tail -c +40001 "$TMP/$name.pt"; } |
	"$ebt" -q -f ndjson - 2>"$TMP/pipe.log" >"$TMP/pipe.ndjson"
events <"$TMP/pipe.ndjson" | cmp -s - <(short "$TMP/$name.truth")
ok $? "a pipe: a trace as short as the window is in order"
is "$(jq -r 'select(.kind == "header") | .start_ns' "$TMP/pipe.ndjson")" "$(head -1 "$TMP/$name.truth" | cut -f1)" \
	"a pipe: it starts with its earliest event, too"
# Its window is not over when a signal comes, and its writer goes on.
mkfifo "$TMP/cut"
"$ebt" -f ndjson "$TMP/cut" >"$TMP/cut.ndjson" 2>"$TMP/cut.log" &
reader=$!
children+=($reader)
exec 3>"$TMP/cut"
head -c 40000 "$TMP/$name.pt" >&3
wait_for rests $reader
kill -INT $reader
wait $reader
is "$? $(events <"$TMP/cut.ndjson" | wc -l)" "0 $(head -c 40000 "$TMP/$name.pt" | "$ebt" -q -f ndjson - | events | wc -l)" \
	"a pipe: what has come until Ctrl-C is shown"
exec 3>&-
# In a longer one P -1, whose events are the earliest and come last, is late.
mkfifo "$TMP/late"
"$ebt" -q -f ndjson "$TMP/late" >"$TMP/pipe.ndjson" &
children+=($!)
exec 3>"$TMP/late"
head -c -144 "$TMP/sleep-go122.pt" >&3
wait_for grep -q '"page_' "$TMP/pipe.ndjson"
ok $? "a pipe: events older than the window are shown before the program ends"
tail -c 144 "$TMP/sleep-go122.pt" >&3
exec 3>&-
wait $!
is "$(jq -r 'select(.ts and .late) | .domain' "$TMP/pipe.ndjson" | sort | uniq -c | xargs)" \
	"$(awk '$2 == -1' "$TMP/sleep-go122.truth" | wc -l) -1" "a pipe: the events of P -1 alone are late"
[ -z "$(jq -r '.ts // empty' "$TMP/pipe.ndjson" | awk '$1 < last { print } { last = $1 }')" ]
ok $? "a pipe: the output is in order of time"
# Their own times are kept, less than a microsecond later.
paste <(events <"$TMP/pipe.ndjson" | sort -n) <(short "$TMP/sleep-go122.truth") |
	awk '$1 - $6 < 0 || $1 - $6 >= 1000 || $2 != $7 || $3 != $8 || $4 != $9 || $5 != $10 { bad++ }
		END { exit bad || NR != n }' n="$(wc -l <"$TMP/sleep-go122.truth")"
ok $? "a pipe: all events are there, with their own times"

# A FIFO is read while it is written.
mkfifo "$TMP/fifo"
"$ebt" -q -f ndjson "$TMP/fifo" >"$TMP/fifo.ndjson" &
children+=($!)
{ head -c 90000 "$TMP/gcbig-p2-go122.pt"; sleep 0.1; tail -c +90001 "$TMP/gcbig-p2-go122.pt"; } >"$TMP/fifo"
wait $!
events <"$TMP/fifo.ndjson" >"$TMP/fifo.events"
cmp -s "$TMP/fifo.events" <(short "$TMP/gcbig-p2-go122.truth")
ok $? "a FIFO: all events are there, in order"

# Damage: what is good is delivered, and one line says what is wrong where.
grep -q 'damaged at byte 100000' "$TMP/fsize-go122.log"
ok $? "a trace that was cut names the byte"
is "$(jq -c 'select(.kind == "damage")' "$TMP/fsize-go122.ndjson" | wc -l)" 1 "and has one damage event"
grep -q 'damaged at byte' "$TMP/selfexec-go122.log"
ok $? "a hole in a trace is named"
{ head -c 800 "$TMP/light-go122.pt"; head -c 8 /dev/zero; tail -c +801 "$TMP/light-go122.pt"; } >"$TMP/zero.pt"
"$ebt" -q -f ndjson "$TMP/zero.pt" 2>"$TMP/zero.log" >"$TMP/zero.ndjson"
is $? 0 "a damaged trace is read"
grep -q 'damaged at byte 800' "$TMP/zero.log"
ok $? "a zero word is damage at its offset"
is "$("$ebt" info "$TMP/zero.pt" 2>/dev/null | grep -cE '^  damage     1 places?, [0-9]+ bytes, at byte 800')" 1 \
	"info has the number of places"

# A capture holds them all.
"$ebt" -q -o "$TMP/gc.ebt" "$TMP/$name.pt" && "$ebt" -q -f ndjson "$TMP/gc.ebt" | events >"$TMP/gc.events"
cmp -s "$TMP/gc.events" <(short "$TMP/$name.truth")
ok $? "a capture has the same events"
"$ebt" -q -f text "$TMP/light-go122.pt" | grep -q 'page_alloc'
ok $? "text shows them"

is "$("$ebt" info --json "$TMP/$name.pt" | jq -r '"\(.format) \(.page_bytes) \(.blocks) \(.has_boot) \(.kinds.page_alloc)"')" \
	"pagetrace 8192 6 true $(grep -c ALLOC "$TMP/$name.truth")" "info describes a trace"
"$ebt" info "$TMP/kill9-go122.pt" | grep -q 'did not end by itself'
ok $? "info says that a program was killed"
done_testing
