#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A sandboxed program is killed by its filter if it is made to open a file. Attaching does not make it.
. tests/lib.sh
need_root
need_command jq
need_file "$O/tests/attack/seccomp_kill"

# attached NAME ARGS... -- OPTIONS...: leaves the program's status and its events in $TMP/NAME.*
attached() {
	local name=$1 args=() program tracer
	shift
	while [ "$1" != -- ]; do args+=("$1"); shift; done
	shift
	mkfifo "$TMP/$name.in"
	"$O/tests/attack/seccomp_kill" "${args[@]}" <"$TMP/$name.in" >"$TMP/$name.out" 2>/dev/null &
	program=$!
	exec 7>"$TMP/$name.in"
	wait_for grep -qs ready "$TMP/$name.out"
	"$O/ebtrace" -v -p $program -f ndjson -o "$TMP/$name" "$@" 2>"$TMP/$name.log" 7>&- &
	tracer=$!
	wait_for grep -qsE "attached to|nothing to|its ring is off" "$TMP/$name.log"
	echo >&7
	exec 7>&-
	wait $program
	echo $? >"$TMP/$name.status"
	wait $tracer
	has_status "${WANTED:-0}" $? "$name: the tracer"
}
delivered() { grep -c '"kind":"begin".*"name":"minor"' "$TMP/$1"; }

for mode in auto watermark stream probes; do attached $mode -- --mode $mode; done
for mode in auto watermark stream probes; do
	is "$(cat $TMP/$mode.status) $(tail -1 "$TMP/$mode.out")" "0 done" \
		"--mode $mode: a program that its filter would kill for a ring survives"
	is "$(delivered $mode)" 1000 "--mode $mode: its events are delivered" || diag "$(cat "$TMP/$mode.log")"
done
grep -q "seccomp filter: it is not asked for a ring.*--ring-request always" "$TMP/auto.log"
ok $? "-v names the reason, and how to request one all the same"

WANTED=4 attached ring -- --mode ring
is "$(cat "$TMP/ring.status")" 0 "--mode ring: it survives, too"
attached thread thread --
is "$(cat "$TMP/thread.status") $(delivered thread)" "0 1000" "one that has the filter in a single thread, too"
attached never -- --ring-request never
is "$(cat "$TMP/never.status") $(delivered never)" "0 1000" "--ring-request never requests none"
attached always -- --ring-request always
is "$(cat "$TMP/always.status")" 159 "--ring-request always requests one, and the program is killed for it"
done_testing
