#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures: what is made of one is what would have been made of the rings, whatever happened to it.
. tests/lib.sh
need_command jq
need_command xz

# Every ring of every release, the damaged ones too; its pid is that of its name.
ring=$TMP/4711.events
for file in tests/data/ocaml-*/*.events.xz; do
	name=${file#tests/data/}
	version=${name#ocaml-}
	version=${version%%/*}
	[ "$version" = corrupt ] && version=5.3
	xz -dc "$file" >"$ring"
	"$O/ebtrace" -f ndjson --ocaml-version "$version" "$ring" >"$TMP/want" 2>"$TMP/want.err"
	status=$?
	"$O/ebtrace" -f ebt --ocaml-version "$version" "$ring" >"$TMP/a.ebt" 2>"$TMP/err"
	is "$? $(cat "$TMP/err")" "$status $(cat "$TMP/want.err")" "$name: status and complaints as ever"
	[ $status = 0 ] || continue
	"$O/ebtrace" -f ndjson "$TMP/a.ebt" >"$TMP/got" 2>"$TMP/err"
	same_file "$TMP/got" "$TMP/want" "$name: of the capture, every byte as of the ring"
	is "$(cat "$TMP/err")" "" "$name: nothing to complain about"
	"$O/ebtrace" -f ebt - <"$TMP/a.ebt" | cat | "$O/ebtrace" -f ndjson - >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "$name: and of a capture of the capture, through pipes"
done

# Stacks: 40 events of which 30 have one (tests/fuzz/capture_body.h says how it was made).
stacks=tests/fuzz/seeds/capture/stacks
"$O/ebtrace" -f ndjson "$stacks" >"$TMP/want"
is "$(jq -r 'select(.stack) | .stack | length > 0 and all(type == "string")' "$TMP/want" | sort | uniq -c | xargs)" \
	"30 true" "events of a capture have their stacks in NDJSON"
"$O/ebtrace" -f ebt "$stacks" | "$O/ebtrace" -f ndjson - >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "and so have those of a capture of it"
for format in text perfetto chrome fxt; do
	"$O/ebtrace" -q -f $format "$stacks" >"$TMP/got"
	is $? 0 "$format is written of events with stacks"
done

for n in c-user d-wrapped b-domains4; do
	xz -dc "tests/data/ocaml-5.3.0/$n.events.xz" >"$TMP/$n.events"
	"$O/ebtrace" -q --ocaml-version 5.3 -o "$TMP/$n.ebt" "$TMP/$n.events"
	is $? 0 "-o FILE.ebt is a capture"
	for format in text perfetto chrome fxt; do
		"$O/ebtrace" -f $format --ocaml-version 5.3 "$TMP/$n.events" >"$TMP/want"
		"$O/ebtrace" -f $format "$TMP/$n.ebt" >"$TMP/got"
		same_file "$TMP/got" "$TMP/want" "$n: as $format, too, it is what the ring is"
	done
	for filter in "-e minor*" "-e !minor*" "--domain 1" "--min-duration 10us"; do
		# shellcheck disable=SC2086
		"$O/ebtrace" $filter -f ndjson --ocaml-version 5.3 "$TMP/$n.events" >"$TMP/want"
		# shellcheck disable=SC2086
		"$O/ebtrace" $filter -f ndjson "$TMP/$n.ebt" >"$TMP/got"
		same_file "$TMP/got" "$TMP/want" "$n: $filter of the capture is as of the ring"
		# shellcheck disable=SC2086
		"$O/ebtrace" $filter -f ebt "$TMP/$n.ebt" | "$O/ebtrace" -f ndjson - >"$TMP/got"
		same_file "$TMP/got" "$TMP/want" "$n: what $filter left out is no loss"
	done
done

whole=$TMP/b-domains4.ebt
# Captures and rings on one command line.
"$O/ebtrace" -f ndjson --ocaml-version 5.3 "$TMP/c-user.events" "$TMP/b-domains4.events" >"$TMP/want"
"$O/ebtrace" -f ndjson --ocaml-version 5.3 "$TMP/c-user.events" - <"$TMP/b-domains4.ebt" >"$TMP/got"
is $? 0 "a ring file and a capture in a pipe are read together"
# The header tells where they came from; how losses stand among events of their moment may differ.
sed 1d "$TMP/want" | sort >"$TMP/want.sorted"
sorted() { sed 1d "$TMP/got" | sort >"$TMP/got.sorted"; }
sorted
same_file "$TMP/got.sorted" "$TMP/want.sorted" "and yield the same as two ring files"
is "$(head -1 "$TMP/got" | jq -r .source)" ring+capture "the header names both sources"
"$O/ebtrace" -f ndjson "$TMP/c-user.ebt" "$TMP/b-domains4.ebt" >"$TMP/got"
sorted
same_file "$TMP/got.sorted" "$TMP/want.sorted" "two captures do, too"

"$O/ebtrace" -f ndjson <(cat "$whole") >"$TMP/got" 2>"$TMP/err"
"$O/ebtrace" -f ndjson "$whole" >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "a pipe by name is read as a file is"

# Damage. b-domains4 as a capture has two blocks: events, and the end, which knows of words of a ring
# that were overwritten before, and of how many events they were nobody does.
size=$(stat -c %s "$whole")
"$O/ebtrace" -f ndjson "$whole" >"$TMP/whole"
events=$(jq -r 'select(.kind == "summary").events' "$TMP/whole")
lines() { grep -c . "$TMP/err"; }
broken() { # "what" BYTE "expected" EVENTS "LOST BEFORE" DAMAGED
	local what=$1 byte=$2 expected=$3
	timeout 300 "$O/ebtrace" -f ndjson "$TMP/bad.ebt" >"$TMP/out" 2>"$TMP/err"
	is $? 0 "$what: status 0"
	grep -q "'$TMP/bad.ebt'.* at byte $byte[: ].*$expected" "$TMP/err" && [ "$(lines)" = 1 ]
	ok $? "$what: one line names the file, the byte and what was expected" || diag "$(cat "$TMP/err")"
	is "$(jq -r 'select(.kind == "summary") | "\(.events) \(.lost_events) \(.history_events) \(.damaged)"' "$TMP/out")" \
		"$4 $5 $6" "$what: events, what is lost of them and was there before, damaged places"
	"$O/ebtrace" -q --fail-on-loss "$TMP/bad.ebt" >/dev/null 2>&1
	is $? 3 "$what: --fail-on-loss reports it"
}
head -c $((size / 2)) "$whole" >"$TMP/bad.ebt"
broken "a capture cut in its only block" 16 "expected a whole block, found the end of the file" 0 "$events 0" 1
{ head -c 500 "$whole"; printf 'XXXX'; tail -c +505 "$whole"; } >"$TMP/bad.ebt"
broken "a capture with four wrong bytes" 16 "expected a block whose checksum is right" 0 "$events null" 1
{ head -c 16 "$whole"; printf 'what is this'; tail -c +17 "$whole"; } >"$TMP/bad.ebt"
broken "a capture with bytes too many" 16 "expected the head of a block" "$events" "0 null" 1
{ head -c 16 "$whole"; printf 'what is this'; tail -c +17 "$whole"; printf 'more'; } >"$TMP/bad.ebt"
broken "a capture damaged in two places" 16 "expected the head of a block; 1 more$" "$events" "0 null" 2
{ cat "$whole"; printf 'more'; } >"$TMP/bad.ebt"
broken "a capture that goes on behind its end" "$size" "expected the end of the file" "$events" "0 null" 1
jq -r 'select(.kind == "damage").offset' "$TMP/out" | grep -qx "$size"
ok $? "the damage is an event with the same place"

# Every block says itself what its events refer to: without the first ones the rest is what it was.
"$O/ebtrace" -q --mode ring -o "$TMP/many.ebt" -- "$O/tests/prog/minigc" -n 200000 -t 2 -u -q -c /dev/null
[ "$("$O/ebtrace" info --json "$TMP/many.ebt" | jq .blocks)" -ge 5 ]
ok $? "a long capture has many blocks"
{ head -c 3000 "$TMP/many.ebt"; printf 'XXXX'; tail -c +3005 "$TMP/many.ebt"; } >"$TMP/bad.ebt"
of_the_program() { grep -Ev '"kind":"(header|damage|lost|summary)"' "$1"; }
"$O/ebtrace" -f ndjson "$TMP/many.ebt" >"$TMP/all"
"$O/ebtrace" -f ndjson "$TMP/bad.ebt" >"$TMP/out" 2>"$TMP/err"
lost=$(jq -r 'select(.kind == "summary").lost_events' "$TMP/out")
lost_before=$(jq -r 'select(.kind == "summary").lost_events' "$TMP/all")
of_the_program "$TMP/out" >"$TMP/got"
of_the_program "$TMP/all" | tail -n "$(wc -l <"$TMP/got")" >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "without its first block, a capture yields the same of the others, with names and pids"
is $((lost - lost_before + $(wc -l <"$TMP/got"))) "$(of_the_program "$TMP/all" | wc -l)" \
	"and what that block had is reported as lost"

refused() { # "what" BYTE "expected"
	"$O/ebtrace" -f ndjson "$TMP/bad.ebt" >"$TMP/out" 2>"$TMP/err"
	is $? 1 "$1: status 1"
	grep -q "'$TMP/bad.ebt'.* byte $2[:, ].*expected $3" "$TMP/err" && [ "$(lines)" = 1 ]
	ok $? "$1: one line names what was expected" || diag "$(cat "$TMP/err")"
	"$O/ebtrace" info "$TMP/bad.ebt" >"$TMP/out" 2>"$TMP/err"
	is "$? $(lines)" "1 1" "$1: info reports it, too"
}
{ head -c 8 "$whole"; printf '\2'; tail -c +10 "$whole"; } >"$TMP/bad.ebt"
refused "a capture of another version" 8 "version 1"
head -c 100 "$whole" >"$TMP/early.ebt"
"$O/ebtrace" info "$TMP/early.ebt" 2>&1 | grep -q '^  time span  not known$'
ok $? "info of a capture cut before its first event: its times are not known"
is "$("$O/ebtrace" info --json "$TMP/early.ebt" | jq -c '[.events, .first_ns, .last_ns]')" "[0,null,null]" \
	"in JSON they are null, not 0"
{ printf X; tail -c +2 "$whole"; } >"$TMP/bad.ebt"
refused "a capture without its magic" 0 ""

# A run that was killed leaves the part: all but its last second, and no end.
EBTRACE_DIR=$TMP "$O/ebtrace" --mode ring -f ebt -o "$TMP/run.ebt" -- "$O/tests/prog/minigc" -s 60 -r 2000 -q \
	>/dev/null 2>"$TMP/err" &
tracer=$!
children+=($tracer)
has_block() { [ "$(stat -c %s "$TMP/run.ebt.part" 2>/dev/null || echo 0)" -gt 100 ]; }
wait_for has_block
ok $? "a block is written while the program runs"
kill "$(pgrep -x -P $tracer minigc)" # its child, which would live on
kill -9 $tracer
wait $tracer 2>/dev/null
"$O/ebtrace" -f ndjson "$TMP/run.ebt.part" >"$TMP/out" 2>"$TMP/err"
is $? 0 "what a killed run leaves can be read"
grep -q "'$TMP/run.ebt.part' was interrupted: it ends at byte" "$TMP/err" && [ "$(lines)" = 1 ]
ok $? "one line reports that it was interrupted" || diag "$(cat "$TMP/err")"
[ "$(jq -r 'select(.kind == "summary") | select(.damaged == 0 and .lost_events == 0).events' "$TMP/out")" -gt 100 ]
ok $? "and it holds events, none of them lost"
"$O/ebtrace" info "$TMP/run.ebt.part" | grep -q interrupted
ok $? "info reports it, too"
"$O/ebtrace" info "$TMP/run.ebt.part" | grep -q "recover .*ebtrace FILE -o WHOLE.ebt"
ok $? "and how to recover it"
"$O/ebtrace" -q "$TMP/run.ebt.part" -o "$TMP/recovered.ebt" 2>"$TMP/err"
is "$? $("$O/ebtrace" info --json "$TMP/recovered.ebt" | jq .whole)" "0 true" "which makes a whole capture of it"
"$O/ebtrace" -f ndjson "$TMP/recovered.ebt" >"$TMP/got"
same_file "$TMP/got" "$TMP/out" "that holds the same"

# Live, from one ebtrace into another.
"$O/ebtrace" --mode ring -f ebt -o - -- "$O/tests/prog/minigc" -n 20000 -r 20000 -u -q -c "$TMP/counts" 2>"$TMP/err" |
	"$O/ebtrace" -f ndjson - >"$TMP/out"
is "$(jq -r 'select(.kind == "summary") | .events + .lost_events' "$TMP/out")" \
	"$(awk '{ n += $2 == "lifecycle" ? 1 : $3 } END { print n }' "$TMP/counts")" \
	"a live run through a pipe has every event"

# info
"$O/ebtrace" info --json "$whole" "$TMP/run.ebt.part" >"$TMP/info"
is $? 0 "info of captures"
is "$(jq -c '[.format, .version, .source, .whole]' "$TMP/info" | tr '\n' ' ')" \
	'["capture",1,"ring",true] ["capture",1,"ring",false] ' "format, version, source, whether it is whole"
is "$(head -1 "$TMP/info" | jq -S .kinds)" "$(jq -r 'select(.ts).kind' "$TMP/whole" | sort | uniq -c |
	awk '{ print "{\"" $2 "\":" $1 "}" }' | jq -sS add)" "the events by kind"
is "$(head -1 "$TMP/info" | jq -c '[.events, .lost_events, .lost_words, .late, .damaged]')" \
	"$(jq -c 'select(.kind == "summary") | [.events, .lost_events, .lost_words, .late, .damaged]' "$TMP/whole")" \
	"the totals of its summary"
is "$(head -1 "$TMP/info" | jq -r '.bytes, .producer, (.raw_bytes > .bytes)' | tr '\n' ' ')" "$size ocaml 5.3 true " \
	"its size, its producer, and its size unpacked"
"$O/ebtrace" info "$whole" "$TMP/c-user.events" >"$TMP/out" 2>&1
is "$(grep -c '^/.*: \(capture, version 1\|ring file\)' "$TMP/out")" 2 "a capture and a ring side by side"
for word in process events "time span" lost damage size kinds; do
	grep -q "^  $word " "$TMP/out"
	ok $? "info shows: $word"
done
"$O/ebtrace" info --fail-on-loss "$whole" >/dev/null
is $? 3 "info --fail-on-loss of a capture with losses"
done_testing
