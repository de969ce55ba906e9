#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A tracer that is stopped while thousands of children come and go: the kernel has no slot for all of
# them, and no room for their records. What was not followed is reported as lost, and the slots come back.
. tests/lib.sh
need_root
need_command jq
brood=$O/tests/prog/brood

# Children without markers at first, as each that is probed would take its time.
cat >"$TMP/program" <<'END'
: >"$2/begun"
while [ ! -e "$2/go" ]; do sleep 0.02; done
"$1" 4200 0 0 8
: >"$2/over"
while [ ! -e "$2/more" ]; do sleep 0.02; done
"$1" 20 0 0
: >"$2/done"
END
stopped() { [ "$(awk '{ print $3 }' "/proc/$tracer/stat")" = T ]; }

for room in 16M 4K; do
	rm -f "$TMP"/{begun,go,over,more,done}
	"$O/ebtrace" --mode probes --bpf-buffer $room -f ndjson -o "$TMP/t" -- \
		sh "$TMP/program" "$brood" "$TMP" 2>"$TMP/err" &
	tracer=$!
	children+=("$tracer")
	wait_for test -e "$TMP/begun"
	wait_for rests "$tracer"
	kill -STOP "$tracer"
	wait_for stopped
	: >"$TMP/go"
	for i in 1 2 3; do [ -e "$TMP/over" ] || wait_for test -e "$TMP/over"; done
	kill -CONT "$tracer"
	wait_for rests "$tracer"
	more=$(awk '{ printf "%d", $1 * 1e9 }' /proc/uptime)
	: >"$TMP/more"
	wait "$tracer"
	is "$? $(test -e "$TMP/done"; echo $?)" "0 0" "a buffer of $room: the program runs to its end"
	is "$(jq -s '[.[] | select(.kind == "lost" and .history != true)] | length > 0' "$TMP/t")" true \
		"a buffer of $room: children that were not followed are a loss" || diag "$(tail -1 "$TMP/t")"
	last=$(jq -s '[.[] | select(.kind == "process" and .change == "exec")] | last.pid' "$TMP/t")
	# 4K are less than their records: where the tracer waits for a CPU meanwhile some are a loss again.
	jq -es --argjson pid "$last" --argjson more "$more" --arg room $room '
		([.[] | select(.pid == $pid and .kind == "process" and .change == "fork")] | length) as $forks
		| $forks == 20 or $room == "4K" and any(.[]; .kind == "lost" and .ts >= $more)' "$TMP/t" >"$TMP/jq"
	ok $? "a buffer of $room: those that come later are all followed" ||
		diag "$(tail -1 "$TMP/t")" "$(tail -2 "$TMP/err")"
done
done_testing
