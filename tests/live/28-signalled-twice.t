#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A signal that comes twice at once, from one sender, asks once: the output is finished. timeout(1) sends
# two, one to ebtrace and one to its group. From two senders it is a second request: the output is
# left, but the probes are gone all the same.
. tests/lib.sh
need_root
RUNS=8
EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q -t 1 -s 3600 -r 2000 -c /dev/null &
program=$!
children+=($program)
wait_for test -s "$TMP/$program.events"
text() {
	local range
	range=$(awk -v exe="$(readlink /proc/$program/exe)" '$2 == "r-xp" && $6 == exe { print $1 }' /proc/$program/maps)
	dd if=/proc/$program/mem bs=4096 skip=$((0x${range%-*} / 4096)) \
		count=$(((0x${range#*-} - 0x${range%-*}) / 4096)) status=none | cksum
}
is_clean() { [ "$(text)" = "$clean" ]; }
finished() { tail -qn 1 "$TMP"/out.* | grep -c '"summary"'; }
clean=$(text)

# All of them have begun by then, on a slow machine as well.
begun_at=$SECONDS
ends_with 0 "$O/ebtrace" -q --mode stream -d 1ms -o /dev/null -f text -p $program
ran_s=$((3 + RUNS * (SECONDS - begun_at)))

for mode in ring stream; do
	rm -f "$TMP"/out.*
	for ((i = 0; i < RUNS; i++)); do
		timeout $ran_s "$O/ebtrace" -q --mode $mode -f ndjson -o "$TMP/out.$i" -p $program &
		runs[i]=$!
	done
	wait "${runs[@]}"
	is "$(finished)" $RUNS "$mode: timeout(1) ends the trace, and the output is finished"
	rm -f "$TMP"/out.*
	for ((i = 0; i < RUNS; i++)); do
		(
			"$O/ebtrace" -q --mode $mode -f ndjson -o "$TMP/out.$i" -p $program &
			sleep $ran_s
			kill -TERM $!
			kill -TERM $!
			wait $!
		) 2>/dev/null &
		runs[i]=$!
	done
	wait "${runs[@]}"
	is "$(finished)" $RUNS "$mode: and so if one sender sends two"
done
is_clean
ok $? "the program's text is as before"

for ((i = 0; i < RUNS; i++)); do
	"$O/ebtrace" -q --mode stream -f ndjson -o /dev/null -p $program &
	tracer=$!
	wait_for eval '! is_clean'
	kill -TERM $tracer
	(kill -INT "$tracer") 2>/dev/null
	wait $tracer
	status=$?
	is_clean || bad=1
	[ $status -gt 128 ] && skipped=1
done
is "${skipped:-0}" 1 "two senders: the second signal ends ebtrace"
is "${bad:-0}" 0 "two senders: when ebtrace has ended, every site is as before"
kill -0 $program
ok $? "the program runs on"
done_testing
