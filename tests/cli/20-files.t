#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every ring of a real OCaml program, through the whole command line, against what OCaml's own
# reader of that release printed: ring, time, kind, number, name and value of each event.
. tests/lib.sh
need_command jq
need_command xz

# The columns of a dump, ring by ring; the value of a lifecycle without data and the custom events
# that OCaml's reader had no decoder for are not compared. An event that was registered with an
# empty name gets one of its number.
columns='select(.ts != null) |
	if .kind == "lost" then [.domain, "-", "lost", "-", "lost_words", .words]
	elif .kind == "alloc_sizes" then [.domain, .ts, "alloc", "-", "alloc", (.values | map(tostring) | join(","))]
	elif .kind == "span_begin" or .kind == "span_end" then [.domain, .ts, "span", "-", .name, (.kind | ltrimstr("span_"))]
	elif .kind == "unit" or .kind == "int" then [.domain, .ts, .kind, "-", .name, .value // ""]
	elif .kind == "custom" then select(.name == "app.point" or .name == "app.str") | [.domain, .ts, .kind, "-", .name, .data]
	else [.domain, .ts, .kind, .id, .name, .value // ""] end | @tsv'
plain() {
	awk -F'\t' -v OFS='\t' '$3 == "lifecycle" && ($5 ~ /^ring_(stop|pause|resume)$/ || $6 == "none" ) { $6 = "" }
		$3 == "lifecycle" && $6 == "0" { $6 = "" } $3 == "alloc" { $4 = "-"; $5 = "alloc" }
		$3 == "unit" && $5 == "" { $5 = "user_7" } { print }' | sort -s -n -k1,1
}

for file in $RING_FILES; do
	name=${file#tests/data/}
	version=${name#ocaml-}
	xz -dc "$file" | "$O/ebtrace" -f ndjson --ocaml-version "${version%%/*}" - >"$TMP/out" 2>"$TMP/err"
	is $? 0 "$name is read from standard input"
	jq -r "$columns" "$TMP/out" | plain >"$TMP/got"
	xz -dc "${file%.events.xz}.dump.xz" | plain >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "$name: every event, as OCaml's reader sees it"
	is "$(cat "$TMP/err")" "" "$name: nothing to complain about"
done

# Several files at once, of which only the name tells the pid, and one that tells it itself.
xz -dc tests/data/ocaml-5.3.0/d-wrapped.events.xz >"$TMP/4711.events"
cp "$TMP/4711.events" "$TMP/4712.events"
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/4713.events"
"$O/ebtrace" -f ndjson --ocaml-version 5.3 "$TMP"/471[123].events >"$TMP/out"
is $? 0 "three files are read at once"
is "$(jq -r 'select(.ts != null and .kind != "lost").pid' "$TMP/out" | sort | uniq -c | awk '{ printf "%s:%s ", $2, $1 }')" \
	"23894:253 4711:463 4712:463 " "each event carries the pid in the file, or else the one in its name"
jq -es '[.[] | select(.ts != null).ts] | . == sort' "$TMP/out" >/dev/null
ok $? "the events of all files are in time order"
"$O/ebtrace" "$TMP/4711.events" >"$TMP/out" 2>"$TMP/err"
grep -q 'does not record which release' "$TMP/err"
ok $? "an OCaml file whose release is not named by an option is reported as a guess"
# A ring that has no room in memory waits in its file, and the others wait for it.
EBTRACE_START=1 EBTRACE_LOG_WSIZE=18 EBTRACE_PRESERVE=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q \
	-t 4 -n 60000 -c /dev/null
ring=$(echo "$TMP"/*.events | tr ' ' '\n' | grep -v '/471[123]\.events$')
"$O/ebtrace" -f ndjson "$ring" >"$TMP/want"
"$O/ebtrace" -f ndjson --buffer 64K "$ring" >"$TMP/out"
same_file "$TMP/out" "$TMP/want" "a small buffer changes nothing"
is "$(tail -1 "$TMP/out" | jq -c '[.late, .lost_events]')" "[0,0]" "and nothing is late or lost"
rm "$ring"

# Two runs that write to one file: neither takes the other's unfinished part for its own.
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/1.events"
mkfifo "$TMP/late"
"$O/ebtrace" -q -o "$TMP/both.txt" "$TMP/late" 2>"$TMP/err" &
first=$!
exec 9>"$TMP/late"
wait_for [ -e "$TMP/both.txt.part" ]
rm "$TMP/both.txt.part" && : >"$TMP/both.txt.part"
cat "$TMP/1.events" >&9
exec 9>&-
wait "$first"
is $? 1 "a part that somebody else replaced is an error"
[ ! -e "$TMP/both.txt" ] && grep -q "replaced" "$TMP/err"
ok $? "which is reported, and the part of the other does not get the name of the whole"
rm -f "$TMP/both.txt.part"

cp "$TMP/1.events" "$TMP/again.events"
"$O/ebtrace" "$TMP/1.events" "$TMP/again.events" 2>&1 >"$TMP/out" | grep -q "again.events' and an earlier file are both of process"
ok $? "two files of one process are reported: they share the names of user events"

done_testing
