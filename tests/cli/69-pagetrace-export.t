#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Page traces written from page events: what Go wrote comes back event by event, also by way of a capture.
. tests/lib.sh
need_command xz
ebt=$O/ebtrace
data=tests/data/pagetrace

events() { "$ebt" trace -q -f ndjson "$1" 2>"$TMP/log" | grep '"kind":"page_'; }
same=0
for path in "$data"/*.pt.xz; do
	name=$(basename "$path" .pt.xz)
	xz -dc "$path" >"$TMP/in.pt"
	[ -s "$TMP/in.pt" ] || continue
	"$ebt" trace -q "$TMP/in.pt" -o "$TMP/out.ebt" 2>"$TMP/log"
	"$ebt" trace -q "$TMP/out.ebt" -f pagetrace >"$TMP/again.pt" 2>"$TMP/log"
	events "$TMP/in.pt" >"$TMP/in"
	events "$TMP/again.pt" >"$TMP/again"
	same_file "$TMP/again" "$TMP/in" "$name: by way of a capture it has the same events"
	"$ebt" trace -q "$TMP/in.pt" -o "$TMP/out.pt" 2>"$TMP/log"
	events "$TMP/out.pt" >"$TMP/again"
	same_file "$TMP/again" "$TMP/in" "$name: so it has written directly"
	cmp -s "$TMP/in.pt" "$TMP/out.pt" && same=$((same + 1))
	"$ebt" pages damage --json "$TMP/in.pt" 2>"$TMP/log" | tr ',' '\n' | grep 'double\|scavenged\|has_boot\|untracked' >"$TMP/in"
	"$ebt" pages damage --json "$TMP/out.pt" 2>"$TMP/log" | tr ',' '\n' | grep 'double\|scavenged\|has_boot\|untracked' >"$TMP/again"
	same_file "$TMP/again" "$TMP/in" "$name: and the same contradictions"
done
[ $same -gt 0 ]
ok $? "where the blocks are in the order of P, all bytes are the same"

xz -dc "$data/light-go122.pt.xz" >"$TMP/light.pt"
"$ebt" pages "$TMP/light.pt" -o "$TMP/pages.pt" 2>"$TMP/err" && "$ebt" pages "$TMP/light.pt" -o "$TMP/pages.ebt" 2>>"$TMP/err"
ok $? "pages writes the events, too" || diag "$(cat "$TMP/err")"
events "$TMP/light.pt" >"$TMP/want"
events "$TMP/pages.pt" >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "as a page trace"
events "$TMP/pages.ebt" >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "and as a capture"
"$ebt" trace -q -e page_alloc "$TMP/light.pt" -o "$TMP/some.pt" 2>"$TMP/log"
events "$TMP/some.pt" >"$TMP/got"
grep page_alloc "$TMP/want" >"$TMP/some"
same_file "$TMP/got" "$TMP/some" "-e selects what is written"
"$ebt" info "$TMP/pages.pt" 2>"$TMP/log" | grep -qi 'page trace'
ok $? "info recognises it" || diag "$("$ebt" info "$TMP/pages.pt")"
xz -dc tests/data/memtrace/single.ctf.xz >"$TMP/single.ctf" 2>"$TMP/log" ||
	xz -dc "$(ls tests/data/memtrace/*.ctf.xz | head -1)" >"$TMP/single.ctf"
"$ebt" trace -q "$TMP/single.ctf" -o "$TMP/none.pt" 2>"$TMP/log" && [ -e "$TMP/none.pt" ] && [ ! -s "$TMP/none.pt" ]
ok $? "without page events it is empty" || diag "$(cat "$TMP/log")"
if [ -c /dev/full ]; then
	"$ebt" trace -q "$TMP/light.pt" -f pagetrace >/dev/full 2>"$TMP/err"
	is $? 1 "a full disk is an error"
fi
"$ebt" pages heat -f pagetrace "$TMP/light.pt" >"$TMP/out" 2>"$TMP/err"
is $? 2 "which reports can be written so is said"
grep -q "pages heat has no format 'pagetrace'; it has: text, json" "$TMP/err"
ok $? "with what else there is" || diag "$(cat "$TMP/err")"

done_testing
