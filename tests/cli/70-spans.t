#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Spans of files: those of real Eio programs against what Eio's own decoder prints, with each part of each of them;
# which spans patterns select, what is counted beside them, and the JSON against its schema.
. tests/lib.sh
need_command xz
need_command jq
ebt=$O/ebtrace

spans() { "$ebt" spans -q --json --ocaml-version 5.3 --top 100000 "$@"; }
wrong() {
	# shellcheck disable=SC2016
	jq -r --slurpfile s "$TMP/schema" '$s[0] as $schema | '"$(grep -v '^#' tests/stat-schema.jq)" "$@" 2>&1
}
"$ebt" spans --json-schema >"$TMP/schema"
is $? 0 "the schema is printed"

# adds_up FILE: what of a report does not add up.
adds_up() {
	jq -c '(.spans[] | ., .slowest_hundredth | select(.total_ns != ([.parts[].ns] | add // 0))),
		(.slowest[] | select(.ns != ([.parts[].ns] | add // 0) or
			(.in_order_more == 0 and .ns != ([.in_order[].ns] | add // 0))))' "$1"
}
for name in reqs1 reqs2 net wrapped; do
	ring=$TMP/$name.events
	xz -dc "tests/data/eio/$name.events.xz" >"$ring"
	xz -dc "tests/data/eio/$name.dump.xz" | LC_ALL=C sort -s -n -k1,1 | tests/eio-fibers.pl | tests/eio-spans.pl | LC_ALL=C sort >"$TMP/want"
	spans "$ring" >"$TMP/$name.json"
	jq -r '.slowest[] | [.fiber, .name, .begin_ns, .ns, ([.parts[] | select(.part == "ready").ns] | add // 0),
		([.parts[] | select(.part == "suspended") | "\(.of // "")=\(.ns)"] | sort | join(","))] | @tsv' "$TMP/$name.json" |
		LC_ALL=C sort >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "$name: every span with its fiber, its length, and how long it was ready and suspended in which operation"
	[ -s "$TMP/got" ]
	ok $? "$name: there are some"
	is "$(adds_up "$TMP/$name.json")" "" "$name: parts add up to each span, to all, to the slowest, to the nanosecond"
	is "$(jq '[.spans[].count] | add' "$TMP/$name.json")" "$(wc -l <"$TMP/want")" "$name: as many are counted"
	is "$(jq '[.spans[].total_ns] | add' "$TMP/$name.json")" "$(awk -F'\t' '{ s += $4 } END { printf "%.0f", s }' "$TMP/want")" \
		"$name: and all of their time"
	is "$(wrong "$TMP/$name.json" | head -3)" "" "$name: the report follows its schema"
	"$ebt" -q -o "$TMP/$name.ebt" --ocaml-version 5.3 "$ring"
	"$ebt" spans -q --json --top 100000 "$TMP/$name.ebt" >"$TMP/again"
	same_file "$TMP/again" "$TMP/$name.json" "$name: of a capture of it the report is the same"
	"$ebt" spans -q --json --top 100000 "$TMP/$name.ebt" >"$TMP/again"
	same_file "$TMP/again" "$TMP/$name.json" "$name: and once more"
done
# Fibers: all of them with an end whose begin is in the ring.
for name in reqs1 reqs2 net; do
	xz -dc "tests/data/eio/$name.dump.xz" | LC_ALL=C sort -s -n -k1,1 | tests/eio-fibers.pl | tests/eio-spans.pl fibers | LC_ALL=C sort >"$TMP/want"
	spans --fibers "$TMP/$name.events" >"$TMP/fibers"
	jq -r '.slowest[] | [.fiber, .begin_ns + .ns, ([.parts[] | select(.part | IN("ready", "suspended") | not).ns] | add // 0),
		([.parts[] | select(.part == "suspended") | "\(.of // "")=\(.ns)"] | sort | join(","))] | @tsv' "$TMP/fibers" |
		LC_ALL=C sort >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "$name: every fiber, how long it ran, and was suspended in which operation"
	is "$(adds_up "$TMP/fibers")" "" "$name: parts of fibers add up"
	is "$(jq -c '.spans[] | ([.suspended_while[]] | add) - ([.parts[] | select(.part == "suspended").ns] | add // 0) | select(. != 0)' "$TMP/fibers")" "" \
		"$name: what domains did while fibers were suspended adds up to that time"
	is "$(wrong "$TMP/fibers" | head -3)" "" "$name: their report follows the schema"
	is "$(jq '. as $r | [.domains[] | .fibers_ns] | add <= ([$r.spans[].parts[] | select(.part | IN("ready", "suspended") | not).ns] | add)' "$TMP/fibers")" true \
		"$name: domains run fibers no longer than these run"
done
spans --fibers "$TMP/reqs1.events" >"$TMP/fibers"
is "$(jq -c '[.spans[] | [.name, .count]] | sort' "$TMP/fibers")" '[["(no name)",1],["request",20],["resolver",1],["server",1]]' \
	"fibers are called by their outermost spans, else by the names of their contexts"
is "$(jq -c '.domains | map([.domain, .slept_ns > 50000000, .collected_ns, .scheduler_ns > 0])' "$TMP/fibers")" '[[0,true,202952,true]]' \
	"a domain runs fibers, is the scheduler's, is in a pause, or sleeps"
is "$(jq -c '.spans[] | select(.name == "server").suspended_while | [.unknown_ns, .collected_ns, .slept_ns > 50000000]' "$TMP/fibers")" "[0,202952,true]" \
	"a fiber that waits for all others is suspended while its domain is in each pause, and while it sleeps"
is "$(spans --fibers 'req*' "$TMP/reqs1.events" | jq -c '[.spans[].name]')" '["request"]' "a pattern selects fibers by these names"
spans --fibers "$TMP/wrapped.events" >"$TMP/fibers"
is "$(adds_up "$TMP/fibers") $(jq '[.spans[] | .open_at_begin] | add > 70' "$TMP/fibers")" " true" \
	"of fibers whose begin is not in the ring that what is in it counts"
"$ebt" spans -q --fibers tests/data/capture/probes.ebt >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -c 'there were no fibers' "$TMP/err")" "4 1" "a program without fibers has none"

# The collections of these rings, in the spans of the fibers that ran then.
is "$(jq -c '[.spans[] | select(.name == "allocate").parts[] | select(.part == "collected") | [.of, .ns > 100000]] | first' "$TMP/reqs1.json")" \
	'["stw_leader",true]' "time in collections is collected, by the phase of the pause"
jq -e '[.spans[].parts[] | select(.part == "running")] | length == 0' "$TMP/reqs1.json" >/dev/null
ok $? "nothing is said to run where nobody recorded when threads ran"
"$ebt" spans -q "$TMP/reqs1.events" | grep -q 'a recording has it with: sudo ebtrace --blame'
ok $? "a line says what would record it"

# Which spans.
names() { jq -c '[.spans[].name] | sort' "$1"; }
spans 're*' "$TMP/reqs1.events" >"$TMP/re"
is "$(names "$TMP/re")" '["request","resolver"]' "a pattern selects spans by their names"
spans 're*' 'sle*' "$TMP/reqs1.events" >"$TMP/two"
is "$(names "$TMP/two")" '["request","resolver","sleep"]' "so do two"
spans minor "$TMP/reqs1.events" >"$TMP/minor"
is "$(jq -c '.spans[] | [.name, .is_phase, .count]' "$TMP/minor")" '["minor",true,2]' "one that matches no span selects phases"
is "$(adds_up "$TMP/minor")" "" "their parts add up"
spans 'm*' request "$TMP/reqs1.events" >"$TMP/both"
is "$(jq -r '.spans[].is_phase' "$TMP/both" | sort | uniq -c | awk '{ print $2 }' | paste -sd' ')" "false true" "spans and phases may be asked for together"
spans 's*' "$TMP/reqs1.events" >"$TMP/s"
is "$(names "$TMP/s")" '["sleep"]' "a pattern that matches a span selects no phase that it matches, too"
is "$(jq -r '.slowest[].name' "$TMP/s" | sort -u)" sleep "nor is one among the slowest"
"$ebt" spans -q 'no*' "$TMP/reqs1.events" >"$TMP/out" 2>"$TMP/err"
is "$? $(wc -c <"$TMP/out")" "4 0" "where nothing matches the status is 4, and there is no report"
grep -q 'names were: request, sleep, compute, allocate, await, resolver$' "$TMP/err"
ok $? "and the names that were seen are listed" || diag "$(cat "$TMP/err")"
"$ebt" spans -q --json 'no*' "$TMP/reqs1.events" 2>/dev/null | jq -e '.spans == [] and .slowest == []' >/dev/null
ok $? "as JSON it is a report without spans"
"$ebt" spans -q "$TMP/no-such-file" >"$TMP/out" 2>"$TMP/err"
is $? 1 "a last word that is no file is a file that is missing"
"$ebt" spans 'req*' >"$TMP/out" 2>"$TMP/err"
is "$? $(wc -c <"$TMP/out")" "1 0" "also if it looks like a pattern"
"$ebt" spans -U a:b "$TMP/reqs1.events" >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -c -- '--marker needs processes that run' "$TMP/err")" "2 1" "markers are asked for of processes that run"
is "$("$ebt" spans -q --json --top 3 "$TMP/reqs2.events" | jq -c '[.slowest | length, (map(.ns) | . == (sort | reverse))]')" "[3,true]" \
	"--top keeps as many of the slowest, the slowest first"
is "$("$ebt" spans -q --json --top 3 "$TMP/reqs2.events" | jq -c '[.slowest[].ns]')" "$(jq -c '[.slowest[:3][].ns]' "$TMP/reqs2.json")" \
	"they are the slowest of all"

# By program or process: the same spans, with that in their names. A ring of OCaml has no name of its program.
for by in program process; do
	for what in "" --fibers; do
		# shellcheck disable=SC2086
		spans $what --by $by "$TMP/reqs1.events" >"$TMP/by"
		# shellcheck disable=SC2086
		spans $what "$TMP/reqs1.events" >"$TMP/plain"
		is "$(jq -c '[.spans[] | [(.name | sub(" of a program without a name( \\([0-9]+\\))?$"; "")), .count, .total_ns]] | sort' "$TMP/by")" \
			"$(jq -c '[.spans[] | [.name, .count, .total_ns]] | sort' "$TMP/plain")" "${what:-spans}: --by $by has the same sums"
		jq -e --arg by $by 'all(.spans[]; .name | test(if $by == "process" then " \\([0-9]+\\)$" else " name$" end))' "$TMP/by" >/dev/null
		ok $? "${what:-spans}: each name has the $by"
	done
done
"$ebt" spans --by thread "$TMP/reqs1.events" >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -c "unknown --by 'thread'; known: program, process" "$TMP/err")" "2 1" "spans have no other groups"
for rest in "-p 1" "-- true" "--no-follow" "--ring-request always"; do
	# shellcheck disable=SC2086
	"$ebt" spans -a $rest >"$TMP/out" 2>"$TMP/err"
	is "$? $(wc -c <"$TMP/out") $(grep -c '^ebtrace: -a traces ' "$TMP/err")" "2 0 1" "-a $rest is refused"
done

# At an interval: what hangs, against all spans of the file and the percentiles of each report.
spans "$TMP/reqs2.events" >"$TMP/whole"
spans --interval 20ms "$TMP/reqs2.events" >"$TMP/lines"
is "$(jq -s 'length' "$TMP/lines")" "$(($(jq '.wall_ns / 20000000 | floor' "$TMP/whole") + 1))" "a report at each interval, and the last one"
is "$(jq -s -c 'map([.spans[].count] | add // 0) | . == sort and .[-1] > 100' "$TMP/lines")" true "each with what has ended so far"
is "$(jq -c --slurpfile all "$TMP/whole" '.at_ns as $at | (.spans | map({key: .name, value: .}) | from_entries) as $of |
	([$all[0].slowest[] | select(.begin_ns < $at and .begin_ns + .ns > $at) | ($of[.name] // {count: 0}) as $n | ($at - .begin_ns) as $ns |
		select(if $n.count > 0 then $ns > $n.p99_ns else $ns > 20000000 end) | [.fiber, .name, .begin_ns, $ns, $n.p99_ns]] | sort) as $want |
	([.hung[] | [.fiber, .name, .begin_ns, .ns, .p99_ns]] | sort) as $got | select($got != $want) | [$at, $got, $want]' "$TMP/lines")" "" \
	"those hang that are open for longer than the 99th percentile of their name, exactly"
is "$(jq -s '[.[].hung[]] | length > 20' "$TMP/lines")" true "there are some"
is "$(jq -s -c '[.[] | .hung | map(.ns) | select(. != (sort | reverse))]' "$TMP/lines")" "[]" "the longest first"
head -1 "$TMP/lines" >"$TMP/line"
is "$(wrong "$TMP/line" | head -3)" "" "a report at an interval follows the schema"
jq -c 'del(.at_ns, .hung)' <(tail -1 "$TMP/lines") >"$TMP/last"
is "$(cat "$TMP/last")" "$(jq -c . "$TMP/whole")" "the last one has what a report without intervals has"
"$ebt" spans -q --interval 20ms --top 2 "$TMP/reqs2.events" >"$TMP/text"
is "$(sed -n '4,6p' "$TMP/text")" "     0.040 s  34 spans ended, 35 open, 14 hung
      hung for 29.100 ms: request (p99 29.038 ms), process 890, domain 1, fiber 1033
      hung for 29.095 ms: request (p99 29.038 ms), process 890, domain 1, fiber 1034" "as text a line has the numbers, and --top of the longest follow"
for form in "--fibers" "-f folded" "-f svg"; do
	# shellcheck disable=SC2086
	"$ebt" spans --interval 20ms $form "$TMP/reqs2.events" >"$TMP/out" 2>"$TMP/err"
	is "$? $(grep -c -- '--interval is of spans, as text or JSON' "$TMP/err")" "2 1" "--interval $form is refused"
done

# As a flame graph.
"$ebt" spans -q -f folded --ocaml-version 5.3 "$TMP/reqs1.events" >"$TMP/folded"
is "$(awk '{ s += $NF } END { printf "%.0f", s }' "$TMP/folded")" "$(jq '[.spans[].total_ns] | add' "$TMP/reqs1.json")" \
	"folded lines have all of the time"
grep -qx 'request;suspended;in Stream.add [0-9]*' "$TMP/folded"
ok $? "a line is a name, a kind of parts, and which"
"$ebt" spans -q -o "$TMP/spans.svg" "$TMP/reqs1.events"
is "$? $(grep -c '<title>.*request' "$TMP/spans.svg")" "0 1" "a picture has them"
"$ebt" spans -q -f svg 'no*' "$TMP/reqs1.events" >"$TMP/out" 2>/dev/null
is "$? $(wc -c <"$TMP/out")" "4 0" "there is none of nothing"

# Spans of OCaml's and our own libraries.
"$ebt" spans -q --json tests/data/capture/probes.ebt >"$TMP/probes"
is "$(jq -c '.spans[] | [.name, .count, .open_at_begin, .not_ended]' "$TMP/probes")" '["minigc.batch",30,0,0]' "user events of type span are spans"
for file in tests/data/ocaml-5.*/c-user.events.xz; do
	xz -dc "$file" >"$TMP/user.events"
	begins=$("$ebt" -q -f ndjson "$TMP/user.events" | jq -s '[.[] | select(.kind == "span_begin")] | length')
	got=$("$ebt" spans -q --json "$TMP/user.events" | jq '[.spans[] | .count + .not_ended + .open_at_end + .cut_by_loss] | add')
	is "$got" "$begins" "$file: each that began is counted once"
done
for file in tests/data/ocaml-5.*/d-wrapped-user.events.xz; do
	xz -dc "$file" >"$TMP/user.events"
	spans "$TMP/user.events" >"$TMP/cut"
	is "$(adds_up "$TMP/cut")" "" "$file: of a ring that wrapped parts add up"
done
done_testing
