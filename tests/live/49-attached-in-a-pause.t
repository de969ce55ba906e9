#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Attached while a process pauses: the phases inside of that pause are none, however long it lasts.
. tests/lib.sh
need_root
need_command jq
prog=$O/tests/prog/long_pause
need_file "$prog"

attached() { # NAME OPTION...
	local name=$1
	shift
	rm -f "$TMP"/{in,out,stat} # those of the run before
	mkfifo "$TMP/in"
	"$prog" <"$TMP/in" >"$TMP/out" &
	traced=$!
	children+=($traced)
	exec 7>"$TMP/in"
	wait_for grep -qs paused "$TMP/out"
	timeout 300 "$O/ebtrace" stat "$@" --interval 100ms --json -p $traced >"$TMP/stat" 2>"$TMP/err" 7>&- &
	tracer=$!
	children+=($tracer)
	# It sees the phases, for longer than a second.
	wait_for eval "[ \"\$(wc -l <'$TMP/stat')\" -gt 11 ]"
	exec 7>&-
	end_well $tracer
	jq -es '.[-1] | .total.pauses.count == 3 and .total.pauses.cut.start == 1 and
		(.blame == null or .blame.pauses == 3)' "$TMP/stat" >"$TMP/jq"
	ok $? "$name: three pauses are counted, and one that was cut" ||
		diag "$(tail -1 "$TMP/stat" | jq -c '[.total.pauses.count, .total.pauses.cut, .blame.pauses]')" "$(cat "$TMP/err")"
}
for mode in auto stream watermark probes; do
	attached $mode --mode $mode
	attached "$mode --blame" --mode $mode --blame
done
done_testing
