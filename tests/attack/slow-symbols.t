#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Debug information that takes minutes to read does not hold up a trace, nor its end: what takes too long is given up.
. tests/lib.sh
need_root
need_command jq
need_file "$O/tests/attack/slow_symbols"

# start NAME ARGS...: traces the program, as PROGRAM, TRACER
start() {
	local name=$1
	shift
	mkfifo "$TMP/$name.in"
	"$O/tests/attack/slow_symbols" <"$TMP/$name.in" >"$TMP/$name.out" &
	PROGRAM=$!
	children+=("$PROGRAM")
	exec 7>"$TMP/$name.in"
	wait_for grep -qs ready "$TMP/$name.out"
	"$O/ebtrace" -v -p $PROGRAM --bpf-buffer 128M --stack=begin -f ndjson \
		-o "$TMP/$name.ndjson" "$@" 2>"$TMP/$name.err" 7>&- &
	TRACER=$!
	children+=("$TRACER")
	wait_for grep -qs "attached to" "$TMP/$name.err"
}
find_worker() { # the process that reads symbols, which is busy
	local pid
	for pid in $(pgrep -P "$TRACER"); do
		grep -q '^Seccomp:.*2' "/proc/$pid/status" 2>/dev/null &&
			[ "$(awk '{print $14 + $15}' "/proc/$pid/stat" 2>/dev/null)" -gt 5 ] && return
	done
	return 1
}
finish() { # a run of NAME that has ended
	exec 7>&-
	wait $PROGRAM
	is "$(jq -c 'select(.kind == "summary") | [.lost_events, .lost_words]' "$TMP/$1.ndjson")" "[0,0]" "nothing is lost"
	is "$(jq -r 'select(.kind == "begin") | .stack | length' "$TMP/$1.ndjson" | sort -u)" "44" \
		"the stacks are whole all the same"
}

# While a process reads symbols, the trace goes on.
start on
echo >&7
wait_for find_worker
ok $? "symbols are read by another process"
for i in {1..20}; do echo; done >&7
done_all() { [ "$(grep -c done "$TMP/on.out")" = 21 ]; }
wait_for done_all
kill -TERM $TRACER
wait $TRACER
is $? 0 "a signal ends the run while symbols are read" || diag "$(cat "$TMP/on.err")"
is "$(jq -r 'select(.kind == "begin") | .name' "$TMP/on.ndjson" | sort | uniq -c | tr -s ' ')" " 21000 minor" \
	"all events of that time are in the trace"
is "$(jq -r 'select(.kind == "begin") | .stack[-1]' "$TMP/on.ndjson" | grep -cvE '^(bomb_1|slow_symbols\+0x[0-9a-f]+)$')" 0 \
	"functions that were not found in time are module and offset"
finish on

# Nobody has to send one.
start timed -d 1
echo >&7
wait $TRACER
is $? 0 "the run ends by itself" || diag "$(cat "$TMP/timed.err")"
finish timed
[ "$(jq -r 'select(.kind == "begin") | .stack[-1]' "$TMP/timed.ndjson" | sort -u)" = bomb_1 ]
ok $? "with functions, of the symbol table where the rest takes too long"
done_testing
