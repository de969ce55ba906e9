#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A ring that a process made and left between two looks is read before it is removed, where probes only wake the
# tracer; of a program that ended before its probes were in place the message is not that it had nothing.
. tests/lib.sh
need_root
need_command jq
gc=$O/tests/prog/minigc
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR
export XDG_RUNTIME_DIR=$TMP/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
stopped() { grep -q '^State:.*T' "/proc/$1/status"; }
ended() { ! grep -qs '^State:.*[^ZX] (' "/proc/$1/status"; }
waits() { program=$(pgrep -P "$tracer" -x minigc) && rests "$program" && took_signals "$program"; }

# left ARGS...: the program ends while the tracer stands still
left() {
	rm -f "$TMP/in"
	mkfifo "$TMP/in"
	"$O/ebtrace" "$@" -- sh -c "exec '$gc' -q -w -t 1 -n 300 -c '$TMP/counts'" <"$TMP/in" 2>"$TMP/err" 7>&- &
	tracer=$!
	children+=($tracer)
	exec 7>"$TMP/in"
	wait_for waits
	wait_for tracer_rests
	kill -STOP $tracer
	wait_for stopped $tracer
	echo >&7
	exec 7>&-
	wait_for ended "$program"
	kill -CONT $tracer
	end_well $tracer
}
left stat --json -o "$TMP/stat"
is "$? $(jq -c '[.total.collections.minor, .total.collections.major, .total.lost.events]' "$TMP/stat")" \
	"0 [20,1,0]" "stat reads the ring of a program that was there and gone" || diag "$(cat "$TMP/err")"
is "$(grep -c 'nothing was traced' "$TMP/err") $(ls -A "$XDG_RUNTIME_DIR/ebtrace" 2>&1)" "0 " "no message denies it, and the ring is removed"
left --mode watermark -f ndjson -o "$TMP/events"
is "$? $(grep -c '"kind":"begin"' "$TMP/events")" "0 $(awk '$1 == 0 && $2 == "begin" { print $3 }' "$TMP/counts")" \
	"so does trace --mode watermark, each event" || diag "$(cat "$TMP/err")"

for i in {1..40}; do
	ends_with 0 "$O/ebtrace" stat -o /dev/null -- sh -c "exec '$gc' -q -t 1 -n 1 -c /dev/null" 2>"$TMP/err.$i"
done
is "$(cat "$TMP"/err.* | grep -c 'has neither a ring file nor markers')" 0 "of one with markers that is too short no message says that it has none"
done_testing
