#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Sampled allocations in timeline viewers: live and promoted bytes as counters, and the sites that
# allocated most, against the NDJSON of the same traces.
. tests/lib.sh
need_command protoc
need_command perl
need_command jq
need_command xz
ebt=$O/ebtrace

for name in single external; do
	trace=$TMP/$name.ctf
	xz -dc tests/data/memtrace/$name.ctf.xz >"$trace"
	"$ebt" -q -o "$TMP/out.pftrace" "$trace" && "$ebt" -q -o "$TMP/out.json" "$trace" &&
		protoc -I tests/perfetto --decode=perfetto.protos.Trace tests/perfetto/trace.proto \
			<"$TMP/out.pftrace" >"$TMP/decoded" &&
		perl tests/perfetto/trace.pl <"$TMP/decoded" >"$TMP/lines"
	ok $? "$name becomes a trace that protoc decodes"
	is "$(grep '^!' "$TMP/lines" | head -5)" "" "$name: its slices nest, each with its end"
	word_bytes=$("$ebt" info --json "$trace" | jq '.word_bits / 8 / .sample_rate')
	# kind, ts, object, samples, innermost function of each event
	"$ebt" -q -f ndjson "$trace" | jq -r 'select(.obj != null) | [.kind, .ts, .obj, .samples // 0,
		((.stack // ["?"])[-1] | sub(":[0-9:-]*$"; ""))] | @tsv' >"$TMP/events"
	# Live and promoted bytes behind the last event of each moment.
	awk -F'\t' -v bytes="$word_bytes" '
		$2 != ts && NR > 1 { printf "%s %d %d\n", ts, live * bytes, promoted * bytes }
		{ ts = $2 }
		$1 == "alloc" { live += $4; of[$3] = $4 }
		$1 == "promote" { promoted += of[$3] }
		$1 == "collect" { live -= of[$3]; delete of[$3] }
		END { printf "%s %d %d\n", ts, live * bytes, promoted * bytes }' "$TMP/events" >"$TMP/all"
	awk -F'\t' '$1 == "counter" && $3 ~ /live bytes/ { ts = $2; live = $5 }
		$1 == "counter" && $3 ~ /promoted bytes/ { print ts, live, $5 }' "$TMP/lines" >"$TMP/got"
	sort "$TMP/all" | uniq >"$TMP/sorted"
	is "$(sort "$TMP/got" | comm -23 - "$TMP/sorted" | head -3)" "" \
		"$name: every value of the counters is right for its moment"
	is "$(tail -1 "$TMP/got")" "$(tail -1 "$TMP/all")" "$name: the last value is there"
	is "$(awk 'NR > 2 && $1 - before < 1000000 { n++ } { before = last; last = $1 }
		END { print n + 0 }' "$TMP/got")" 0 "$name: no more than two are in a millisecond"
	jq -r '.[] | select(.ph == "C") | [.name, .args.bytes] | @tsv' "$TMP/out.json" >"$TMP/chrome"
	awk -F'\t' '$1 == "counter" { sub(/.*\//, "", $3); print $3 "\t" $5 }' "$TMP/lines" >"$TMP/perfetto"
	same_file "$TMP/chrome" "$TMP/perfetto" "$name: Chrome's format has the same values"

	"$ebt" mem hotspots --json --top 10 "$trace" 2>/dev/null | jq '.sites[].bytes' >"$TMP/want"
	sed -n 's/^begin.*biggest allocation sites.*\tbytes=\([0-9]*\) .*/\1/p; s/^begin.*biggest allocation sites.*\tbytes=\([0-9]*\)\t.*/\1/p' \
		"$TMP/lines" >"$TMP/sites"
	same_file "$TMP/sites" "$TMP/want" "$name: the biggest sites have their bytes"
	jq -r '.[] | select(.ph == "X") | .args.bytes' "$TMP/out.json" >"$TMP/chrome"
	same_file "$TMP/chrome" "$TMP/want" "$name: in Chrome's format, too"
done
grep -qE 'biggest allocation sites.[0-9.]+ [KM]?i?B \([0-9.]+ %\) ' "$TMP/lines"
ok $? "a site is shown with its bytes and its share"
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/ring.events"
is "$("$ebt" -q -f chrome "$TMP/ring.events" | jq -r '.[] | select(.cat == "memory") | .name')" "" \
	"a trace without allocations has none of it"
done_testing
