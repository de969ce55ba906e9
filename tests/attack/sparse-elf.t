#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Files that a process maps are anybody's: sparse ones of 500 MB, mapped thousands of times, must not
# keep who attaches to it from doing so.
. tests/lib.sh
need_file "$O/tests/attack/sparse_elf"
need_root

# start TIMES: sets PID
start() {
	mkfifo "$TMP/in.$1"
	mkdir "$TMP/$1"
	"$O/tests/attack/sparse_elf" "$TMP/$1" "$1" <"$TMP/in.$1" >"$TMP/out.$1" &
	PID=$!
	children+=("$PID")
	exec {hold}>"$TMP/in.$1"
	wait_for grep -qs ready "$TMP/out.$1"
}

for times in 50 3000; do
	start $times
	timeout -k 1 300 "$O/ebtrace" -p $PID -d 1 >"$TMP/out" 2>"$TMP/err"
	is $? 4 "two sparse files mapped $times times: attaching ends, with nothing to trace" ||
		diag "$(cat "$TMP/err")"
	peak=$(awk '/VmHWM/ {print $2}' /proc/$PID/status)
	[ "$peak" -lt 200000 ]
	ok $? "and the attacker has paid nothing for it"
	kill $PID
done

# A real program is seen all the same when it maps such a file before its own library is looked at.
"$O/ebtrace" -v -f ndjson -o "$TMP/t" -- "$O/tests/prog/markers_x86_64" <<<"fq" >"$TMP/out" 2>"$TMP/err"
is "$(grep -c '"kind":"begin"' "$TMP/t")" 1000 "a program of the same run has its markers" ||
	diag "$(cat "$TMP/err")"
done_testing
