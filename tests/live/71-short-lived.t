#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Short OCaml programs without a ring, behind wrappers and shells: each collection is counted, or the
# time in which it was missed is shown.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root
ocaml_build_here gcstat

minors() { jq -s 'map(select(.kind == "begin" and .name == "minor")) | length' "$1"; }
holes() { jq -s 'map(select(.kind == "lost" and .history and (has("events")|not) and .since < .ts)) | length' "$1"; }

"$O/ebtrace" --fail-on-loss -f ndjson -o "$TMP/one" -- env -i "$EXE" 1 500 >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -c 'nothing was traced' "$TMP/err")" "0 0" "a program that lives for 0.3 s, behind env -i, is traced" ||
	diag "$(cat "$TMP/err")"
own=$(awk '$1 == "minor" { print $2 }' "$TMP/out")
got=$(minors "$TMP/one")
[ "$got" = "$own" ] || { [ "$got" -lt "$own" ] && [ "$(holes "$TMP/one")" -gt 0 ]; }
ok $? "its minor collections are those that the runtime counts, or a hole is shown" || diag "$got of $own"
is "$(holes "$TMP/one")" 1 "the time before it could be held is a hole, as history"
jq -es 'map(select(.kind == "lost"))[0] as $hole | map(select(.kind == "begin"))[0].ts >= $hole.ts' \
	"$TMP/one" >/dev/null
ok $? "the hole lies before the first event"

ends_with 0 "$O/ebtrace" stat --json -o "$TMP/stat.json" -- env -i "$EXE" 1 500 >"$TMP/out" 2>"$TMP/err"
jq -e '[.processes[] | select(.comm == "gcstat")] as [$p] | $p.lost.unwatched_ns > 0 and $p.coverage_percent < 100 and
	($p.coverage_percent - 100 * (1 - $p.lost.unwatched_ns / $p.elapsed_ns) | fabs) < 0.001 and
	$p.domains[0].coverage_percent < 100 and .total.coverage_percent < 100' "$TMP/stat.json" >/dev/null
ok $? "and missing in the coverage that stat reports, by as much as it lasted" ||
	diag "$(jq -c '.total, .processes[] | [.comm, .elapsed_ns, .coverage_percent, .lost]' "$TMP/stat.json")" "$(cat "$TMP/err")"

ends_with 0 "$O/ebtrace" -q -o "$TMP/one.ebt" -- env -i "$EXE" 1 20 >"$TMP/out"
is "$("$O/ebtrace" info --json "$TMP/one.ebt" | jq '.unwatched_ns > 0')" true "info of a capture prints the time of the hole"

# With its ring switched on by the environment it is left to its ring.
ends_with 0 "$O/ebtrace" stat --json -o "$TMP/stat.json" -- "$EXE" 1 500 >"$TMP/out" 2>"$TMP/err"
is "$(jq -c '[.processes[].coverage_percent, .total.coverage_percent]' "$TMP/stat.json")" "[100,100]" \
	"a program that is started with its ring is covered from begin to end"
ends_with 0 "$O/ebtrace" -v -f ndjson -o "$TMP/ring" -- "$EXE" 1 500 >"$TMP/out" 2>"$TMP/err"
is "$(minors "$TMP/ring") $(holes "$TMP/ring")" "$(awk '$1 == "minor" { print $2 }' "$TMP/out") 0" \
	"and has no hole"

# 200 children, one after the other and four at a time.
cat >"$TMP/children" <<END
for i in \$(seq 50); do
	for j in 1 2 3 4; do env -i "$EXE" 1 20 >"$TMP/stat.\$i.\$j" & done
	wait
done
END
ends_with 0 "$O/ebtrace" -f ndjson -o "$TMP/many" -- sh "$TMP/children" 2>"$TMP/err"
own=$(cat "$TMP"/stat.* | awk '$1 == "minor" { n += $2 } END { print n }')
got=$(minors "$TMP/many")
diag "$got of $own collections, $(holes "$TMP/many") holes"
is "$(cat "$TMP"/stat.* | grep -c '^minor ')" 200 "200 short children run to their ends"
jq -r 'select(.kind == "begin" and .name == "minor").pid' "$TMP/many" | sort | uniq -c |
	awk '{ print $2, $1 }' >"$TMP/seen"
jq -r 'select(.kind == "lost").pid' "$TMP/many" | sort -u >"$TMP/told"
per=$(awk '$1 == "minor" { print $2; exit }' "$TMP/stat.1.1")
jq -r 'select(.kind == "process" and .change == "exec").pid' "$TMP/many" | sort -u >"$TMP/execs"
awk -v per="$per" 'FILENAME ~ /told/ { told[$1] = 1; next } $2 < per && !told[$1] { bad = 1; print "#", $0 }
	END { exit bad }' "$TMP/told" "$TMP/seen"
ok $? "each whose collections were not all counted has its hole"
[ "$got" = "$own" ] || [ "$(awk 'END { print NR }' "$TMP/told")" -ge "$((200 - $(wc -l <"$TMP/seen")))" ]
ok $? "and so has each of which nothing was seen"

# Programs run as they would without us.
ends_with 0 "$O/ebtrace" -q -f ndjson -o "$TMP/t" -- sh -c "env -i $EXE 1 20 & wait \$!; echo status \$?" >"$TMP/out" 2>/dev/null
is "$(tail -1 "$TMP/out")" "status 0" "a shell gets its child's status"
ends_with 0 "$O/ebtrace" -q -f ndjson -o "$TMP/t" -- sh -c "env -i sh -c 'kill -TERM \$\$; exit 3'; echo status \$?" >"$TMP/out" 2>/dev/null
is "$(tail -1 "$TMP/out")" "status 143" "and its signal"
"$O/ebtrace" -q -f ndjson -o "$TMP/t" -- "$O/tests/prog/debugger" "$EXE" 1 20 >"$TMP/out" 2>/dev/null
is "$? $(tail -1 "$TMP/out")" "0 debugged to its end: 0" "a debugger in the tree works"

# 100 with their rings on, some of which have ended before they are looked into.
"$O/ebtrace" -f ndjson -o "$TMP/many" -- sh -c "for i in \$(seq 100); do '$EXE' 1 1 >/dev/null; done" 2>"$TMP/err"
is "$? $(grep -c 'does not record which release' "$TMP/err")" "0 0" "the release of a ring is known, also of a program that has ended" ||
	diag "$(grep -m1 'does not record' "$TMP/err")"
done_testing
