#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# stat --mmu over the rings of real OCaml programs: windows against those that awk sums up of the events of the same file,
# as text, JSON and picture.
. tests/lib.sh
need_command jq
need_command xz

"$O/ebtrace" stat --json-schema >"$TMP/schema"
valid() { # FILE "sentence"
	is "$(jq -r --slurpfile s "$TMP/schema" '$s[0] as $schema | ('"$(grep -v '^#' tests/stat-schema.jq)"')' "$1" 2>&1)" "" "$2"
}
# Without holes, a recording that pauses, and domains that come again.
for name in ocaml-5.1.1/b-domains4 ocaml-5.3.0/a-gcchurn ocaml-5.3.0/g-instr ocaml-5.3.0/f-fork-parent ocaml-5.5.2/a-gcchurn ocaml-5.5.2/e-bytecode; do
	version=${name%%/*}
	version=${version#ocaml-}
	xz -dc "tests/data/$name.events.xz" >"$TMP/ring"
	"$O/ebtrace" stat --mmu --json --ocaml-version "$version" "$TMP/ring" >"$TMP/json" 2>"$TMP/err"
	is "$? $(cat "$TMP/err")" "0 " "$name: a report, and no message"
	valid "$TMP/json" "$name: valid by the schema"
	jq -r '.processes[].domains[] | .domain as $d | .mmu[] | select(.least_percent != null) | [$d, .window_ns, .least_percent] | @tsv' "$TMP/json" |
		awk '{ printf "%d %d %.6f\n", $1, $2, $3 }' | sort >"$TMP/got"
	"$O/ebtrace" -f ndjson --ocaml-version "$version" "$TMP/ring" | jq -r 'select(.ts) | [.domain, .ts, .kind, .name // "-"] | @tsv' |
		awk -v runs="$(jq -r '[.total.phases[] | select(.stops | not).name] | join(" ")' "$TMP/json")" -f tests/stat-mmu.awk | sort >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "$name: each window of each domain is that of the events"
	[ -s "$TMP/want" ]
	ok $? "$name: it has windows"
	is "$(jq -c '[.processes[] | select(.domains | length == 1) | .mmu == .domains[0].mmu] | all' "$TMP/json")" true "$name: a process with one domain has those of its domain"
	is "$(jq -c '[.processes[] | (., .domains[]) | .mmu as $m | range(9) | {a: $m[.], b: $m[. + 1]} | select(.b.window_ns == 2 * .a.window_ns and .b.least_percent != null) |
		.b.least_percent >= .a.least_percent] | all' "$TMP/json")" true "$name: a window that is twice as long has no less of it"
	is "$(jq -c 'del(.processes[] | .mmu, .mmu_within_ns, .domains[].mmu, .domains[].mmu_within_ns)' "$TMP/json")" "$("$O/ebtrace" stat --json --ocaml-version "$version" "$TMP/ring" | jq -c .)" \
		"$name: all else is as without"
done

xz -dc tests/data/ocaml-5.1.1/b-domains4.events.xz >"$TMP/ring"
"$O/ebtrace" stat --mmu --ocaml-version 5.1 "$TMP/ring" >"$TMP/text"
sed -n '/least share/,/^$/p' "$TMP/text" >"$TMP/table"
golden=tests/golden/stat-mmu-5.1.1-b-domains4.txt
[ "${GOLDEN:-}" = rewrite ] && cp "$TMP/table" "$golden"
same_file "$TMP/table" "$golden" "the text has a row for the process and each domain"
"$O/ebtrace" stat --ocaml-version 5.1 "$TMP/ring" | diff - <(sed '/least share/,/^$/d' "$TMP/text") >"$TMP/diff"
is "$(cat "$TMP/diff")" "" "and is as without --mmu but for that"

# Each document of a run has all windows up to it: no share grows.
"$O/ebtrace" stat --mmu --json --interval 10ms --ocaml-version 5.1 "$TMP/ring" >"$TMP/lines"
valid "$TMP/lines" "lines of an interval are valid by the schema"
is "$(jq -cs '[.[].processes[0].mmu] as $m | [range(1; $m | length) as $i | range(10) as $w | $m[$i - 1][$w].least_percent as $was |
	$was == null or $m[$i][$w].least_percent <= $was] | length > 50 and all' "$TMP/lines")" true "with time the least share of no window grows"
is "$(tail -1 "$TMP/lines" | jq -c .processes)" "$("$O/ebtrace" stat --mmu --json --ocaml-version 5.1 "$TMP/ring" | jq -c .processes)" "the last one has the report's"

# The picture.
"$O/ebtrace" stat --mmu -f svg --ocaml-version 5.1 "$TMP/ring" >"$TMP/svg"
is "$? $(grep -c 'class="curve' "$TMP/svg") $(grep -c 'class="curve whole"' "$TMP/svg")" "0 4 1" "a picture has a curve for the process and each domain"
"$O/ebtrace" stat --mmu -o "$TMP/mmu.svg" --ocaml-version 5.1 "$TMP/ring"
same_file "$TMP/mmu.svg" "$TMP/svg" "so it has in a file with that suffix"
if command -v xmllint >/dev/null; then
	xmllint --noout "$TMP/svg"
	ok $? "it is XML"
fi
points=$(sed -n 's/.*class="curve whole".* d="\([^"]*\)".*/\1/p' "$TMP/svg" | tr ML '\n\n' | grep -c ' ')
is "$points" "$("$O/ebtrace" stat --mmu --json --ocaml-version 5.1 "$TMP/ring" | jq '[.processes[0].mmu[] | select(.least_percent != null)] | length')" \
	"its curve has a point for each window that there is"
xz -dc tests/data/ocaml-5.3.0/a-gcchurn.events.xz >"$TMP/11.events"
xz -dc tests/data/ocaml-5.3.0/g-instr.events.xz >"$TMP/12.events"
"$O/ebtrace" stat --mmu -f svg --ocaml-version 5.3 "$TMP"/1[12].events >"$TMP/svg"
is "$(grep -c 'class="curve"' "$TMP/svg")" 2 "several processes have a curve each"

i=20
for name in tests/data/ocaml-5.3.0/*.events.xz; do
	xz -dc "$name" >"$TMP/$i.events"
	i=$((i + 1))
done
"$O/ebtrace" stat --mmu --ocaml-version 5.3 "$TMP"/[23]?.events >"$TMP/text"
is "$(grep -c 'least share of the mutator' "$TMP/text") $("$O/ebtrace" stat --ocaml-version 5.3 "$TMP"/[23]?.events | grep -c 'by process')" "$((i - 20)) 1" \
	"each of many processes has a table, which without are shown by program"
"$O/ebtrace" stat --mmu --json tests/data/capture/wrapped.ebt >"$TMP/json" 2>"$TMP/err"
valid "$TMP/json" "of a capture with losses: valid by the schema"
is "$(jq -c '[.processes[] | (., .domains[]) | .elapsed_ns as $t | .mmu[] | select(.least_percent != null and .window_ns > $t)]' "$TMP/json")" "[]" \
	"it has no window that is longer than the time"
is "$(jq -c '[.processes[] | (., .domains[]) | .mmu_within_ns] | unique' "$TMP/json")" "[0]" "where no edge of a pause was dropped all is exact"

for wrong in "--mmu --by program" "-f svg" "--mmu -f svg --interval 1s" "--mmu -f svg --blame"; do
	# shellcheck disable=SC2086
	"$O/ebtrace" stat $wrong --ocaml-version 5.1 "$TMP/ring" >"$TMP/out" 2>"$TMP/err"
	is "$? $(wc -c <"$TMP/out") $(wc -l <"$TMP/err")" "2 0 1" "$wrong is refused"
done
done_testing
