#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Chrome's trace format of rings of real OCaml programs, against the NDJSON of the same file: the
# same events, at the same nanosecond, and every B with its E, which has the same args.
. tests/lib.sh
need_command jq
need_command xz

# What tests/timeline.jq makes of NDJSON, of Chrome's format; the digits of the times are taken as
# they are.
got() {
	sed 's/"ts":\([0-9]*\)\.\([0-9]\{3\}\)\([,}]\)/"ts":"\1\2"\3/; s/"dur":\([0-9]*\)\.\([0-9]\{3\}\)\([,}]\)/"dur":"\1\2"\3/' "$1" |
	jq -r '.[] | select(.ph != "M" and (.ph != "i" or .cat != "phase")) | [.ph, (if .ph == "X" then .tid - 100000 else .tid end), .name] +
		(if .ph == "X" then [(.ts | tonumber) + (.dur | tonumber), .args.words]
		elif .ph == "C" then [.ts, .args.value]
		elif .ph == "i" then [.ts, (.args.value // .args.data // .args.values // "")]
		else [.ts] end) | map(tostring) | join("\t")'
}

# Each row is a stack, whose times never go back; async spans are one stack an id.
stacks='[reduce (.[] | select(.ph == "B" or .ph == "E" or .ph == "b" or .ph == "e")) as $e ({};
	(if $e.ph == "B" or $e.ph == "E" then "\($e.pid) \($e.tid)" else "id \($e.id) \($e.cat)" end) as $k |
	if .bad then .
	elif $e.ts < (.last[$k] // 0) then .bad = $e
	else .last[$k] = $e.ts |
		[$e.name, if $e.ph == "B" or $e.ph == "E" then $e.args else null end] as $id |
		if $e.ph == "B" or $e.ph == "b" then .open[$k] += [$id]
		elif .open[$k][-1] == $id then .open[$k] |= .[:-1]
		else .bad = $e end
	end) | .bad // (.open // {} | map_values(select(. != [])) | select(. != {}))] | .[]'

for file in $RING_FILES; do
	name=${file#tests/data/}
	version=${name#ocaml-}
	xz -dc "$file" >"$TMP/ring.events"
	"$O/ebtrace" -q --ocaml-version "${version%%/*}" -o "$TMP/out.json" "$TMP/ring.events"
	status=$?
	jq -c "type, ($stacks)" "$TMP/out.json" >"$TMP/rows"
	is "$status $(head -1 "$TMP/rows")" '0 "array"' "$name is converted to JSON"
	"$O/ebtrace" -q --ocaml-version "${version%%/*}" -f ndjson "$TMP/ring.events" >"$TMP/out.ndjson"
	jq -rn -f tests/timeline.jq "$TMP/out.ndjson" | sort >"$TMP/want"
	got "$TMP/out.json" | sort >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "$name: the events of NDJSON, at the same nanosecond"
	is "$(tail -n +2 "$TMP/rows")" "" "$name: every B has its E, on its row, in order, with its args"
done

# A run with stacks, counts of the kernel at the ends of pauses, threads and CPUs.
stacks_of=tests/data/capture/minigc-stacks.ebt
"$O/ebtrace" -q -f ndjson "$stacks_of" >"$TMP/run.ndjson"
"$O/ebtrace" -q -o "$TMP/run.json" "$stacks_of"
is "$? $(jq -c "$stacks" "$TMP/run.json")" "0 " "of phases with stacks every E has the args of its B"
jq -c 'select(.kind == "begin") | [.ts, .name, (.stack | reverse)]' "$TMP/run.ndjson" >"$TMP/want"
got_us() { sed 's/"ts":\([0-9]*\)\.\([0-9]\{3\}\),/"ts":\1\2,/' "$TMP/run.json" | jq -c "$1"; }
got_us '.[] | select(.ph == "B") | [.ts, .name, .args.stack]' >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "which are the stack that NDJSON has"
jq -c 'select(.kind == "end" and .run_delay_ns != null) | [.ts, "end of \(.name)", .run_delay_ns, .minor_faults]' \
	"$TMP/run.ndjson" >"$TMP/want"
got_us '.[] | select(.ph == "i" and .s == "t" and .cat == "phase") | [.ts, .name, .args.run_delay_ns, .args.minor_faults]' \
	>"$TMP/got"
same_file "$TMP/got" "$TMP/want" "what the kernel counted until the end is in an instant of that time"

# Names of what there is, and what cannot be an event.
xz -dc tests/data/ocaml-5.3.0/b-domains4.events.xz >"$TMP/4711.events"
"$O/ebtrace" -q --ocaml-version 5.3 -o "$TMP/out.json" "$TMP/4711.events"
is "$(jq -r '[.[] | select(.name == "thread_name").args.name | select(startswith("domain"))] | sort | join(",")' "$TMP/out.json")" \
	"$(jq -r '[.[] | select(.ph == "B").tid] | unique | map("domain \(.)") | join(",")' "$TMP/out.json")" \
	"every domain's row has its name"
is "$(jq -r '[.[] | select(.name == "process_name").args.name] | unique | join(",")' "$TMP/out.json")" \
	"ocaml 5.3" "the process has a name"
is "$(jq -r '[.[] | select(.ph == "C").id] | unique | join(",")' "$TMP/out.json")" \
	"$(jq -r '[.[] | select(.ph == "C").tid] | unique | map("domain \(.)") | join(",")' "$TMP/out.json")" \
	"each domain has counters of its own"
is "$(jq -r '.[-1] | .name, .args.lost_words' "$TMP/out.json" | xargs)" \
	"ebtrace_summary $("$O/ebtrace" -q -f ndjson --ocaml-version 5.3 "$TMP/4711.events" | tail -1 | jq .lost_words)" \
	"the summary is the last event"
jq -e '[.[] | select(.ph == "X")] | length > 0 and all(.name == "lost" and .args.words > 0 and .tid >= 100000)' "$TMP/out.json" >/dev/null
ok $? "what was lost has a row of its own"
is "$(jq -r '[.[] | select(.ph == "X").tid] | unique | length' "$TMP/out.json")" \
	"$(jq -r '[.[] | select(.name == "thread_name").args.name | select(startswith("lost events (domain "))] | unique | length' "$TMP/out.json")" \
	"which is named"
grep -v '^[][]$' "$TMP/out.json" | sed 's/,$//' | grep -o '"\(ts\|dur\)":[^,}]*' | grep -vcE ':[0-9]+\.[0-9]{3}$' >"$TMP/n"
is "$(cat "$TMP/n")" 0 "every time has exactly three digits behind the point"

# Damaged rings, of which some are refused.
read=0 bad=
for file in tests/data/ocaml-corrupt/*.events.xz; do
	xz -dc "$file" | "$O/ebtrace" -q -f chrome --ocaml-version 5.3 - >"$TMP/damaged" 2>/dev/null
	[ -s "$TMP/damaged" ] || continue
	read=$((read + 1))
	jq -e 'type == "array"' "$TMP/damaged" >/dev/null 2>&1 || bad="$bad ${file##*/}"
done
is "$bad" "" "what is written of a damaged ring is well formed"
[ $read -ge 10 ]
ok $? "which was tried on ten at least" || diag "$read"

# A tracer that is killed: what it has written opens with the bracket that viewers add.
EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/loop" 60 >/dev/null 2>&1 &
children+=($!)
pid=$!
wait_for test -e "$TMP/$pid.events"
"$O/ebtrace" -q --mode ring -o "$TMP/killed.json" -p $pid &
tracer=$!
children+=($tracer)
enough() { [ -e "$TMP/killed.json.part" ] && [ "$(grep -c '"ph":"E"' "$TMP/killed.json.part")" -gt 100 ]; }
wait_for enough
{ kill -KILL $tracer; wait $tracer; } 2>/dev/null
test ! -e "$TMP/killed.json"
ok $? "a tracer that is killed leaves no file that could be read as whole"
# The last line may have been written in part.
{ sed '$d' "$TMP/killed.json.part" | sed '$s/,$//'; echo ']'; } >"$TMP/mended.json"
is "$(jq -r '[.[] | select(.ph == "E").name] | unique | join(",")' "$TMP/mended.json")" minor \
	"what it wrote is an array that lacks its bracket"
done_testing
