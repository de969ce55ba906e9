#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Rings are read as fast as they fill: a million events a second through a ring of the default size,
# by its reader alone; and what is overwritten all the same is reported, with advice.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root
ocaml_build_here acts

# trace RING-SIZE ACTS...: leaves $TMP/t and $TMP/err
trace() {
	local size=$1
	shift
	OCAMLRUNPARAM=$size ends_with 0 "$O/ebtrace" --mode ring -f ndjson -o "$TMP/t" -- "$EXE" "$@" >/dev/null 2>"$TMP/err"
}
lost() { tail -1 "$TMP/t" | jq .lost_words; }
numbers() { grep -c '"name":"acts.number"' "$TMP/t"; }

# A machine whose CPUs are taken away for 20 ms (a virtual one with busy neighbours) loses events
# whatever the tracer does: so there are ten tries to lose none, and if in each of them the host has taken so much
# of the CPUs it is enough that what is missing is reported.
for rate in 200000 1000000; do
	n=$((3 * rate))
	robbed=1
	for try in 1 2 3 4 5 6 7 8 9 10; do
		stolen=$(stolen_ns)
		trace e=16 paced $n $rate
		is $? 0 "$rate events a second: the program ends well"
		[ "$(lost)" = 0 ] && break
		[ $(($(stolen_ns) - stolen)) -ge 20000000 ] || robbed=0
		diag "try $try lost $(lost) words: $(uptime)"
		# An event of this kind takes three words: what is not there was reported.
		[ $((3 * (n - $(numbers)))) -le "$(lost)" ]
		ok $? "$rate events a second: what is missing is reported"
	done
	[ "$(lost)" != 0 ] && [ $robbed = 1 ] && continue
	is "$(numbers)" $n "$rate events a second: every one is there"
	is "$(lost)" 0 "$rate events a second: nothing is lost"
	is "$(grep -c overwritten "$TMP/err")" 0 "$rate events a second: no loss is reported"
	awk -F'"value":' '/"name":"acts.number"/ && $2 + 0 != ++n { exit 1 }' "$TMP/t"
	ok $? "$rate events a second: in their order"
done

# A ring that no poll is in time for.
n=300000
trace e=8 ints $n
is $? 0 "a tiny ring: the program ends well"
[ "$(lost)" -gt 0 ]
ok $? "a tiny ring: the loss was forced"
[ $((3 * (n - $(numbers)))) -le "$(lost)" ]
ok $? "a tiny ring: what is missing is reported, in words"
is "$(grep overwritten "$TMP/err")" "ebtrace: a ring was overwritten before it was read ($(lost) words); for larger rings, start the program with OCAMLRUNPARAM=e=18" \
	"a tiny ring: one line at the end reports it, with advice"
OCAMLRUNPARAM=e=8 "$O/ebtrace" -q --mode ring --fail-on-loss -- "$EXE" ints $n >/dev/null 2>"$TMP/err"
is "$? $(cat "$TMP/err")" "3 " "-q --fail-on-loss: only the status shows it"
EBTRACE_LOG_WSIZE=9 ends_with 0 "$O/ebtrace" --mode ring -o "$TMP/t.txt" -- "$O/tests/prog/minigc" -q -n 1000000 -c /dev/null 2>"$TMP/err"
is "$(grep -c 'overwritten.*EBTRACE_LOG_WSIZE=18.*--mode watermark' "$TMP/err")" 1 \
	"a tiny ring of ours: the advice is about ours"

# One that is written while the tracer cannot look, before its first look.
# shellcheck disable=SC2016
OCAMLRUNPARAM=e=8 "$O/ebtrace" --mode ring --fail-on-loss -f ndjson -o "$TMP/t" -- \
	bash -c 'kill -STOP $PPID; "$@"; kill -CONT $PPID' _ "$EXE" ints 5000 >/dev/null 2>"$TMP/err"
is $? 3 "a ring that wrapped in the run before it was found: status 3"
is "$(tail -1 "$TMP/t" | jq -c '[.lost_words > 0, .history_words]')" "[true,0]" "what is missing is lost, and not of before the trace"

# What was overwritten before the tracer came is reported as history, and is no loss.
mkfifo "$TMP/in"
OCAMLRUNPARAM=e=9 OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=$TMP "$EXE" ints 5000 say ready wait \
	<"$TMP/in" >/dev/null 2>"$TMP/said" &
program=$!
children+=($program)
exec 7>"$TMP/in"
wait_for grep -qs ready "$TMP/said"
: >"$TMP/err"
"$O/ebtrace" -v --mode ring --fail-on-loss -f ndjson -o "$TMP/t" -p $program 2>"$TMP/err" 7>&- &
tracer=$!
children+=($tracer)
wait_for grep -qs 'reading the ring' "$TMP/err"
exec 7>&-
wait $tracer
is $? 0 "a ring that wrapped before: no loss of this run"
[ "$(tail -1 "$TMP/t" | jq .history_words)" -gt 0 ]
ok $? "it is counted as history"
is "$(grep -c overwritten "$TMP/err")" 0 "and not complained about"
wait $program

# The capture of such a run is as whole as the run, in each figure; a snapshot of the ring lacks what is not in it.
mkfifo "$TMP/in2"
OCAMLRUNPARAM=e=9 OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=$TMP "$EXE" ints 5000 say ready2 wait \
	<"$TMP/in2" >/dev/null 2>"$TMP/said" &
program=$!
children+=($program)
exec 7>"$TMP/in2"
wait_for grep -qs ready2 "$TMP/said"
"$O/ebtrace" -q --snapshot --fail-on-loss -o "$TMP/snapshot.ebt" -p $program 7>&-
is $? 3 "a snapshot of a ring that wrapped: status 3"
"$O/ebtrace" info -q --fail-on-loss "$TMP/snapshot.ebt" >/dev/null
is $? 3 "its capture: status 3"
: >"$TMP/err"
"$O/ebtrace" -v --mode ring --fail-on-loss -o "$TMP/late.ebt" -p $program 2>"$TMP/err" 7>&- &
tracer=$!
children+=($tracer)
wait_for grep -qs 'reading the ring' "$TMP/err"
exec 7>&-
wait $tracer
is $? 0 "a run that came late: status 0"
figures='[0-9]+ events, 0 lost, unknown number before the trace began \([0-9]+ words\)'
is "$(grep -cE "$figures" "$TMP/err")" 1 "its last line has both figures" || diag "$(cat "$TMP/err")"
for command in trace stat info; do
	"$O/ebtrace" $command -q --fail-on-loss "$TMP/late.ebt" >"$TMP/out" 2>"$TMP/err"
	is $? 0 "$command --fail-on-loss of its capture: status 0" || diag "$(cat "$TMP/err")"
	case $command in
	trace) grep -qE "^# $figures" "$TMP/out" ;;
	stat) grep -qE 'before the trace began: an unknown number of events, [0-9]+ words' "$TMP/out" ;;
	info) grep -qE '^  lost +0 words$' "$TMP/out" && grep -qE '^  before +events unknown, [0-9]+ words$' "$TMP/out" ;;
	esac
	ok $? "$command of its capture has both figures" || diag "$(cat "$TMP/out")"
done
ends_with 0 "$O/ebtrace" -q -f ndjson "$TMP/late.ebt" >"$TMP/out"
is "$(tail -1 "$TMP/out" | jq -c '[.lost_events, .lost_words, .history_events, .history_words > 0]')" "[0,0,null,true]" \
	"NDJSON of it, too"
wait $program
done_testing
