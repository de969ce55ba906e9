#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The reports of mem on memtrace traces, against what memtrace's own tools print of them.
. tests/lib.sh
need_command xz
ebt=$O/ebtrace
data=tests/data/memtrace
for path in $data/*.ctf.xz; do
	xz -dc "$path" >"$TMP/$(basename "$path" .xz)"
done
mem() { "$ebt" mem "$@" 2>"$TMP/log"; }

# Each caller's line with its site's: memtrace prints callers of equal numbers in any order.
with_site() { awk '/ at /{ site = $0 } { print / via /? site $0 : $0 }' | sort; }
for name in single longbt external fork multidomain wrongpid; do
	mem hotspots --top 100000 "$TMP/$name.ctf" | tests/mem-hotspots.sh >"$TMP/got"
	xz -dc "$data/$name.hotspots.xz" | grep -v '^skipping' >"$TMP/want"
	grep ' at ' "$TMP/got" >"$TMP/got.sites"
	grep ' at ' "$TMP/want" >"$TMP/want.sites"
	same_file "$TMP/got.sites" "$TMP/want.sites" \
		"$name: hotspots names the sites of memtrace's own tool, in its order, with its percentages"
	with_site <"$TMP/got" >"$TMP/got.callers"
	with_site <"$TMP/want" >"$TMP/want.callers"
	same_file "$TMP/got.callers" "$TMP/want.callers" "$name: and its totals and callers"
done
mem hotspots "$TMP/single.ctf" >"$TMP/want"
cat "$TMP/single.ctf" | mem hotspots - >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "a trace is read from a pipe"
"$ebt" -q -o "$TMP/copy.ebt" "$TMP/single.ctf"
shares() { sed -n 's/.* \([0-9.]* %\)/\1/p'; }
mem hotspots "$TMP/copy.ebt" | shares >"$TMP/got"
shares <"$TMP/want" >"$TMP/shares"
same_file "$TMP/got" "$TMP/shares" "a capture of a trace has the same sites"
mem -o "$TMP/got" "$TMP/single.ctf"
same_file "$TMP/got" "$TMP/want" "-o names the file of the report"
is "$(mem hotspots --top 2 "$TMP/single.ctf" | grep -c ' (.*:.*)$')" 2 "--top limits the sites"

# Sampled at 1 of 8 words; the samples of one allocation are 2^40.
mem hotspots "$TMP/synth.ctf" >"$TMP/got"
is $? 0 "a trace with large numbers has a report"
grep -q '64.0 TiB allocated (64.0 TiB to 64.0 TiB)' "$TMP/got"
ok $? "it adds them up" || diag "$(head -3 "$TMP/got")"

# Loss and damage.
(head -c 98312 "$TMP/single.ctf"; printf garbage; tail -c +98313 "$TMP/single.ctf") >"$TMP/bad.ctf"
mem hotspots "$TMP/bad.ctf" >"$TMP/got"
is $? 0 "a damaged trace has a report"
grep -q '^Not all is counted: [1-9][0-9]* places of the input are damaged' "$TMP/got"
ok $? "which says so" || diag "$(head -3 "$TMP/got")"
"$ebt" -q "$TMP/single.ctf" -e promote -e '!promote' -o "$TMP/empty.ctf" 2>/dev/null
is "$(mem "$TMP/empty.ctf")" "No allocations in this recording; memtrace traces and captures of them have some." \
	"of a recording without allocations one line says so"
mem "$TMP/none.ctf" >"$TMP/got"
is $? 1 "a file that is missing is an error"
done_testing
