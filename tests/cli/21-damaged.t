#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Damaged rings: no crash, what is good is delivered, the damage is told with its place.
. tests/lib.sh
need_command jq
need_command xz

# NAME STATUS BYTE "expected" EVENTS: the place and the words of the line on stderr; "-": no line.
# EVENTS: those that a reader can tell to be good, at least.
while read -r name status byte events expected; do
	xz -dc "tests/data/ocaml-corrupt/$name.events.xz" >"$TMP/$name.events"
	timeout 300 "$O/ebtrace" -f ndjson --ocaml-version 5.3 "$TMP/$name.events" >"$TMP/out" 2>"$TMP/err"
	is $? "$status" "$name: status $status"
	if [ "$byte" = - ]; then
		is "$(cat "$TMP/err")" "" "$name: nothing is damaged"
	else
		grep -q "$name.events'.* byte $byte[:,].*expected $expected" "$TMP/err" &&
			[ "$(wc -l <"$TMP/err")" = 1 ]
		ok $? "$name: one line names the file, the byte and what was expected" || diag "$(cat "$TMP/err")"
	fi
	[ "$(jq -c 'select(.ts != null and .kind != "damage" and .kind != "lost")' "$TMP/out" | wc -l)" -ge "$events" ]
	ok $? "$name: at least $events good events are delivered"
	if [ "$status" = 0 ] && [ "$byte" != - ]; then
		is "$(jq -r 'select(.kind == "damage" and .what != null) | .offset' "$TMP/out" | head -1)" "$byte" \
			"$name: its first damage event has the same place"
		is "$(jq -r 'select(.kind == "summary").damaged' "$TMP/out")" \
			"$(jq -c 'select(.kind == "damage")' "$TMP/out" | wc -l)" "$name: the summary counts its damage"
		"$O/ebtrace" -q --fail-on-loss --ocaml-version 5.3 "$TMP/$name.events" >/dev/null 2>&1
		is $? 3 "$name: --fail-on-loss reports it by status 3"
	fi
done <<'END'
zero-length-event 0 11376 57 a record
length1-user 0 11376 57 a record
custom-len2 0 11376 57 a record
custom-len500 0 11376 57 a record
custom-len1000 0 11376 57 a record
custom-pad-byte-255 0 11376 252 a record
tail-huge 0 64 217 a head and a tail
headgttail 0 64 37 a head and a tail
ring-size-not-pow2 0 24 253 65536
max_domains-huge 0 8 253 128
max_domains-4096 0 8 253 128
max_domains-0 0 8 253 128
data_offset-end 0 48 253 10304
custom_offset-wrap 0 56 253 8398912
hdr-size-0 0 16 253 80
phase-id-8191 0 10344 253 a record
phase-id-60 0 10344 253 a record
lifecycle-id-99 0 - 253
counter-len2 0 10328 1 a record
alloc-len3 0 10304 252 a record
runtime-type-9 0 10328 1 a record
user-type-9 0 10328 1 a record
version-2 0 0 253 1
misaligned-offsets 0 48 253 10304
truncated-file 0 8398912 253 9447488
truncated-100 1 100 0 9447488
empty 1 0 0 a
END
is "$(ls "$TMP"/*.events | wc -l)" "$(ls tests/data/ocaml-corrupt/*.xz | wc -l)" "every damaged file is in the table"

# Several files: a line for each of the damaged ones.
"$O/ebtrace" --ocaml-version 5.3 "$TMP"/{version-2,lifecycle-id-99,hdr-size-0}.events >"$TMP/out" 2>"$TMP/err"
is "$(grep -c "damaged at byte" "$TMP/err")" 2 "each damaged file of several has its line"
grep -q 'damaged at byte' "$TMP/out"
ok $? "the text shows the damage at its place"
"$O/ebtrace" info --ocaml-version 5.3 --json "$TMP/tail-huge.events" >"$TMP/out" 2>/dev/null
is "$(jq .damaged "$TMP/out")" 2 "info counts the damage"
"$O/ebtrace" info --ocaml-version 5.3 "$TMP/tail-huge.events" >"$TMP/out" 2>"$TMP/err"
is "$(grep -cE '^  damage     2 places, at byte [0-9]+ [0-9]+$' "$TMP/out")" 1 "in text, too" || diag "$(cat "$TMP/out")"
"$O/ebtrace" -q --ocaml-version 5.3 -o "$TMP/out.ebt" "$TMP/tail-huge.events" 2>"$TMP/err"
is "$(grep -c 'damaged at byte.*; 1 more$' "$TMP/err")" 1 "the message says how many there are beside the first" ||
	diag "$(cat "$TMP/err")"
is "$("$O/ebtrace" info "$TMP/out.ebt" 2>/dev/null | grep -c '^  damage     2 places of what was traced')" 1 \
	"a capture of it has them as the damage of what was traced"
"$O/ebtrace" -q --ocaml-version 5.3 -o "$TMP/out.ebt" "$TMP/version-2.events" 2>"$TMP/err"
is "$("$O/ebtrace" info --json "$TMP/out.ebt" | jq -c '[.lost_events, .lost_words, .damaged]')" "[0,0,1]" "damage is no loss"
"$O/ebtrace" info --fail-on-loss "$TMP/out.ebt" >"$TMP/out"
is $? 3 "info --fail-on-loss: 3 for a capture of what was damaged"

# Headers of rings whose heads are behind their tails, a place of damage each.
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/heads"
for places in {1..9}; do
	printf '\005' | dd of="$TMP/heads" bs=1 seek=$((144 + 80 * places)) conv=notrunc status=none
	[ "$places" -ge 8 ] || continue
	"$O/ebtrace" info --ocaml-version 5.3 "$TMP/heads" >"$TMP/out" 2>"$TMP/err"
	is "$(grep '^  damage' "$TMP/out")" \
		"  damage     $places places, at byte $(seq -s ' ' 224 80 784)$([ "$places" = 8 ] || echo ' ...')" "info lists $places places, at most 8" ||
		diag "$(cat "$TMP/out")"
done
done_testing
