#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make demo`: minigc in four threads for about two seconds, traced; the first events in time
# order, the summary, and whether every event that it emitted was delivered or reported as lost.
set -u
O=${O:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

echo "== minigc, 4 domains, 2 s, traced by: ebtrace trace --mode auto"
"$O/ebtrace" trace -v --mode auto -f ndjson -o "$tmp/out.ndjson" -- \
	"$O/tests/prog/minigc" -t 4 -s 2 -r 20000 -u -v -c "$tmp/counts" 2>&1 | sed 's/^/   /'
[ "${PIPESTATUS[0]}" -eq 0 ] || { echo "demo: ebtrace failed" >&2; exit 1; }

echo "== the timeline of all domains, merged (30 events from the middle)"
lines=$(wc -l <"$tmp/out.ndjson")
tail -n +$((lines / 2)) "$tmp/out.ndjson" | head -30 | jq -r '[.ts, .domain // "-", .kind,
	.name // "", (.value // .data // "" | tostring | .[0:24])] | @tsv' | awk -F'\t' '
	{ printf "%14s.%s  domain %-2s %-11s %-30s %s\n", substr($1, 1, length($1) - 9),
		substr($1, length($1) - 8), $2, $3, $4, $5 }'
echo "== the summary"
tail -1 "$tmp/out.ndjson"

echo "== emitted by the program = delivered + lost?"
awk '{ n[$2] += $3 } END { for (k in n) print k, n[k] }' "$tmp/counts" | sort >"$tmp/emitted"
jq -r 'select(.ts != null) | .kind' "$tmp/out.ndjson" | sort | uniq -c |
	awk '{ print $2, $1 }' >"$tmp/delivered"
lost=$(jq -s 'map(select(.kind == "summary") | .lost_events) | add // 0' "$tmp/out.ndjson")
awk -v lost="$lost" '
	FNR == NR { got[$1] = $2; next }
	{
		printf "%-12s emitted %8d   delivered %8d\n", $1, $2, got[$1]
		emitted += $2; delivered += got[$1]
		if (!lost && $2 != got[$1]) bad = 1
	}
	END {
		printf "%-12s emitted %8d   delivered %8d   lost %d\n", "all", emitted, delivered, lost
		if (emitted != delivered + lost) bad = 1
		print bad ? "NOT equal" : "equal"
		exit bad
	}' "$tmp/delivered" "$tmp/emitted"
