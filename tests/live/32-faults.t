#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What goes wrong around a trace: files cut or replaced, either side killed, no room for the output.
. tests/lib.sh
need_root
gc=$O/tests/prog/minigc
mkdir "$TMP/rings"
export EBTRACE_DIR=$TMP/rings

# minigc in the background, its ring made: sets program and ring. run_gc ARGS...
run_gc() {
	EBTRACE_START=1 EBTRACE_PRESERVE=1 "$gc" -q -c /dev/null "$@" </dev/null &
	program=$!
	children+=("$program")
	ring=$TMP/rings/$program.events
	wait_for test -s "$ring"
}
# trace_gc OPTIONS...: ebtrace in the background, until it has written something.
trace_gc() {
	rm -f "$TMP/out" "$TMP/out.part"
	timeout -k 1 300 "$O/ebtrace" -f ndjson -o "$TMP/out" "$@" >/dev/null 2>"$TMP/err" &
	tracer=$!
	children+=("$tracer")
	wait_for has_events
}
# What is written so far is in out.part, what is whole in out.
has_events() { [ "$(cat "$TMP/out.part" "$TMP/out" 2>/dev/null | grep -c "\"ts\"")" -gt 20 ]; }
end_gc() {
	kill -9 "$program" 2>/dev/null
	wait "$program" 2>/dev/null
	rm -f "$ring"
}
events_of() { jq -c 'select(.ts != null and .kind != "lost" and .kind != "damage" and .kind != "process") | [.domain, .pos, .ts, .kind]' "$1" | sort; }
last_kind() { tail -1 "$TMP/out" | jq -r .kind; }

# The ring file is cut under the reader: to nothing, and in the middle of the rings. The program
# that wrote into it may die of that; ebtrace must not.
for bytes in 0 100000; do
	run_gc -t 2 -s 600 -r 2000
	trace_gc --mode ring -p "$program"
	kill -STOP "$program"
	before=$(grep -c '"ts"' "$TMP/out.part")
	truncate -s $bytes "$ring"
	sleep 0.2
	kill -KILL "$program"
	wait "$program" 2>/dev/null
	wait "$tracer"
	is $? 0 "cut to $bytes bytes: ebtrace ends as usual"
	is "$(last_kind)" summary "cut to $bytes bytes: the output is finished"
	[ "$(grep -c '"ts"' "$TMP/out")" -ge "$before" ]
	ok $? "cut to $bytes bytes: what came before is delivered"
	if [ $bytes = 0 ]; then
		is "$(grep -c "$program.events'.* byte [0-9]*" "$TMP/err")" 1 \
			"cut to $bytes bytes: one line names the file and the place" || diag "$(cat "$TMP/err")"
	fi
	rm -f "$ring"
done

# Somebody puts another file in its place: the one that is mapped is the ring.
run_gc -t 2 -s 600 -r 2000
trace_gc --mode ring -p "$program"
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/other"
mv "$TMP/other" "$ring"
sleep 0.3
kill "$program"
wait "$tracer"
is $? 0 "the file is replaced: ebtrace ends as usual"
is "$(grep -c app.unit "$TMP/out")" 0 "the file is replaced: nothing of the other file is shown"
end_gc

# The program is killed.
for mode in ring watermark stream; do
	rm -f "$TMP/out" "$TMP/out.part"
	EBTRACE_PRESERVE=1 EBTRACE_LOG_WSIZE=18 "$O/ebtrace" -q --mode $mode -f ndjson -o "$TMP/out" -- \
		"$gc" -q -t 2 -s 600 -r 2000 -c /dev/null &
	tracer=$!
	children+=("$tracer")
	wait_for has_events
	program=$(pgrep -P "$tracer" minigc)
	kill -9 "$program"
	wait "$tracer"
	is $? 137 "$mode: killed by signal 9: status 137"
	is "$(last_kind)" summary "$mode: killed: the summary is written"
	ring=$TMP/rings/$program.events
	"$O/ebtrace" -q -f ndjson "$ring" >"$TMP/left"
	is $? 0 "$mode: killed: the file that is left can be read"
	events_of "$TMP/left" >"$TMP/want"
	events_of "$TMP/out" >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "$mode: killed: every event up to then was delivered, once"
	ends_with 0 "$O/ebtrace" list -v | grep -qx "stale: $ring"
	ok $? "$mode: killed: list shows the file as stale"
	ends_with 0 "$O/ebtrace" list -v --prune | grep -qx "stale: $ring (removed)" && [ ! -e "$ring" ]
	ok $? "$mode: killed: list --prune removes it"
done

# ebtrace is killed: the program goes on, and can be traced again.
for mode in ring watermark stream; do
	run_gc -t 2 -s 600 -r 2000
	trace_gc --mode $mode -p "$program"
	ebtrace=$(pgrep -P "$tracer" ebtrace)
	kill -9 "$ebtrace"
	wait "$tracer" 2>/dev/null
	has_status 137 $? "a killed ebtrace"
	rm -f "$TMP/out.part"
	"$O/ebtrace" -q --mode $mode -f ndjson -d 300ms -p "$program" >"$TMP/out"
	is "$? $(last_kind)" "0 summary" "$mode: after a killed ebtrace another one works, and -d ends it"
	has_events && kill -0 "$program"
	ok $? "$mode: it has events, and the program runs on"
	end_gc
done

# ebtrace is killed while its program runs: the directory that it made for the rings is left.
mkdir "$TMP/run"
EBTRACE_DIR= XDG_RUNTIME_DIR=$TMP/run "$O/ebtrace" -q --mode ring -o "$TMP/out" -- \
	"$gc" -q -t 1 -s 600 -r 100 -c /dev/null &
tracer=$!
children+=("$tracer")
wait_for eval '[ -n "$(ls "$TMP"/run/ebtrace-run-*/*.events 2>/dev/null)" ]'
is "$(XDG_RUNTIME_DIR=$TMP/run ends_with 0 "$O/ebtrace" list -v | grep -c "^stale: $TMP/run")" 0 \
	"the directory of a run is not stale while it lasts"
program=$(pgrep -P "$tracer" minigc)
kill -9 "$tracer"
wait "$tracer" 2>/dev/null
has_status 137 $? "a killed ebtrace"
kill -9 "$program"
tail --pid="$program" -f /dev/null
is "$(XDG_RUNTIME_DIR=$TMP/run ends_with 0 "$O/ebtrace" list -v --prune | grep -c "^stale: $TMP/run.*(removed)")" 2 \
	"it is when its ebtrace was killed: list --prune removes it, with its ring"
is "$(ls -A "$TMP/run")" "" "nothing is left of it"

# No room for the output.
mkdir "$TMP/small"
if mount -t tmpfs -o size=64k none "$TMP/small" 2>/dev/null; then
	at_end "umount '$TMP/small'"
	run_gc -t 2 -s 600 -r 20000
	timeout 300 "$O/ebtrace" -f ndjson -o "$TMP/small/out" -p "$program" >/dev/null 2>"$TMP/err"
	is $? 1 "a full disk: status 1"
	is "$(grep -c "$TMP/small/out.*No space left" "$TMP/err")" 1 "a full disk: one line with the path" ||
		diag "$(cat "$TMP/err")"
	kill -0 "$program"
	ok $? "a full disk: the program is not disturbed"
	end_gc
else
	[ -z "${EBT_NO_SKIP:-}" ]
	ok $? "a full disk could be tried # SKIP cannot mount a tmpfs"
fi

run_gc -t 2 -s 600 -r 20000
timeout 300 "$O/ebtrace" -p "$program" 2>"$TMP/err" | head -1 >"$TMP/out"
is "${PIPESTATUS[0]} $(wc -l <"$TMP/out")" "0 1" "a reader that has seen enough ends the trace"
is "$(cat "$TMP/err")" "" "and no message is printed"
# Signals. The first finishes the output, if somebody reads it.
trace_gc -p "$program"
kill -INT "$(pgrep -P "$tracer" ebtrace)"
wait "$tracer"
is "$? $(last_kind)" "0 summary" "SIGINT finishes the output"
trace_gc -p "$program"
kill -TERM "$(pgrep -P "$tracer" ebtrace)"
wait "$tracer"
is "$? $(last_kind)" "0 summary" "SIGTERM finishes the output"
mkfifo "$TMP/fifo"
"$O/ebtrace" -f ndjson -o "$TMP/fifo" -p "$program" 2>/dev/null &
tracer=$!
children+=("$tracer")
exec 8<"$TMP/fifo"
read -r _ <&8
sleep 0.5 # nobody reads on: the output is stuck
kill -INT "$tracer"
timeout 300 tail --pid="$tracer" -f /dev/null || kill -9 "$tracer"
wait "$tracer"
is $? 1 "a SIGINT ends what cannot be finished"
exec 8<&-

# A program that is stopped.
kill -STOP "$program"
for mode in ring stream; do
	timeout 300 "$O/ebtrace" -q --mode $mode -f ndjson -d 300ms -p "$program" >"$TMP/out" 2>"$TMP/err"
	is "$? $(last_kind)" "0 summary" "$mode: a stopped program can be traced, and left"
done
kill -CONT "$program"
end_gc

# A program that ends while it is looked at: whatever the moment, one of the ways out, in time.
bad=0
for ((i = 0; i < 40; i++)); do
	EBTRACE_START=1 "$gc" -q -t 1 -n $((i * 200)) -c /dev/null &
	program=$!
	timeout 300 "$O/ebtrace" -p "$program" >/dev/null 2>"$TMP/err"
	status=$?
	wait "$program"
	case $status in 0 | 4 | 5) ;; *) bad=$((bad + 1)); diag "status $status: $(cat "$TMP/err")" ;; esac
	[ "$(wc -l <"$TMP/err")" -le 2 ] || { bad=$((bad + 1)); diag "$(cat "$TMP/err")"; }
done
is $bad 0 "a program that ends during the attach is no surprise"
done_testing
