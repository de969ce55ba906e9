#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# stat over the rings of real OCaml programs of each release: its numbers against those that awk
# works out from the events of the same file, and its JSON against its schema.
. tests/lib.sh
need_command jq
need_command xz

"$O/ebtrace" stat --json-schema >"$TMP/schema"
is $? 0 "the schema is printed"
jq -e '."$schema" and (."$defs" | length > 5)' "$TMP/schema" >/dev/null
ok $? "it is a JSON Schema"
# wrong FILE...: a line "FILE: what" for each thing that is not as the schema says.
wrong() {
	jq -r --slurpfile s "$TMP/schema" \
		'$s[0] as $schema | ('"$(grep -v '^#' tests/stat-schema.jq)"') | "\(input_filename): \(.)"' "$@" 2>&1
}
valid() { is "$(wrong "$1")" "" "$2"; } # FILE "sentence"
columns='select(.ts) | [.domain, .ts, .kind, .name // "-", .value // .words // 0] | @tsv'
numbers='.processes[0] | "pauses \(.pauses.count)", "gc \(.gc_ns)", "max \(.pauses.max_ns // 0)", "min \(.pauses.min_ns // 0)",
	"minor \(.collections.minor)", "forced_minor \(.collections.forced_minor)", "forced_major \(.collections.forced_major)",
	"allocated \(.words.minor_allocated // 0)", "promoted \(.words.promoted // 0)",
	"lost \(.lost.words + .lost.history_words)",
	(.phases[] | "phase \(.name) \(.count) \(.total_ns) \(.self_ns) \(.max_ns)")'

# One jq for the reports of all files, which start with their names here.
report() { echo "$TMP/report-$(tr / - <<<"${1#tests/data/}").json"; }
reports=()
for file in $RING_FILES; do
	name=${file#tests/data/}
	version=${name#ocaml-}
	version=${version%%/*}
	xz -dc "$file" >"$TMP/ring"
	reports+=("$(report "$file")")
	"$O/ebtrace" stat --json --ocaml-version "$version" "$TMP/ring" >"${reports[-1]}" 2>"$TMP/err"
	is "$? $(cat "$TMP/err")" "0 " "$name: a report, and nothing to complain about"
	"$O/ebtrace" -f ndjson --ocaml-version "$version" "$TMP/ring" | jq -r "$columns" |
		awk -f tests/stat-truth.awk >"${reports[-1]%.json}.truth"
done
wrong "${reports[@]}" >"$TMP/invalid"
jq -r '(if [.processes[].domains[] | .gc_ns <= .elapsed_ns and .gc_percent <= 100 and .elapsed_ns >= 0] | all and length > 0
		then "time" else empty end),
	(if (.total | del(.wall_ns)) == (.processes[0] | del(.wall_ns, .pid, .comm, .producer, .domains)) then "total" else empty end),
	('"$numbers"') | "\(input_filename) \(.)"' "${reports[@]}" >"$TMP/numbers"

compared=0
for file in $RING_FILES; do
	name=${file#tests/data/}
	report=$(report "$file")
	truth=${report%.json}.truth
	is "$(grep -F "$report" "$TMP/invalid")" "" "$name: the JSON is valid by its schema"
	grep -qxF "$report time" "$TMP/numbers"
	ok $? "$name: no domain has more pause than time"
	grep -qxF "$report total" "$TMP/numbers"
	ok $? "$name: the total of one process is that process"
	sed -n "s|^$report ||p" "$TMP/numbers" | grep -vxE 'time|total' | sort >"$TMP/got"
	if grep -qx 'lost 0' "$truth" && grep -qx 'orphans 0' "$truth"; then
		grep -v '^orphans' "$truth" | sort >"$TMP/want"
		same_file "$TMP/got" "$TMP/want" "$name: pauses, collections, words and phases are those of its events"
		compared=$((compared + 1))
	else
		is "$(grep -E '^(lost|minor|promoted|allocated|forced)' "$TMP/got")" \
			"$(grep -E '^(lost|minor|promoted|allocated|forced)' "$truth" | sort)" \
			"$name: the counts are those of its events"
	fi
done
# shellcheck disable=SC2086
[ $((3 * compared)) -ge "$(printf '%s\n' $RING_FILES | wc -l)" ]
ok $? "a third of the rings have no holes, and were compared number by number ($compared)"

# Percentiles by nearest rank, of a ring whose pauses are few: the exact ones, within the error.
xz -dc tests/data/ocaml-5.3.0/h-reuse.events.xz >"$TMP/ring"
"$O/ebtrace" -f ndjson --ocaml-version 5.3 "$TMP/ring" | jq -r "$columns" |
	awk -v list=1 "$(sed 's/^\tpauses++$/\tpauses++; print "pause", len/' tests/stat-truth.awk)" | awk '$1 == "pause" { print $2 }' | sort -n >"$TMP/lengths"
"$O/ebtrace" stat --json --ocaml-version 5.3 "$TMP/ring" >"$TMP/json"
jq -r '.total.pauses.percentiles_ns | to_entries[] | "\(.key) \(.value)"' "$TMP/json" | awk '
	NR == FNR { v[++n] = $1; next }
	{ parts = int($1 * 10000 + 0.5) * n; want = v[(parts - parts % 1000000) / 1000000 + (parts % 1000000 > 0)]
	  off = $2 > want ? $2 - want : want - $2; seen++
	  if (off > want / 1000) { print $1 " %: " $2 ", exactly " want; bad = 1 } }
	END { if (seen != 18 || n < 30) { print "percentiles " seen ", pauses " n; bad = 1 }; exit bad }' "$TMP/lengths" - >"$TMP/bad"
ok $? "all percentiles are within 0.1 % of the exact ones" || diag "$(cat "$TMP/bad")"
jq -e '.processes[0].domains | map(select(.domain > 0)) | length == 2 and all(.elapsed_ns < 30000000)' "$TMP/json" >/dev/null
ok $? "slots that are used again and again have the time of their uses"

# Rings that wrapped.
xz -dc tests/data/ocaml-5.3.0/b-domains4.events.xz | "$O/ebtrace" stat --ocaml-version 5.3 - >"$TMP/text"
grep -q 'before the trace began: .*2280769 words' "$TMP/text"
ok $? "words that were overwritten before the trace are reported"
grep -qE 'cut, and not in the percentiles: 4 at the begin' "$TMP/text"
ok $? "a pause of which only the end is left is cut, one for each domain"

# The text, byte for byte; GOLDEN=rewrite (make golden) writes it anew.
for name in 5.1.1/b-domains4 5.3.0/d-wrapped 5.5.2/a-gcchurn; do
	golden=tests/golden/stat-$(tr / - <<<"$name").txt
	xz -dc "tests/data/ocaml-$name.events.xz" | "$O/ebtrace" stat --ocaml-version "${name%%/*}" - >"$TMP/text"
	[ "${GOLDEN:-}" = rewrite ] && cp "$TMP/text" "$golden"
	same_file "$TMP/text" "$golden" "$name: the report as text"
done

# What is left out of the text until -v asks for it.
xz -dc tests/data/ocaml-5.5.2/a-gcchurn.events.xz >"$TMP/ring"
"$O/ebtrace" stat "$TMP/ring" >"$TMP/text" 2>/dev/null
"$O/ebtrace" stat -v "$TMP/ring" >"$TMP/verbose" 2>/dev/null
is "$(sed -n 2p "$TMP/text")" "  GC took 65.84 % of the domains' 153.742 ms, in 20 pauses: half of them 2.246 ms at most, the longest 14.020 ms." \
	"the conclusion comes first"
is "$(grep -oE '^ +[0-9.]+ %' "$TMP/text" | tr -d ' \n')" "50.0%90.0%99.0%" "of five percentiles those stand there that are no longest pause again"
is "$(grep -cE '^ +[0-9.]+ %' "$TMP/verbose")" 10 "-v shows all, as long as they differ"
is "$(grep -c '14.020 ms$' <(grep -E '^ +[0-9.]+ %' "$TMP/verbose"))" 1 "the longest pause once"
sed -n '/^  phase /,$p' "$TMP/text" | sed '$d' >"$TMP/some"
sed -n '/^  phase /,$p' "$TMP/verbose" | sed '$d' >"$TMP/all"
head -11 "$TMP/all" >"$TMP/wanted" && echo "  ($(($(wc -l <"$TMP/all") - 11)) more with less time; -v shows them)" >>"$TMP/wanted"
same_file "$TMP/some" "$TMP/wanted" "the ten phases with the most time stand in the text, and how many others there are"

# The lines.
xz -dc tests/data/ocaml-5.3.0/a-gcchurn.events.xz >"$TMP/ring"
"$O/ebtrace" stat --json --interval 10ms --ocaml-version 5.3 "$TMP/ring" >"$TMP/lines"
valid "$TMP/lines" "every line is valid by the schema"
is "$(jq -s 'map(.at_ns - .begin_ns) | .[:-1] == [range(1; 7) * 10000000] and .[-1] > 60000000' "$TMP/lines")" true "65 ms have six lines of 10 ms, and the report"
"$O/ebtrace" stat --json --ocaml-version 5.3 "$TMP/ring" >"$TMP/report"
is "$(tail -1 "$TMP/lines" | jq -c 'del(.at_ns)')" "$(jq -c . "$TMP/report")" "the last one is the report without an interval"
jq -es '. as $all | all(range(1; length); $all[. - 1].total as $was | $all[.].total | .collections.minor >= $was.collections.minor and
	.gc_ns >= $was.gc_ns and .elapsed_ns > $was.elapsed_ns and .pauses.count >= $was.pauses.count and .words.minor_allocated >= $was.words.minor_allocated)
	and all(.[:-1][]; .total.wall_ns == .at_ns - .begin_ns and .total.elapsed_ns == .total.wall_ns)
	and any(.[:-1][]; .total.pauses.cut.end == 1)' "$TMP/lines" >/dev/null
ok $? "each is of all since the begin, with what is open cut there"
is "$("$O/ebtrace" stat --interval 10ms --ocaml-version 5.3 "$TMP/ring" | grep -cE '^ +0\.0[1-6]0 ')" 6 "as text, too"
is "$("$O/ebtrace" stat --blame --interval 1ms tests/data/capture/blame.ebt 2>/dev/null | grep -m1 -o 'open: .*')" \
	"open: a pause of 2.662 us so far, process 27650, domain 0, thread 27650, minor: 1.432 us on CPU, 1.230 us not known" \
	"a pause that is open has its thread, and what it was made of so far"

# Two processes, and both together.
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/11.events"
cp "$TMP/ring" "$TMP/12.events"
"$O/ebtrace" stat --json --ocaml-version 5.3 "$TMP"/1[12].events >"$TMP/json"
valid "$TMP/json" "two processes are valid by the schema"
jq -e '(.processes | length == 2) and ([.processes[].pauses.count] | add) == .total.pauses.count
	and ([.processes[].collections.minor] | add) == .total.collections.minor
	and ([.processes[].pauses.max_ns] | max) == .total.pauses.max_ns
	and ([.processes[].gc_ns] | add) == .total.gc_ns and .total.wall_ns >= ([.processes[].wall_ns] | max)' "$TMP/json" >/dev/null
ok $? "the total of two processes is what they are together"
is "$("$O/ebtrace" stat --ocaml-version 5.3 "$TMP"/1[12].events | grep -cE '^(Process|All 2 processes)')" 3 "as text, too"

# Files that are damaged: whatever they hold, a report that makes sense, or a refusal.
mkdir "$TMP/damaged"
for file in tests/data/ocaml-corrupt/*.events.xz; do
	xz -dc "$file" | timeout 300 "$O/ebtrace" stat --json --interval 1ms --ocaml-version 5.3 - >"$TMP/all" 2>/dev/null
	echo $? >"$TMP/damaged/${file##*/}.status"
	tail -1 "$TMP/all" >"$TMP/damaged/${file##*/}"
done
wrong "$TMP"/damaged/*.xz >"$TMP/invalid"
jq -r 'select([.processes[]?.domains[] | .gc_ns <= .elapsed_ns] | all) | input_filename' "$TMP"/damaged/*.xz >"$TMP/sane"
for file in "$TMP"/damaged/*.xz; do
	[ "$(cat "$file.status")" -le 1 ] && { [ ! -s "$file" ] || grep -qxF "$file" "$TMP/sane"; }
	ok $? "${file##*/}: no more pause than time" || diag "status $(cat "$file.status")" "$(head -c 300 "$file")"
	[ ! -s "$file" ] || is "$(grep -F "$file" "$TMP/invalid")" "" "${file##*/}: valid by the schema"
done

xz -dc tests/data/ocaml-corrupt/tail-huge.events.xz | "$O/ebtrace" stat --json --ocaml-version 5.3 - 2>/dev/null >"$TMP/json"
is "$(jq .processes[0].wall_ns "$TMP/json")" 1137827 "damage, which has no time, does not make a run longer"

# A phase that no table knows.
xz -dc tests/data/ocaml-corrupt/phase-id-60.events.xz >"$TMP/ring"
"$O/ebtrace" stat --ocaml-version 5.3 "$TMP/ring" >"$TMP/text" 2>/dev/null
grep -q 'unknown: phases that are in no table, taken as pauses' "$TMP/text"
ok $? "a phase that is in no table is reported to count as a pause"

# Where the report goes, and what stat refuses.
"$O/ebtrace" stat -o "$TMP/report" --ocaml-version 5.3 "$TMP/ring" >"$TMP/out" 2>/dev/null
is "$? $(wc -c <"$TMP/out") $(test -s "$TMP/report" && echo report)" "0 0 report" "-o writes the report to a file"
"$O/ebtrace" stat -o "$TMP/report.json" --ocaml-version 5.3 "$TMP/ring" 2>/dev/null
"$O/ebtrace" stat --json --ocaml-version 5.3 "$TMP/ring" >"$TMP/want" 2>/dev/null
same_file "$TMP/report.json" "$TMP/want" "and as JSON, if it has that suffix"
"$O/ebtrace" stat -o "$TMP/report.pftrace" "$TMP/ring" 2>/dev/null
is "$? $(test -e "$TMP/report.pftrace" || echo none)" "2 none" "under a name of another format there is no report"
"$O/ebtrace" stat -- sh -c 'echo mine' >"$TMP/out" 2>"$TMP/err"
is "$(cat "$TMP/out")" mine "a program's own output has stdout for itself"
"$O/ebtrace" stat >/dev/null 2>"$TMP/err"
is $? 2 "no input is a usage error"
"$O/ebtrace" stat -f ndjson "$TMP/ring" 2>"$TMP/err"
is "$? $(cat "$TMP/err")" "2 ebtrace: stat has no format 'ndjson'; it has: text, json, svg" "a format of events is refused"
"$O/ebtrace" stat --interval 1ns "$TMP/ring" 2>/dev/null
is $? 2 "an interval below a millisecond is refused"

# Counters are sums: what needs events is refused.
counters() {
	"$O/ebtrace" "$@" --mode counters 2>"$TMP/err" >/dev/null
	echo "$? $(sed 's/.*--mode counters/--mode counters/; s/;.*//' "$TMP/err")"
}
is "$(counters trace -p 1)" "2 --mode counters has sums and no events: it is for ebtrace stat and ebtrace top" "trace refuses --mode counters"
for command in mem pages list info; do
	is "$(counters $command -p 1 | head -c 2)" "2 " "$command refuses --mode counters"
done
for option in --blame --mmu --stack --snapshot; do
	is "$(counters stat -p 1 $option)" "2 --mode counters has sums and no events: it excludes --blame, --mmu, --stack and --snapshot" \
		"stat $option refuses it, too"
done
for option in -eminor --domain=1 -t1; do
	is "$(counters stat -p 1 $option)" "2 --mode counters counts all events: it excludes --event, --domain and --tid" \
		"and so does stat $option"
done
is "$(counters stat "$TMP/ring")" "2 ebtrace: --mode needs processes that run: -p PID, or -- PROGRAM" "a file has no counters"

"$O/ebtrace" stat "$TMP/none" >"$TMP/out" 2>/dev/null
is "$? $(wc -c <"$TMP/out")" "1 0" "a file that is not there has no report"
done_testing
