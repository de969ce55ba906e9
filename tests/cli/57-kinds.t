#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A kind that is one row of events.def, and that no code knows, is shown by every format with its
# arguments; so are the kinds that come from no ring. $O/kinds/ebtrace is the program with that row.
. tests/lib.sh
need_command jq
need_command protoc
need_command perl
ebt=$O/kinds/ebtrace
need_file "$ebt"
"$O/kinds/write_kinds" "$TMP/raw.ebt"
ok $? "a capture of such events is written"

# The comment of events.def, kinds.h and event_args.h say alike what a payload of arguments holds.
limit() { sed -n "s/^#define EVENT_ARGS_$1 *//p" user/session/event_args.h; }
numbered() { grep -o "KINDS_FIELD_$1[0-9]*,\$" user/session/kinds.h | wc -l; }
words=$(limit WORDS) texts=$(limit TEXTS)
is "$(numbered word) $(numbered text)" "$words $texts" "a payload has as many fields as it has words and names"
is "$(sed -n '/^ \*  *payload /,$s/^ \*  *args \((.*)\)$/\1/p' include/ebtrace/events.def)" \
	"($texts names of $(limit TEXT_BYTES) bytes, up to $words words of 64 bits)" \
	"the list of kinds says how much a payload of arguments holds"
is "$(sed -n 's/^ \*  *Of payload args: //p' include/ebtrace/events.def)" "word0 to word$((words - 1)), text0, text$((texts - 1))" \
	"and which fields it has"

# What every format must show: time, kind, arguments in the order of the row.
cat >"$TMP/want" <<'END'
1000 reading level=-5 sensor=0xc000100000 rank=7
1200 reading level=42 sensor=0xffffffffffffffff rank=4294967295 spare=9
1400 alloc obj=0 words=3 samples=1 source=minor common=0
1500 alloc obj=1 words=4096 samples=2 source=external common=12
1600 promote obj=0
1700 collect obj=1
1800 page_alloc addr=0xc000000000 pages=512
1900 page_free addr=0xc000002000 pages=1
2000 page_scavenge addr=0xc000000000 pages=64
END
others='map(select(.key | IN("ts", "kind", "domain", "pid") | not) | " \(.key)=\(.value)") | add'

"$ebt" -q "$TMP/raw.ebt" -o "$TMP/whole.ebt" 2>/dev/null
is $? 0 "a capture with a kind of one row is written anew"
"$ebt" -f ndjson "$TMP/whole.ebt" >"$TMP/lines"
command jq -r "select(.ts and (.kind | IN(\"begin\", \"end\") | not)) | \"\(.ts) \(.kind)\" + (to_entries | $others)" \
	"$TMP/lines" >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "NDJSON, and the capture that it was made from, have each argument"

"$ebt" "$TMP/whole.ebt" | sed -n 's/^\[ *0\.00000\([0-9]*\)\] 4711\/- *d[-0-9]* */\1 /p' |
	awk '$2 !~ /^(begin|end)$/ && !/ end minor/ { $1 += 1000; print }' >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "text"

"$ebt" -f chrome "$TMP/whole.ebt" | command jq -r \
	'.[] | select(.ph == "i") | "\(.ts * 1000) \(.name)" + (.args | to_entries | map(" \(.key)=\(.value)") | add)' >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "Chrome's JSON: instants with args"

"$ebt" -q -f fxt -o "$TMP/fxt" "$TMP/whole.ebt"
"$O/tests/prog/fxt_dump" "$TMP/fxt" | awk -F'\t' '$1 == "instant" && $5 != "ebtrace" {
	printf "%s %s", $2, $6; for (i = 7; i <= NF; i++) printf " %s", $i; print "" }' >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "Fuchsia's format: instants with arguments"

# An address is a pointer to Perfetto, which protoc prints in decimal digits; notes come sorted.
"$ebt" -q -f perfetto -o "$TMP/trace" "$TMP/whole.ebt"
protoc -I tests/perfetto --decode=perfetto.protos.Trace tests/perfetto/trace.proto <"$TMP/trace" |
	perl tests/perfetto/trace.pl >"$TMP/events"
is "$(grep -c '^!' "$TMP/events")" 0 "the Perfetto trace keeps the rules"
awk -F'\t' '$1 == "instant" && $4 != "summary" { printf "%s %s", $2, $4
	for (i = 6; i <= NF; i++) printf " %s", $i; print "" }' "$TMP/events" |
	perl -pe 's/\b(sensor|addr)=(\d+)/sprintf "%s=0x%x", $1, $2/ge' >"$TMP/got"
perl -lane 'print join " ", @F[0, 1], sort @F[2 .. $#F]' "$TMP/want" >"$TMP/sorted"
same_file "$TMP/got" "$TMP/sorted" "Perfetto: instants with notes"
is "$(awk -F'\t' '$4 == "reading" { print $3 }' "$TMP/events" | sort -u)" "4711/domain 0" "on the track of their domain"

# The filter, the counts, the list, the schema.
is "$("$ebt" -f ndjson -e reading "$TMP/whole.ebt" | jq -r 'select(.ts).kind' | uniq -c | tr -s ' ')" " 2 reading" \
	"-e passes it by its name"
is "$("$ebt" -f ndjson -e '!page_*' -e '!reading' "$TMP/whole.ebt" | jq -r 'select(.ts).kind' | uniq | paste -sd' ')" \
	"begin end alloc promote collect" "and drops kinds by a glob"
is "$("$ebt" info --json "$TMP/whole.ebt" | command jq -c .kinds)" \
	'{"begin":1,"end":1,"alloc":2,"promote":1,"collect":1,"page_alloc":1,"page_free":1,"page_scavenge":1,"reading":2}' \
	"info counts each kind"
is "$("$ebt" list --events --json | jq -r 'select(.name == "reading") | "\(.family): \(.help)"')" \
	"kind: a sensor was read" "list --events has it"
is "$("$ebt" --json-schema | jq -c '[(.oneOf[] | select(.properties.kind.const == "reading").required), .properties.sensor.type, .properties.level.type]')" \
	'[["ts","kind","domain","level","sensor","rank"],"string","integer"]' "the schema describes its line"
"$ebt" stat --json "$TMP/whole.ebt" >"$TMP/stat"
is "$? $(jq '.processes[0].pauses.count' "$TMP/stat")" "0 1" "stat ignores it"

# A program that does not know the kind counts what it cannot show.
is "$("$O/ebtrace" -f ndjson "$TMP/whole.ebt" 2>/dev/null | jq -c 'select(.kind == "summary") | [.events, .lost_events]')" \
	"[9,2]" "a program without the row prints how many events it does not know"
done_testing
