#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the pauses of a real OCaml program were made of while another program has its CPU: with its ring
# on, and never prepared.
. tests/lib.sh
ocaml_root
need_command jq
need_command taskset
ocaml_build gcwork

taskset -c 0 "$BASH" -c 'echo >&9; while :; do :; done' 9>"$TMP/hogs" &
hog=$!
children+=($hog)
wait_for test -s "$TMP/hogs"

blame() {
	taskset -c 0 timeout 600 "$O/ebtrace" stat --blame --top 1000 --json -o "$TMP/$1.json" -- \
		chroot "$ROOT" env "$2" OCAML_RUNTIME_EVENTS_DIR=/tmp "$EXE_IN" 2 400 >"$TMP/out" 2>"$TMP/err"
	is $? 0 "$1: the program ends well" || cat "$TMP/err"
	jq -e '.blame | .pauses > 100 and .parts_ns.unknown < .pause_ns / 100 and .pause_ns == ([.parts_ns[]] | add)' \
		"$TMP/$1.json" >"$TMP/jq"
	ok $? "$1: the parts of its pauses are known, and add up" || jq -c .blame "$TMP/$1.json"
	jq -e --argjson hog "$hog" '.blame.longest | any(.cause.tid == $hog and .cause.comm == "bash" and .cause.part == "run_queue")' \
		"$TMP/$1.json" >"$TMP/jq"
	ok $? "$1: pauses name the hog" || jq -c .blame.longest "$TMP/$1.json"
	jq -e '[.blame.longest[] | .parts_ns.run_queue > .ns / 2] | any' "$TMP/$1.json" >"$TMP/jq"
	ok $? "$1: for most of one its thread had no CPU"
}
blame unprepared A=1
jq -e '.blame.longest | (map(select(.ns >= 200000)) | length > 10 and (map(select(.stack != [])) | length) > 0.8 * length)
	and all(.ns >= 200000 or .stack == [] or (.phase | startswith("explicit_")))' "$TMP/unprepared.json" >"$TMP/jq"
ok $? "pauses of 200 us have a stack, and shorter ones none but where the program asked for them" ||
	jq -c '.blame.longest[] | [.ns, .phase, (.stack | length)]' "$TMP/unprepared.json" | head -40
blame ring OCAML_RUNTIME_EVENTS_START=1
ends_with 0 timeout 100 "$O/ebtrace" trace --blame --stack -f ndjson -o "$TMP/trace.ndjson" -- \
	chroot "$ROOT" env OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=/tmp "$EXE_IN" 2 20 >"$TMP/out" 2>"$TMP/err"
grep -q '^ebtrace: process [0-9]*: its ring is on, and is read: while it has several threads, what its pauses were made of is not known, its events have no stacks; see --mode probes$' "$TMP/err" &&
	[ "$(jq -s 'map(select(.kind == "pause")) | length > 0 and all(.unknown_ns + (.domain_ns // 0) == .duration_ns)' "$TMP/trace.ndjson")" = true ]
ok $? "trace reads the ring, which knows neither, and a line says so" || cat "$TMP/err"
ends_with 0 timeout 100 "$O/ebtrace" trace --blame --stack=pause -f ndjson -o "$TMP/stacks.ndjson" -- \
	chroot "$ROOT" env A=1 "$EXE_IN" 2 200 >"$TMP/out" 2>"$TMP/err"
jq -s -e '(map(select(.kind == "begin" and .stack) | {"\(.domain) \(.ts)": .stack}) | add) as $of
	| map(select(.kind == "pause") | {stack, begin: $of["\(.domain) \(.ts - .duration_ns)"]})
	| (map(select(.begin)) | length > 10) and all(.begin == null or .begin == .stack)' \
	"$TMP/stacks.ndjson" >"$TMP/jq"
ok $? "--stack=pause: each pause has the stack with which it began" ||
	jq -c 'select(.kind == "pause")' "$TMP/stacks.ndjson" | head -3

# ---- root whom BPF is refused ----

# chroot needs privileges of its own, so the program is started before.
OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=/tmp chroot "$ROOT" "$EXE_IN" 2 400000 >"$TMP/out" 2>&1 &
program=$!
children+=($program)
wait_for test -e "$ROOT/tmp/$program.events"
timeout 300 setpriv --bounding-set -bpf,-perfmon,-sys_admin --inh-caps -all "$O/ebtrace" stat --blame -d 1 --json \
	-p "$program" -o "$TMP/refused.json" 2>"$TMP/err"
is $? 0 "root without these capabilities: the ring is read" || cat "$TMP/err"
grep -q 'needs CAP_BPF and CAP_PERFMON, which root lacks here; reading the rings alone: it is not recorded when threads do not run; .ebtrace info --kernel' "$TMP/err" &&
	[ "$(grep -c . "$TMP/err")" = 1 ]
ok $? "one line says what is missing" || cat "$TMP/err"
jq -e '.blame | .pauses > 0 and .parts_ns.unknown + .parts_ns.domain == .pause_ns' "$TMP/refused.json" >"$TMP/jq"
ok $? "and what pauses were made of is not known, but for waits for another domain" || jq -c .blame "$TMP/refused.json"
kill $program

# ---- a domain that is long in C ----

ocaml_build held tests/ocaml/held_stubs.c
ends_with 0 timeout 300 "$O/ebtrace" stat --blame --top 1000 --json -o "$TMP/held.json" -- chroot "$ROOT" "$EXE_IN" >"$TMP/out" 2>"$TMP/err"
jq -c '.blame.longest[] | select(.domain == 0 and .waited_for.ns > 10000000)' "$TMP/held.json" >"$TMP/held"
# On a busy machine the domain that waits may have no CPU when it need not wait any more.
jq -e -s 'length > 5 and all(.parts_ns.domain >= .waited_for.ns and .waited_for.domain == 1
	and .parts_ns.domain + .parts_ns.run_queue > .ns / 2)' "$TMP/held" >"$TMP/jq"
ok $? "collections wait for a domain that is in C: it is named" || diag "$(cat "$TMP/held")"
jq -e -s '(map(.waited_for.parts_ns | .cpu) | add) + (map(.waited_for.parts_ns.run_queue) | add) > (map(.waited_for.ns) | add) * 0.99
	and any(.waited_for.parts_ns.cpu > 10000000)' "$TMP/held" >"$TMP/jq"
ok $? "and it ran there, or waited for a CPU: it was not blocked" || diag "$(cat "$TMP/held")"
ends_with 0 timeout 300 "$O/ebtrace" stat --blame -- chroot "$ROOT" "$EXE_IN" >"$TMP/out" 2>"$TMP/err"
grep -q '^  The longest pause took .*: for .* of it the others waited for domain 1, which \(ran on its CPU\|had no CPU\) for' "$TMP/err"
ok $? "a sentence says so" || grep 'The longest' "$TMP/err"

# ---- who asked ----

OCAML_LINK=-g ocaml_build calls
# On a busy machine the longest pause may be that of a domain that takes part in one.
for _ in 1 2 3 4 5; do
	feed | timeout 300 "$O/ebtrace" stat --blame -- chroot "$ROOT" "$EXE_IN" >"$TMP/calls" 2>"$TMP/err"
	grep -q '^  The longest pause took .*; Gc.full_major was called from calls.ml:20 (Calls.collect).$' "$TMP/err" && break
done
ok $? "the sentence says which line asked for the longest pause" || cat "$TMP/err"
grep -A1 '^        at Calls.collect@calls.ml:20:41-57' "$TMP/err" | grep -q -e '^        at Calls@calls.ml:' -e '^        at Calls.[(a-z]'
ok $? "under a pause stand the lines that led to it"
# The program lives for some milliseconds: where a busy machine has not let it be held at its exec, it runs once more.
for _ in 1 2 3 4 5; do
	feed | timeout 300 "$O/ebtrace" stat --blame --json --top 1000 -o "$TMP/calls.json" -- chroot "$ROOT" "$EXE_IN" >"$TMP/calls" 2>"$TMP/err"
	jq -e '.total.lost.unwatched_ns > 1000000' "$TMP/calls.json" >"$TMP/jq" || break
done
jq -r '.blame.longest[] | .stack | map(select(contains(".ml:"))) |
	select(.[-1] // "" | test("^Calls.collect@calls.ml:20:41-57$")) | .[:-1] | join(" ")' \
	"$TMP/calls.json" | sort >"$TMP/got"
sed 's/ [^ ]*$//' "$TMP/calls" | sort >"$TMP/wanted"
same_file "$TMP/got" "$TMP/wanted" "JSON has the whole stack of each: as the program itself has printed it"
is "$(jq '[.blame.longest[] | select(.phase == "minor" and .stack != [])] | length' "$TMP/calls.json")" 0 \
	"phases that nobody asked for have none"
ocaml_build forces
# Its own pace would be set by o= of OCAMLRUNPARAM.
ends_with 0 timeout 300 "$O/ebtrace" stat --blame -o "$TMP/out" -- env OCAMLRUNPARAM=o=20 chroot "$ROOT" "$EXE_IN" calls >"$TMP/said" 2>"$TMP/err"
grep -q '^  \[major\] .* the program forces collections: 12 calls, the longest by Gc.full_major at forces.ml:4 (Forces.force)\. ' "$TMP/out"
ok $? "the advice names the line that forces collections" || grep -A9 suggest "$TMP/out"
ends_with 0 timeout 300 "$O/ebtrace" stat --mode probes -o "$TMP/out" -- chroot "$ROOT" "$EXE_IN" calls >"$TMP/said" 2>"$TMP/err"
grep -q '^  \[major\] .* the program forces collections: 12 calls (--blame .*)\. ' "$TMP/out"
ok $? "without --blame it counts them" || grep -A9 suggest "$TMP/out"
ends_with 0 timeout 300 "$O/ebtrace" stat --blame -o "$TMP/out" -- env OCAMLRUNPARAM=o=20 chroot "$ROOT" "$EXE_IN" none >"$TMP/said" 2>"$TMP/err"
grep -q '^  \[major\] .* A slower pace (a larger o= of OCAMLRUNPARAM) does less' "$TMP/out"
ok $? "where nothing is forced it names the setting of the pace" || grep -A9 suggest "$TMP/out"
ocaml_build gcwork
ends_with 0 timeout 300 "$O/ebtrace" stat --blame --stack --json -o "$TMP/all.json" -- chroot "$ROOT" "$EXE_IN" 1 50 >"$TMP/out" 2>"$TMP/err"
jq -e '.blame.longest | length > 0 and all(.stack | any(test("^Gcwork[.@]")))' "$TMP/all.json" >"$TMP/jq"
ok $? "with --stack all have" || jq -c '.blame.longest[].stack' "$TMP/all.json"
done_testing
