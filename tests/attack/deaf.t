#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Whatever a file makes ebtrace do, a signal ends it: not only between two steps that each take minutes.
. tests/lib.sh
forge=$O/tests/attack/forge_capture
need_file "$forge"

# end_by SIGNAL NAME ARGS...: sends it as soon as the run is at work; without obedience it takes minutes.
end_by() {
	local signal=$1 name=$2 pid
	shift 2
	"$O/ebtrace" "$@" >/dev/null 2>"$TMP/$name.err" &
	pid=$!
	children+=("$pid")
	is_busy() {
		[ "$(awk '{print $14 + $15}' "/proc/$pid/stat" 2>/dev/null || echo 31)" -gt 30 ] &&
			(( $(awk '/^Sig(Cgt|Blk)/ { printf " 0x%s |", $2 } END { print " 0" }' "/proc/$pid/status") & 1 << 14 ))
	}
	wait_for is_busy
	kill "-$signal" "$pid"
	is_gone() { ! grep -q '^State:[[:space:]]*[^Z]' "/proc/$pid/status" 2>/dev/null; }
	wait_for is_gone
	wait "$pid"
	STATUS=$?
}
"$forge" names_long 20000 >"$TMP/long.ebt"
for format in text ndjson chrome; do
	end_by TERM $format "$TMP/long.ebt" -f $format --max-stack 0
	is $STATUS 1 "$format: a signal ends the output of stacks of half a megabyte"
	grep -q "ended by a signal before the end of the input" "$TMP/$format.err"
	ok $? "which is said" || diag "$(cat "$TMP/$format.err")"
done
done_testing
