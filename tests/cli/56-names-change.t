#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# More names than any table holds, and names that change in the middle of a capture: every format
# calls each event as it was called at its time, and a span by one name from begin to end.
. tests/lib.sh
need_command jq
need_file "$O/tests/attack/many_names"
dump=$O/tests/prog/fxt_dump

"$O/tests/attack/many_names" "$TMP/names.ebt" >"$TMP/truth"
is "$? $(($(wc -l <"$TMP/truth") > 6000))" "0 1" "a capture of more than 6,000 names is forged"
"$O/ebtrace" -f ndjson "$TMP/names.ebt" >"$TMP/ndjson" 2>"$TMP/err"
is "$? $(cat "$TMP/err")" "0 " "it is read"
jq -r 'select(.ts != null) | [.ts, .kind, .name] | @tsv' "$TMP/ndjson" >"$TMP/got"
same_file "$TMP/got" "$TMP/truth" "NDJSON: each event is called as it was at its time"
"$O/ebtrace" "$TMP/names.ebt" | sed -n 's/^[^a-z]*d0 *\([0-9.]* [nmu]*s  *\)\{0,1\}\([a-z]\)/\2/p' |
	sed 's/ = [-0-9]*$//; s/^\([a-z_]*\) /\1\t/' >"$TMP/got"
cut -f2,3 "$TMP/truth" >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "text: the same"

# Through a capture of our own.
"$O/ebtrace" -q -o "$TMP/again.ebt" "$TMP/names.ebt" && "$O/ebtrace" -f ndjson "$TMP/again.ebt" >"$TMP/got"
same_file "$TMP/got" "$TMP/ndjson" "a capture that is made of it yields the same"
for format in text chrome fxt perfetto; do
	"$O/ebtrace" -f $format "$TMP/names.ebt" >"$TMP/1.$format"
	"$O/ebtrace" -f $format "$TMP/again.ebt" >"$TMP/2.$format"
	same_file "$TMP/2.$format" "$TMP/1.$format" "and becomes the same $format"
done

# What a viewer shows: a span has one name, that of its begin or of the span around it.
awk -F'\t' -v OFS='\t' '
	$2 == "span_begin" { if (!depth++) name = $3; print $1, "span_begin", name; next }
	$2 == "span_end" { depth--; print $1, "span_end", name; next }
	{ print }' "$TMP/truth" | sed 's/\t\(unit\|int\|lifecycle\)\t/\tinstant\t/' >"$TMP/want"
jq -r '{B: "begin", E: "end", b: "span_begin", e: "span_end", C: "counter", i: "instant"} as $kind |
	.[] | select(.ph != "M") | [(.ts * 1000 | round), $kind[.ph], .name] | @tsv' "$TMP/1.chrome" >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "Chrome: each event has its name, each span one"
"$dump" "$TMP/1.fxt" >"$TMP/dump"
is $? 0 "FXT: all records are valid, with its table of strings full"
is "$(grep -c '^string' "$TMP/dump")" "$(grep '^string' "$TMP/dump" | cut -f3 | sort -u | wc -l)" \
	"FXT: no string is in the table twice"
perl tests/fxt-order.pl <"$TMP/dump" |
	awk -F'\t' -v OFS='\t' '$5 != "ebtrace" && /^(instant|counter|begin|end|async_begin|async_end)\t/ {
		sub(/^async_/, "span_"); print $2, $1, $6 }' | sort >"$TMP/got"
sort "$TMP/want" >"$TMP/sorted"
same_file "$TMP/got" "$TMP/sorted" "FXT: each event has its name, each span one"
if command -v protoc >/dev/null; then
	strings "$TMP/1.perfetto" >"$TMP/strings"
	missing=0
	while read -r name; do grep -qF "$name" "$TMP/strings" || missing=$((missing + 1)); done \
		< <(cut -f3 "$TMP/truth" | sort -u | tail -400)
	is $missing 0 "Perfetto: no name is missing"
fi
done_testing
