#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Root's ebtrace takes a higher priority where a live program would not wait for it, and nowhere else. A program that it
# starts has the niceness and the limits that it would have had.
. tests/lib.sh
need_root
[ "$(nice)" = 0 ] || skip_all "was started with a niceness of its own"
nice_of() { awk '{ print $19 }' "/proc/$1/stat"; }

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

EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q -t 1 -s 600 -r 2000 -c /dev/null &
program=$!
children+=($program)
wait_for test -s "$TMP/$program.events"
rest=(-f text -p "$program")
is "$(of_tracer "$O/ebtrace")" -20 "a live process is read with the highest priority"
is "$(of_tracer nice -n 5 "$O/ebtrace")" 5 "a niceness that the user has set stays"
is "$(of_tracer nice -n -3 "$O/ebtrace")" -3 "one below 0 too"

# Large enough that it is not at its end when we look.
ends_with 0 "$O/ebtrace" -q -d 500ms -o "$TMP/one.ebt" -p $program
for ((i = 0; i < 64; i++)); do cat "$TMP/one.ebt"; done >"$TMP/all.ebt"
mkfifo "$TMP/input"
(exec 8>"$TMP/input"; cat "$TMP/one.ebt" >&8; sleep 20) &
children+=($!)
rest=(-f text "$TMP/input")
is "$(of_tracer "$O/ebtrace")" 0 "a file is converted without it"

# policy_of COMMAND...: how the kernel schedules it, and whether it says so. A tracer that uses more than
# half of a CPU, as it may while it reads what the rings hold already, has no real-time scheduling for
# a second.
class_of() { ps -o cls= -p "$1" | tr -d ' '; }
is_real_time() { [ "$(class_of "$1")" = FF ]; }
policy_of() {
	mkfifo "$TMP/fifo"
	"$@" -v -o "$TMP/fifo" -f text -p "$program" 2>"$TMP/err" &
	local tracer=$!
	exec 9<"$TMP/fifo"
	read -r _ <&9
	cat <&9 >/dev/null &
	[ "${wanted:-TS}" = TS ] || wait_for is_real_time $tracer >&2
	class_of $tracer
	exec 9<&-
	kill -9 $tracer 2>/dev/null
	wait 2>/dev/null
	rm "$TMP/fifo"
}
if [ "$(nproc)" -gt 1 ]; then
	is "$(wanted=FF policy_of "$O/ebtrace")" FF "its rings are read under real-time scheduling"
	is "$(grep -c 'real-time scheduling.*: on (--no-realtime' "$TMP/err")" 1 "-v reports it, and how to switch it off"
	is "$(policy_of "$O/ebtrace" --no-realtime)" TS "--no-realtime leaves it alone"
	is "$(policy_of nice -n 5 "$O/ebtrace")" TS "and so does a niceness that the user has set"
	is "$(grep -c 'real-time scheduling.*: off: ebtrace was started with a niceness' "$TMP/err")" 1 "which -v reports"
	is "$("$O/ebtrace" -q -o "$TMP/out" -- sh -c 'ps -o cls= -p $$' 2>"$TMP/err" | tr -d ' ')" TS \
		"a program that it starts is scheduled as others"
	is "$(policy_of taskset 1 "$O/ebtrace")" TS "on one CPU it is left to the program"
fi

# The program gets what it would have had without us.
for n in 0 7; do
	is "$(nice -n $n "$O/ebtrace" -q -o "$TMP/out" -- sh -c 'nice >&2' 2>&1 | grep -v ebtrace)" $n \
		"a program that is started under niceness $n runs with it"
done
(
	ulimit -Sn 64
	# shellcheck disable=SC2016
	"$O/ebtrace" -q -o "$TMP/out" -- sh -c 'ulimit -Sn; grep "^Max open files" "/proc/$PPID/limits"' >"$TMP/limits"
)
is "$(head -1 "$TMP/limits") $(awk 'NR == 2 { print $4, $5 }' "$TMP/limits")" "64 $(ulimit -Hn) $(ulimit -Hn)" \
	"ebtrace takes all descriptors that it may have, and the program has its own limit"
done_testing
