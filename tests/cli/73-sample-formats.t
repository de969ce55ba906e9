#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Samples in every format of events: Perfetto has them as samples of their threads, others as events with
# their stacks. What NDJSON has is what all have.
. tests/lib.sh
need_command jq
need_command protoc
need_command perl
ebt=$O/ebtrace

for name in laps-new ocaml-mixed; do
	file=tests/data/profile/$name.ebt
	"$ebt" -q "$file" -o "$TMP/lines.ndjson"
	jq -r 'select(.kind == "sample") | [.ts, "\(.pid)/\(.tid)", if .kernel then "MODE_KERNEL" else "MODE_USER" end, .cpu,
		({cut: "MEMORY_INVALID", unread: "MEMORY_INVALID", leaf: "UNWIND_INFO", call: "UNWIND_INFO", gap: "UNWIND_INFO"}[.ends] // "-"),
		((.stack // []) | map(sub("@.*"; "") | sub("^\\$"; "\\$")) | join(";"))] | @tsv' "$TMP/lines.ndjson" | sort >"$TMP/want"
	"$ebt" -q "$file" -o "$TMP/trace.pftrace"
	protoc -I tests/perfetto --decode=perfetto.protos.Trace tests/perfetto/trace.proto <"$TMP/trace.pftrace" >"$TMP/decoded" &&
		perl tests/perfetto/trace.pl <"$TMP/decoded" >"$TMP/trace"
	is "$? $(grep -c '^!' "$TMP/trace")" "0 0" "$name: the Perfetto trace keeps the rules, and each frame has a mapping" ||
		diag "$(grep '^!' "$TMP/trace" | head -3)"
	perl -F'\t' -lane 'next if $F[0] ne "sample"; my %n = map { split /=/ } @F[5 .. $#F];
		my $stack = join ";", map { s/@.*//r } split /; /, $F[4];
		print join "\t", @F[1, 2, 3], $n{cpu}, ($n{unwind_error} // "-") =~ s/UNWIND_ERROR_//r, $stack' "$TMP/trace" | sort >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "$name: it has each sample with its thread, CPU, mode, stack, and why that is not whole"
	is "$(awk -F'\t' '$1 == "instant" && $4 == "sample"' "$TMP/trace" | wc -l)" 0 "$name: and no instant besides"
	samples=$(jq -r 'select(.kind == "sample") | .ts' "$TMP/lines.ndjson" | wc -l)
	"$ebt" -q -f chrome -o "$TMP/chrome.json" "$file"
	jq -r 'select(.kind == "sample") | [.ts, .period_ns, .ends, ((.stack // []) | reverse | join(";"))] | @tsv' "$TMP/lines.ndjson" >"$TMP/want"
	sed 's/"ts":\([0-9]*\)\.\([0-9]\{3\}\),/"ts":\1\2,/' "$TMP/chrome.json" |
		jq -r '.[] | select(.name == "sample") | [.ts, .args.period_ns, .args.ends, (.args.stack // "" | if type == "array" then join(";") else gsub("\n"; ";") end)] | @tsv' >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "$name: Chrome's JSON has them as events with their stacks"
	is "$("$ebt" "$file" | grep -c ' sample period=')" "$samples" "$name: text"
	"$ebt" -q -o "$TMP/again.ebt" "$file"
	is "$("$ebt" profile --json "$TMP/again.ebt" | jq -c .sections | cksum)" "$("$ebt" profile --json "$file" | jq -c .sections | cksum)" \
		"$name: a capture of a capture has the same profile"
done
is "$(awk -F'\t' '$1 == "sample"' "$TMP/trace" | wc -l)/$(grep -c UNWIND_ERROR "$TMP/trace")" "503/9" "some stacks of the last are not whole"
# The sections of the profile, from the events alone.
"$ebt" -q tests/data/profile/ocaml-mixed.ebt -e sample -o "$TMP/alone.pftrace"
protoc -I tests/perfetto --decode=perfetto.protos.Trace tests/perfetto/trace.proto <"$TMP/alone.pftrace" | perl tests/perfetto/trace.pl >"$TMP/alone"
is "$(cut -f1 "$TMP/alone" | sort | uniq -c | awk '$2 == "sample" { print $1 }')" 503 "-e sample selects them"
done_testing
