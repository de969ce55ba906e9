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
	taskset -c 0 timeout 100 "$O/ebtrace" stat --blame --top 1000 --json -o "$TMP/$1.json" -- \
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
blame ring OCAML_RUNTIME_EVENTS_START=1
done_testing
