#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pipe that nobody reads does not keep ebtrace from ending: one signal is enough, and what is not written is counted.
. tests/lib.sh
need_root
need_file "$O/tests/prog/minigc"

mkfifo "$TMP/fifo"
exec 8<>"$TMP/fifo" # a reader that never reads
EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q -t 1 -s 3600 -r 200000 -c /dev/null &
program=$!
children+=($program)
wait_for test -s "$TMP/$program.events"

waits_in_write() { grep -q pipe_write "/proc/$1/task/"*/wchan; }
is_gone() { ! grep -q '^State:[[:space:]]*[^Z]' "/proc/$1/status" 2>/dev/null; }
# end_by SIGNAL ARGS...: sends one signal when the output is full.
end_by() {
	local signal=$1 pid
	shift
	# What an earlier run wrote is still in the pipe, and fills it.
	env --default-signal "$O/ebtrace" "$@" >"$TMP/fifo" 2>"$TMP/err" 8>&- &
	pid=$!
	children+=("$pid")
	wait_for waits_in_write "$pid"
	kill "-$signal" "$pid"
	wait_for is_gone "$pid" || kill -KILL "$pid"
	wait "$pid"
	STATUS=$?
}
says() { [ "$(grep -c '^ebtrace: standard output took nothing more after the signal: [1-9][0-9]* bytes that were ready' "$TMP/err")" = 1 ]; }
for format in text ndjson chrome fxt perfetto ebt; do
	end_by TERM -p $program --mode ring -f $format
	is $STATUS 1 "$format: a signal ends a trace whose output nobody reads"
	says
	ok $? "$format: how much is not written is said" || diag "$(cat "$TMP/err")"
done
end_by INT -p $program --mode stream -f ndjson
is $STATUS 1 "with probes as well"
says
ok $? "and said" || diag "$(cat "$TMP/err")"
end_by INT -p $program --mode ring -d 1ms -f text
is $STATUS 1 "a run that is over ends by the first SIGINT" || diag "$(cat "$TMP/err")"
ends_with 0 "$O/ebtrace" -q -p $program --mode ring -d 200ms -o "$TMP/some.ebt"
for format in text ndjson chrome fxt perfetto; do
	end_by TERM "$TMP/some.ebt" -f $format
	[ $STATUS = 1 ] || [ $STATUS = 143 ]
	ok $? "$format: a signal ends the conversion of a file" || diag "status $STATUS"
done
end_by INT stat -p $program --interval 1ms
is $STATUS 1 "stat: a signal ends a report whose lines nobody reads" || diag "$(cat "$TMP/err")"
kill -0 $program
ok $? "the program runs on"
done_testing
