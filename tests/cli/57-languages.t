#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A language without a ring is one row of data: its phases, with ids of their own, are shown by name and
# counted as the row says. $O/languages/ebtrace is the program with that row.
. tests/lib.sh
need_command jq
ebt=$O/languages/ebtrace
need_file "$ebt"
"$O/languages/write_moth" "$TMP/raw.ebt"
ok $? "a capture of such a program is written"

"$ebt" -q "$TMP/raw.ebt" -o "$TMP/whole.ebt" 2>/dev/null
is "$("$ebt" -f ndjson "$TMP/whole.ebt" | jq -r 'select(.kind == "begin") | "\(.id) \(.name)"' | uniq | paste -sd,)" \
	"100 moth_collect,102 moth_mark,100 moth_collect,101 moth_stop,103 moth_meet,104 phase_104" "phases have names"
is "$("$ebt" -f ndjson "$TMP/whole.ebt" | jq -r 'select(.kind == "header").producer')" "moth 1.2.9" "and the program its producer"
is "$("$ebt" -f ndjson -e 'moth_m*' "$TMP/whole.ebt" | jq -r 'select(.ts).name' | sort -u | paste -sd' ')" "moth_mark moth_meet" \
	"-e selects them"
is "$("$ebt" list --events --json | jq -r 'select(.name | startswith("moth_")) | "\(.name) \(.help)"' | paste -sd,)" \
	"moth_collect stops its domain,moth_stop stops its process,moth_mark does not stop its domain,moth_meet stops its domain" \
	"list --events has them, and whose mutator they stop"

"$ebt" stat --json --blame "$TMP/whole.ebt" >"$TMP/stat"
is "$(jq -c '[.processes[0].phases[] | [.name, .stops, .count, .total_ns]]' "$TMP/stat")" \
	'[["moth_collect",true,2,500],["moth_stop",true,1,500],["moth_mark",false,1,1000],["moth_meet",true,2,800],["unknown",true,1,10]]' \
	"stat has a row for each"
is "$(command jq -c '.processes[0] | [.pauses.count, .collections]' "$TMP/stat")" \
	'[6,{"minor":2,"major":1,"forced_minor":0,"forced_major":1,"compactions":0,"compactions_requested":0}]' \
	"pauses and collections are counted by what phases are"
is "$(jq -c '.blame.longest[0] | [.phase, .parts_ns.domain, .waited_for.domain, .waited_for.ns]' "$TMP/stat")" \
	'["moth_meet",600,1,600]' "at a barrier the others wait for the last one"

# A program that does not know the language shows numbers, and takes all for pauses.
is "$("$O/ebtrace" -f ndjson "$TMP/whole.ebt" | jq -r 'select(.kind == "begin").name' | sort -u | paste -sd' ')" \
	"phase_100 phase_101 phase_102 phase_103 phase_104" "without the row they have numbers"
done_testing
