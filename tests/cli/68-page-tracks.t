#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A heap's pages in timeline viewers: counters by state and of each P, against the trace's events.
. tests/lib.sh
need_command protoc
need_command perl
need_command jq
need_command xz
ebt=$O/ebtrace
data=tests/data/pagetrace

for name in gc-p4-go121 scav-freeos-go122; do
	trace=$TMP/$name.pt
	xz -dc "$data/$name.pt.xz" >"$trace"
	"$ebt" -q -o "$TMP/out.pftrace" "$trace" && "$ebt" -q -o "$TMP/out.json" "$trace" &&
		protoc -I tests/perfetto --decode=perfetto.protos.Trace tests/perfetto/trace.proto \
			<"$TMP/out.pftrace" >"$TMP/decoded" &&
		perl tests/perfetto/trace.pl <"$TMP/decoded" >"$TMP/lines"
	ok $? "$name becomes a trace that protoc decodes"
	# Allocated, free and scavenged pages behind the last event of each moment.
	xz -dc "$data/$name.merged.txt.xz" | perl -lane '
		print "$ts $n[0] $n[1] $n[2]" if defined $ts && $ts != $F[0];
		$ts = $F[0];
		my $to = $F[2] eq "ALLOC" ? 0 : $F[2] eq "FREE" ? 1 : 2;
		for my $page (map { hex($F[3]) / 8192 + $_ } 0 .. $F[4] - 1) {
			$n[$state{$page}]-- if exists $state{$page};
			$n[$state{$page} = $to]++;
		}
		END { print "$ts $n[0] $n[1] $n[2]" }' | sed 's/  / 0 /g; s/ $/ 0/' >"$TMP/all"
	awk -F'\t' '$1 == "counter" && $3 ~ /allocated pages/ { allocated = $5 }
		$1 == "counter" && $3 ~ /free pages/ { free = $5 }
		$1 == "counter" && $3 ~ /scavenged pages/ { print $2, allocated, free, $5 }' "$TMP/lines" >"$TMP/got"
	is "$(sort "$TMP/got" | comm -23 - <(sort "$TMP/all") | head -3)" "" \
		"$name: every value of the counters is right for its moment"
	is "$(tail -1 "$TMP/got")" "$(tail -1 "$TMP/all")" "$name: the last values are there"
	is "$(awk 'NR > 2 && $1 - before < 1000000 { n++ } { before = last; last = $1 }
		END { print n + 0 }' "$TMP/got")" 0 "$name: no more than two are in a millisecond"
	awk -F'\t' '$1 == "counter" && $3 ~ /allocated pages/ { if (NR > 1 && sum != want) bad++; want = $5; sum = 0 }
		$1 == "counter" && $3 ~ /allocated by P/ { sum += $5; n++ }
		END { exit bad || sum != want || !n }' "$TMP/lines"
	ok $? "$name: those of the Ps add up to all that are allocated"
	jq -r '.[] | select(.ph == "C") | [.name, .args.pages] | @tsv' "$TMP/out.json" >"$TMP/chrome"
	awk -F'\t' '$1 == "counter" { sub(/.*\//, "", $3); print $3 "\t" $5 }' "$TMP/lines" >"$TMP/perfetto"
	same_file "$TMP/chrome" "$TMP/perfetto" "$name: Chrome's format has the same values"
done
done_testing
