#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Memory follows what is under way, not the length of the run: the peak of ebtrace for five times
# as many events, at a rate that the output keeps up with, is nearly the same.
. tests/lib.sh
need_root
need_file "$O/tests/prog/minigc"
events=${EVENTS:-300000}

# peak MODE N: sets kib, and delivered to the events in the file.
peak() {
	"$O/ebtrace" --mode "$1" -f ndjson -o "$TMP/out" -- \
		"$O/tests/prog/minigc" -q -t 4 -n "$2" -r 40000 -c /dev/null 2>"$TMP/err" &
	local tracer=$! now
	children+=("$tracer")
	kib=0
	# In each run rings and buffers get as full as a busy machine makes them at some time.
	wait_for test -s "$TMP/out.part"
	kill -STOP "$tracer"
	sleep 1
	kill -CONT "$tracer"
	while now=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$tracer/status" 2>/dev/null) && [ -n "$now" ]; do
		kib=$now
		sleep 0.05
	done
	wait "$tracer"
	is $? 0 "$1, $2 events: the trace ends well"
	delivered=$(tail -1 "$TMP/out" | jq .events)
	rm -f "$TMP/out"
}

for mode in ring stream; do
	peak $mode "$events"
	small=$kib few=$delivered
	peak $mode $((5 * events))
	[ "$delivered" -ge $((4 * few)) ] && [ "$small" -gt 0 ]
	ok $? "$mode: the second run is that much longer"
	# 12 MiB are for how much of that comes together: keeping 16 bytes of each event would show.
	[ $((kib * 100)) -lt $((small * 112 + 1228800)) ]
	ok $? "$mode: the peak of memory hardly grows"
	diag "$mode: $small KiB for $few events, $kib KiB for $delivered"
done
done_testing
