#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Rings of real Eio programs: every event as Eio's own decoder prints it, and in the formats of timelines every fiber,
# context and span, what the fiber did in between, and the arrows, as tests/eio-fibers.pl works them out of that.
. tests/lib.sh
need_command xz
need_command protoc

# by_fiber: lines "FIBER what begin end" or "FIBER arrow TIME" of a timeline, one row after the other, adjacent
# intervals of one state as one; in: row, type (B, E, X, s, f), time, name, end, fiber or "-", kind.
by_fiber() {
	perl -ne '
		chomp;
		my ($row, $type, $ts, $name, $end, $fiber, $kind, $cut) = split /\t/;
		my $r = $rows{$row} //= {open => []};
		$cut = ($cut // "") eq "" ? 0 : 1;
		if ($type eq "B") {
			$r->{fiber} = $fiber if $fiber ne "-";
			push @{$r->{open}}, [$fiber ne "-" ? "fiber" : "$kind $name", $ts];
		} elsif ($type eq "E") {
			my $top = pop @{$r->{open}} or print "! an end without a begin\n";
			push @out, [$r->{fiber}, @$top, $cut ? "-" : $ts];
		} elsif ($type eq "X") {
			$name =~ s/^suspended: /suspended /;
			$name = "suspended " if $name eq "suspended";
			push @out, [$r->{fiber}, $name, $ts, $cut ? "-" : $end];
		} elsif ($type eq "f") {
			push @out, [$r->{fiber}, "arrow", $ts, ""];
		}
		END { print map { join("\t", @$_) . "\n" } @out }'
}
# Adjacent intervals as one, in an order of their own.
joined() {
	LC_ALL=C sort -t"$(printf '\t')" -k1,1n -k2,2 -k3,3n | awk -F'\t' -v OFS='\t' '
		$2 ~ /^(running|ready|suspended .*)$/ && $1 == f && $2 == w && $3 == e { e = $4; next }
		NR > 1 { print f, w, b, e }
		{ f = $1; w = $2; b = $3; e = $4 }
		END { print f, w, b, e }' | LC_ALL=C sort
}
of_chrome() {
	jq -r '.[] | select(.cat == "fiber" and .ph != "i") | [.tid, .ph, .ts, .name, (.dur // 0), (.args.fiber // "-"),
		(if .args.context != null then "context" else "span" end), .args.cut] | @tsv' "$1" >"$TMP/chrome.tsv"
	# Times in the file are µs with three digits, which a double does not hold.
	grep -o '^{"ph":"[BEXsf]","name":.*"cat":"fiber".*' "$1" |
		perl -ne 'my ($ts) = /"ts":(\d+\.\d+)/; my ($dur) = /"dur":(\d+\.\d+)/; $dur //= "0.000"; s/\.// for $ts, $dur;
			print "$ts\t", $ts + $dur, "\n"' >"$TMP/times"
	# A cut slice has its reason in an instant before its end.
	jq -r '.[] | select(.cat == "fiber") | [.ph, (.args.cut // "")] | @tsv' "$1" |
		awk -F'\t' -v OFS='\t' '$1 == "i" { cut = $2; next } { print $2 != "" ? $2 : cut; cut = "" }' >"$TMP/cuts"
	paste "$TMP/chrome.tsv" "$TMP/times" "$TMP/cuts" | awk -F'\t' -v OFS='\t' '{ print $1, $2, $9, $4, $10, $6, $7, $11 }' |
		by_fiber
}
of_fxt() {
	"$O/tests/prog/fxt_dump" "$1" | awk -F'\t' -v OFS='\t' '$5 == "fiber" && $1 != "instant" {
		split("", a)
		for (i = 7; i <= NF; i++) { n = index($i, "="); a[substr($i, 1, n - 1)] = substr($i, n + 1) }
		type = $1 == "begin" ? "B" : $1 == "end" ? "E" : $1 == "complete" ? "X" : $1 == "flow_end" ? "f" : "s"
		print $4, type, $2, $6, a["end"], "fiber" in a ? a["fiber"] : "-", "context" in a ? "context" : "span", a["cut"]
	}' | by_fiber
}
of_perfetto() {
	protoc -I tests/perfetto --decode=perfetto.protos.Trace tests/perfetto/trace.proto <"$1" | perl tests/perfetto/trace.pl | awk -F'\t' -v OFS='\t' '
		$3 !~ /\/fibers [0-9]+$/ || $1 == "track" { next }
		{ split("", a) }
		{ for (i = 6; i <= NF; i++) { n = index($i, "="); a[substr($i, 1, n - 1)] = substr($i, n + 1) } }
		$1 == "begin" && ($4 ~ /^(running|ready|suspended(: .*)?)$/) { leaf[$3] = 1; name[$3] = $4; begin[$3] = $2
			if ("terminating_flow_ids" in a) arrow[$3] = $2; next }
		$1 == "end" && leaf[$3] { print $3, "X", begin[$3], name[$3], $2, "-", "", a["cut"]; leaf[$3] = 0
			if ($3 in arrow) print $3, "f", arrow[$3], "put", "", "-"; delete arrow[$3]; next }
		$1 == "begin" { print $3, "B", $2, $4, "", "fiber" in a ? a["fiber"] : "-", "context" in a ? "context" : "span", "" }
		$1 == "end" { print $3, "E", $2, "", "", "-", "", a["cut"] }' | by_fiber
}

for name in reqs1 reqs2 net wrapped; do
	ring=$TMP/$name.events
	xz -dc "tests/data/eio/$name.events.xz" >"$ring"
	"$O/ebtrace" -q -f ndjson --ocaml-version 5.3 "$ring" >"$TMP/ndjson"
	jq -r -f tests/eio-dump.jq "$TMP/ndjson" | LC_ALL=C sort -s -n -k1,1 >"$TMP/got"
	xz -dc "tests/data/eio/$name.dump.xz" | LC_ALL=C sort -s -n -k1,1 >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "$name: every event is what Eio's decoder prints"
	! grep -q '"name":"eio\.[^}]*"data"' "$TMP/ndjson"
	ok $? "$name: no event of Eio is shown as bytes"
	tests/eio-fibers.pl <"$TMP/want" | joined >"$TMP/fibers"
	for format in chrome fxt perfetto; do
		"$O/ebtrace" -q -f $format --ocaml-version 5.3 "$ring" >"$TMP/$format"
		of_$format "$TMP/$format" | joined >"$TMP/got"
		same_file "$TMP/got" "$TMP/fibers" "$name: $format shows every fiber, context, span, state and arrow of it"
	done
	"$O/ebtrace" -q -o "$TMP/$name.ebt" --ocaml-version 5.3 "$ring"
	for format in text ndjson chrome fxt perfetto; do
		"$O/ebtrace" -q -f $format --ocaml-version 5.3 "$ring" >"$TMP/want"
		"$O/ebtrace" -q -f $format "$TMP/$name.ebt" >"$TMP/got"
		same_file "$TMP/got" "$TMP/want" "$name: $format of a capture is that of the ring"
	done
done
is "$("$O/ebtrace" -q --ocaml-version 5.3 -e 'eio.*' "$TMP/net.events" | sed -n '4,6p;10,12p;16p' | sed 's/.*d0 *//; s/ns  //')" \
	"custom eio.create_cc context=2 type=switch
custom eio.name of=2 text=main
custom eio.create_cc context=3 type=switch
custom eio.enter_span span=server
custom eio.suspend_fiber operation=
int eio.fiber fiber=1
span_begin eio.suspend_domain" "text shows names, operations and ids"
"$O/ebtrace" --json-schema >"$TMP/schema"
is "$(jq -c '[.properties | .fiber, .context, .operation, .object]' "$TMP/schema")" \
	'[{"type":"integer"},{"type":"integer"},{"type":"string"},{"type":"integer"}]' "the schema of NDJSON has them"
done_testing
