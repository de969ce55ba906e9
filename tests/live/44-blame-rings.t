#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What pauses were made of where no probe stands at them: the rings of our own library say which thread
# writes them; those of OCaml do not, which matters where a process has several.
. tests/lib.sh
need_root
need_command jq
need_command taskset

taskset -c 0 "$BASH" -c 'echo >&9; while :; do :; done' 9>"$TMP/hogs" &
hog=$!
children+=($hog)
wait_for test -s "$TMP/hogs"

# The parts of what a thread waited for are known: of a part that is not known there is less than 5 %, as
# what runs before the first look at a ring, and between the last one and the end of a thread.
for mode in watermark ring; do
	taskset -c 0 timeout 600 "$O/ebtrace" stat --blame --mode $mode --top 100000 --json -o "$TMP/$mode.json" -- \
		"$O/tests/prog/minigc" -q -t 3 -n 300000 -c "$TMP/counts" >"$TMP/out" 2>"$TMP/err"
	is $? 0 "$mode: the program ends well" || cat "$TMP/err"
	jq -e '.blame | .known and .pauses > 1000 and .parts_ns.unknown < .pause_ns / 20 and .pause_ns == ([.parts_ns[]] | add)' \
		"$TMP/$mode.json" >"$TMP/jq"
	ok $? "$mode: the parts of pauses are known, and add up" || jq -c '.blame | del(.longest)' "$TMP/$mode.json"
	jq -e '[.blame.longest[] | {domain, tid}] | unique | map(select(.tid)) | length == 3 and (map(.tid) | unique | length == 3)' \
		"$TMP/$mode.json" >"$TMP/jq"
	ok $? "$mode: each domain has a thread of its own" || jq -c '[.blame.longest[] | {domain, tid}] | unique' "$TMP/$mode.json"
	jq -e '.processes[0].pid as $pid | [.blame.longest[] | select(.domain == 0 and .tid) | .tid == $pid] | all and length > 0' \
		"$TMP/$mode.json" >"$TMP/jq"
	ok $? "$mode: the first is that of the program" || jq -c '[.blame.longest[] | {domain, tid}] | unique' "$TMP/$mode.json"
	jq -e --argjson hog "$hog" '.blame.longest | any(.cause.tid == $hog and .cause.part == "run_queue")' "$TMP/$mode.json" >"$TMP/jq"
	ok $? "$mode: pauses name the hog" || jq -c '.blame.longest[0:3]' "$TMP/$mode.json"
	is "$(jq .blame.counted "$TMP/$mode.json")" null "$mode: nothing is counted where no probe stands"
done

# What the figures suggest, in words for a program that is not of OCaml.
ends_with 0 timeout 100 "$O/ebtrace" stat --blame --mode watermark -o "$TMP/advice" -- \
	taskset -c 0 "$O/tests/prog/minigc" -q -t $(($(nproc) + 1)) -n 300000 -c "$TMP/counts" >"$TMP/out" 2>"$TMP/err"
grep -qE '^  \[cpu\] [0-9.]+ % of the pauses. time waits for a CPU, at least [0-9.]+ % behind [^ ].*\. Give ' "$TMP/advice"
ok $? "the advice names who ran instead" || sed -n '/suggest/,$p' "$TMP/advice"
grep -qE "^  \[domains\] $(($(nproc) + 1)) domains on $(nproc) CPU" "$TMP/advice"
ok $? "and that there are more domains than CPUs" || sed -n '/suggest/,$p' "$TMP/advice"
grep -qE '^  \[minor-heap\] .* In a larger minor heap more of them' "$TMP/advice"
ok $? "and not the settings of another runtime" || sed -n '/suggest/,$p' "$TMP/advice"

# Threads that were there before us; a ring is of who writes first, be it the main thread or not.
"$O/tests/prog/minigc" -q -t 2 -s 4 -r 20000 -c "$TMP/counts" >"$TMP/out" 2>&1 &
program=$!
children+=($program)
sleep 0.5
timeout 300 "$O/ebtrace" stat --blame --mode watermark --top 100000 --json -o "$TMP/late.json" -d 2 -p $program 2>"$TMP/err"
is $? 0 "a program that runs already is watched" || cat "$TMP/err"
jq -e --argjson pid "$program" '.blame | .pauses > 10 and .parts_ns.unknown < .pause_ns / 5
	and ([.longest[] | select(.tid) | {domain, tid}] | unique | length == 2 and any(.tid == $pid)
		and (map(.domain) | unique | length == 2) and (map(.tid) | unique | length == 2))' "$TMP/late.json" >"$TMP/jq"
ok $? "its threads are known" || jq -c '.blame | del(.longest)' "$TMP/late.json"
# What came late has no length, and is in one of the two alone.
jq -e '.blame.pauses <= .processes[0].pauses.count' "$TMP/late.json" >"$TMP/jq"
ok $? "what its ring held from before the run is not among the pauses" ||
	jq -c '[.processes[0].pauses.count, .blame.pauses]' "$TMP/late.json"

# In another pid namespace, where threads have other numbers.
timeout 300 "$O/ebtrace" stat --blame --mode watermark --top 100000 --json -o "$TMP/inner.json" -- \
	unshare -p -f "$O/tests/prog/minigc" -q -t 2 -n 300000 -c "$TMP/counts" >"$TMP/out" 2>"$TMP/err"
is $? 0 "a program in another pid namespace is watched" || cat "$TMP/err"
jq -e '(.processes[] | select(.comm == "minigc") | .pid) as $pid | .blame | .pauses > 1000 and .parts_ns.unknown < .pause_ns / 5
	and ([.longest[] | select(.domain == 0 and .tid) | .tid == $pid] | all and length > 0)' "$TMP/inner.json" >"$TMP/jq"
ok $? "its threads are known by their numbers here" || jq -c '[.processes[].pid, (.blame | del(.longest)), ([.blame.longest[] | {domain, tid}] | unique)]' "$TMP/inner.json"

# ---- rings of OCaml ----

ocaml_root
ocaml_build gcwork
timeout 600 "$O/ebtrace" stat --blame --mode watermark --json -o "$TMP/ocaml.json" -- \
	chroot "$ROOT" env OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=/tmp "$EXE_IN" 2 400 >"$TMP/out" 2>"$TMP/err"
is $? 0 "OCaml: the program ends well" || cat "$TMP/err"
jq -e '.blame | .pauses > 20 and .parts_ns.unknown + .parts_ns.domain == .pause_ns and all(.longest[]; .tid == null)' \
	"$TMP/ocaml.json" >"$TMP/jq"
ok $? "OCaml: which thread ran a domain is not known, and what it did is not guessed" || jq -c .blame "$TMP/ocaml.json"
timeout 100 "$O/ebtrace" stat --blame --mode watermark --json -o "$TMP/one.json" -- \
	chroot "$ROOT" env OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=/tmp "$EXE_IN" 1 400 >"$TMP/out" 2>"$TMP/err"
is $? 0 "OCaml: a program with one thread ends well" || cat "$TMP/err"
jq -e '.processes[0].pid as $pid | .blame | .pauses > 20 and .parts_ns.unknown < .pause_ns / 20 and all(.longest[]; .tid == $pid)' \
	"$TMP/one.json" >"$TMP/jq"
ok $? "OCaml: the only thread of a program is known" || jq -c '[.processes[0].pid, .blame]' "$TMP/one.json"
done_testing
