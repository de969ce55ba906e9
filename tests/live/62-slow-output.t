#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A live run whose output cannot keep up says which part limits, and what to use instead.
. tests/lib.sh
need_command script

mkfifo "$TMP/fifo"
# Its reader has the first 64 KiB, then nothing until the program has ended.
slow() { # FORMAT
	timeout 300 "$O/ebtrace" --mode ring --buffer 4M -f "$1" -o "$TMP/fifo" -- \
		sh -c "'$O/tests/prog/minigc' -q -t 2 -n 1500000 -c /dev/null; sleep 1; : >'$TMP/ended'" 2>"$TMP/err" &
	tracer=$!
	{
		head -c 65536 >/dev/null
		wait_for test -e "$TMP/ended"
		cat >/dev/null
	} <"$TMP/fifo"
	wait $tracer
	is $? 0 "$1: a reader that is slow does not change the status"
	rm "$TMP/ended"
}
slow ndjson
grep -q "the output cannot keep up: [0-9]* % of the busy time is spent waiting for its disk or reader; record a capture (-o FILE.ebt) and convert it later" "$TMP/err"
ok $? "ndjson: a line reports that the output's reader limits, and that a capture needs less" || diag "$(cat "$TMP/err")"
slow ebt
if grep -q "the output cannot keep up" "$TMP/err"; then
	grep -q "write to a faster one, or record less (-e GLOB)" "$TMP/err"
	ok $? "ebt: a capture is not recommended in place of a capture" || diag "$(cat "$TMP/err")"
fi


# Who watches is told while it runs, and again at the end.
cat >"$TMP/watched" <<END
'$O/ebtrace' --mode ring --buffer 4M -f ndjson -o '$TMP/fifo' -- sh -c \
	"'$O/tests/prog/minigc' -q -t 2 -n 1500000 -c /dev/null; until [ -e '$TMP/go' ]; do sleep 0.1; done"
END
timeout 300 script -qefc "sh '$TMP/watched'" "$TMP/terminal" >/dev/null </dev/null &
tracer=$!
{
	head -c 65536 >/dev/null
	for i in 1 2 3; do # so that the loss gets through the backlog
		head -c 8000000 >/dev/null
		sleep 0.5
	done
	wait_for grep -q "cannot keep up" "$TMP/terminal"
	ok $? "on a terminal it is reported while the program runs"
	: >"$TMP/go"
	cat >/dev/null
} <"$TMP/fifo"
end_well $tracer
is "$(grep -c 'cannot keep up' "$TMP/terminal")" 2 "once, and at the end"

# With nothing lost there is nothing to say, however slow the reader is.
(sleep 1; cat >/dev/null) <"$TMP/fifo" &
"$O/ebtrace" --mode ring -f ndjson -o "$TMP/fifo" -- "$O/tests/prog/minigc" -q -t 1 -n 20000 -r 40000 -c /dev/null 2>"$TMP/err"
is "$? $(grep -c 'cannot keep up' "$TMP/err")" "0 0" "a slow reader that delays nothing is not reported"
wait
done_testing
