#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One signal ends a trace that still begins, and what is not begun is not begun. What no signal interrupts, the
# removal of probes, is reported when it takes long.
. tests/lib.sh
need_root
need_file "$O/tests/prog/minigc"
need_command cc

EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q -t 1 -s 3600 -r 2000 -c /dev/null &
program=$!
children+=($program)
wait_for test -s "$TMP/$program.events"

# early ARGS...: with a signal that waits since before ebtrace began.
early() {
	env --block-signal=TERM bash -c 'kill -TERM $$; exec "$0" "$@"' "$O/ebtrace" -v "$@" -p $program 2>"$TMP/err"
}
early --mode stream -f ndjson -o "$TMP/out"
is "$? $(grep -c "attached to" "$TMP/err") $(tail -n 1 "$TMP/out" | grep -c '"summary"')" "0 0 1" \
	"a signal that comes early ends the run, whose output is whole, before a process is attached to" ||
	diag "$(cat "$TMP/err")"
ends_with 0 "$O/ebtrace" -v --mode stream -d 1ms -p $program -o /dev/null -f text 2>"$TMP/err"
grep -q "attached to" "$TMP/err"
ok $? "which else it is" || diag "$(cat "$TMP/err")"

# The process that has the probes is stopped, and cannot remove them.
: >"$TMP/err"
"$O/ebtrace" -v --mode stream -p $program -f ndjson -o "$TMP/out" 2>"$TMP/err" &
tracer=$!
children+=($tracer)
wait_for grep -q "real-time scheduling" "$TMP/err"
wait_for rests $tracer # it attaches to nothing more, which would wait for that process
keeper=$(pgrep -P $tracer -x uprobe-links)
kill -STOP "$keeper"
kill -TERM $tracer
wait_for grep -q "removing probes: for each the kernel waits until no CPU runs it any more" "$TMP/err"
ok $? "while probes are removed, which takes long, a line says what is waited for" || diag "$(cat "$TMP/err")"
kill -CONT "$keeper"
wait $tracer
is "$? $(tail -n 1 "$TMP/out" | grep -c '"summary"')" "0 1" "then the output is finished"

# An exec that waits for its file, as one on a server that is away.
printf '#include <unistd.h>\nint execvp(const char *f, char *const *a) { (void)f; (void)a; for (;;) pause(); }\n' >"$TMP/hang.c"
cc -shared -fPIC -o "$TMP/hang.so" "$TMP/hang.c" 2>"$TMP/log"
ok $? "what holds up exec is compiled" || diag "$(cat "$TMP/log")"
for args in "--mode ring" "--mode probes" "mem record -o $TMP/out.ctf"; do
	# shellcheck disable=SC2086
	LD_PRELOAD=$TMP/hang.so "$O/ebtrace" $args -- cat 2>"$TMP/err" &
	tracer=$!
	children+=($tracer)
	hangs() {
		child=$(pgrep -P $tracer -x ebtrace) && grep -q pause "/proc/$child/wchan" "/proc/$child/stack" 2>/dev/null
	}
	wait_for hangs
	kill -TERM $tracer
	is_over() { ! kill -0 $tracer 2>/dev/null; }
	wait_for is_over
	wait $tracer
	is "$? $(grep -c "cannot run 'cat': Operation canceled" "$TMP/err")" "126 1" \
		"${args% -o*}: a program that does not come to its exec is ended by the signal, too" || diag "$(cat "$TMP/err")"
	gone() { [ ! -d "/proc/$child" ]; }
	wait_for gone
	ok $? "and nothing of it is left"
done
done_testing
