#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Root's ebtrace takes a higher priority where a live program would not wait for it, and nowhere else.
. tests/lib.sh
need_root
[ "$(nice)" = 0 ] || skip_all "was started with a niceness of its own"
nice_of() { ps -o ni= -p "$1" | tr -d ' '; }

# of_tracer COMMAND...: the niceness of an ebtrace that writes into a pipe nobody reads yet.
of_tracer() {
	mkfifo "$TMP/fifo"
	"$@" -q -o "$TMP/fifo" "${rest[@]}" 2>"$TMP/err" &
	local tracer=$!
	exec 9<"$TMP/fifo"
	read -r _ <&9
	nice_of $tracer
	exec 9<&-
	kill -9 $tracer 2>/dev/null
	wait $tracer 2>/dev/null
	rm "$TMP/fifo"
}

EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q -t 1 -s 60 -r 2000 -c /dev/null &
program=$!
children+=($program)
wait_for test -s "$TMP/$program.events"
rest=(-f text -p "$program")
is "$(of_tracer "$O/ebtrace")" -20 "a live process is read with the highest priority"
is "$(of_tracer nice -n 5 "$O/ebtrace")" 5 "a niceness that the user has set stays"
is "$(of_tracer nice -n -3 "$O/ebtrace")" -3 "one below 0 too"

# Large enough that it is not at its end when we look.
"$O/ebtrace" -q -d 500ms -o "$TMP/one.ebt" -p $program
for ((i = 0; i < 64; i++)); do cat "$TMP/one.ebt"; done >"$TMP/all.ebt"
mkfifo "$TMP/input"
(exec 8>"$TMP/input"; cat "$TMP/one.ebt" >&8; sleep 20) &
children+=($!)
rest=(-f text "$TMP/input")
is "$(of_tracer "$O/ebtrace")" 0 "a file is converted without it"

# The program gets what it would have had without us.
for n in 0 7; do
	is "$(nice -n $n "$O/ebtrace" -q -o "$TMP/out" -- sh -c 'nice >&2' 2>&1 | grep -v ebtrace)" $n \
		"a program that is started under niceness $n runs with it"
done
done_testing
