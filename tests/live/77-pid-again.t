#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pid that comes again within a run: another process, whose ring begins anew.
. tests/lib.sh
need_root
need_command jq
need_command unshare

# In a pid namespace of its own the next pid can be chosen.
cat >"$TMP/again" <<-'EOF'
	again() {
		echo 499 >/proc/sys/kernel/ns_last_pid
		"$@"
		sleep 0.3
	}
	export EBTRACE_START=1
	EBTRACE_LOG_WSIZE=17 again "$O/tests/prog/burst" 5000 0
	EBTRACE_LOG_WSIZE=$2 again "$O/tests/prog/burst" $1
	EBTRACE_LOG_WSIZE=17 again "$O/tests/prog/burst" 100 0
EOF
# trace NAME MODE "PAIRS CUSTOMS" LOG_WSIZE
trace() {
	O=$O ends_with 0 timeout 300 unshare -pf --mount-proc "$O/ebtrace" -q --mode "$2" -f ndjson -o "$TMP/$1" -- \
		bash "$TMP/again" "$3" "$4" >"$TMP/$1.err" 2>&1
}
trace wrapped ring "0 6000" 10 &
trace ring ring "300 0" 17 &
trace both auto "300 0" 17 &
wait

# ring_start and ring_stop of each, too
sum() { jq -s "map(select(.kind == \"$2\").$3) | add // 0" "$TMP/$1"; }
is "$(jq -r 'select(.kind == "begin").pid' "$TMP/ring" | sort -u | wc -l)" 1 "all of them have one pid"
# The second ring is overwritten before it is read; its ordinals lie within the first one's, its
# positions behind them.
is $(($(sum wrapped summary events) + $(sum wrapped summary lost_events))) $((10000 + 6000 + 200 + 6)) \
	"of a ring behind another one of its pid all is delivered or reported as lost"
for run in ring both; do
	is "$(jq 'select(.kind == "begin").ts' "$TMP/$run" | wc -l)" 5400 "$run: each event of three processes comes once"
	is "$(sum "$run" summary lost_events)" 0 "$run: and none is lost"
done

# All of them while the tracer cannot look; it is not the first process of the namespace, which
# nothing stops.
cat >"$TMP/unread" <<-'EOF'
	kill -STOP $PPID
	for i in 1 2 3 4 5; do
		echo 499 >/proc/sys/kernel/ns_last_pid
		"$O/tests/prog/burst" 300 0
	done
	kill -CONT $PPID
EOF
O=$O timeout 300 unshare -pf --mount-proc sh -c '"$@"; exit $?' sh "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- \
	bash "$TMP/unread" >"$TMP/err" 2>&1
is "$? $(jq 'select(.kind == "begin").ts' "$TMP/t" | wc -l)" "0 1500" \
	"a ring that is not read yet is not replaced by one of the same pid" || diag "$(cat "$TMP/err")"
done_testing
