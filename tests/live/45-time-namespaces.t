#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A time namespace has a CLOCK_MONOTONIC of its own: times of programs in it are converted to the tracer's clock.
. tests/lib.sh
need_root
need_command jq
ahead_s=100000
unshare --time --monotonic 1 --fork true 2>"$TMP/err" || skip_all "no time namespaces: $(cat "$TMP/err")"

prog=$O/tests/prog/blamed

# pause_fits SECONDS: the last pause, by the tracer's clock, lies in what the program said by its own, which is ahead.
pause_fits() {
	awk '$1 == "sleep" { begin = $3; end = $4 } END { print begin, end }' "$TMP/said" | {
		read -r begin end
		jq -e --argjson from "$begin" --argjson until "$end" --argjson seconds "$1" '
			($seconds * 1000000000) as $ahead | (.blame.longest | max_by(.begin_ns)) as $p |
			$p.begin_ns + $ahead >= $from and $p.begin_ns + $p.ns + $ahead <= $until and
			.total.gc_ns >= ([.blame.longest[].ns] | add) and .total.elapsed_ns >= .total.gc_ns and
			$p.ns == ([$p.parts_ns[]] | add) and $p.parts_ns.sleep > 0' "$TMP/json" >/dev/null
	}
}
# blame_of MODE TRACER PROGRAM: both are run by words. Once more if the first pauses were over before probes were there.
blame_of() {
	for _ in {1..5}; do
		$2 "$O/ebtrace" stat --blame --json --mode "$1" -o "$TMP/json" -- $3 "$prog" "$TMP/file" sleep sleep sleep >"$TMP/said" 2>"$TMP/err"
		jq -e '.blame.longest | length > 0' "$TMP/json" >/dev/null && return
	done
}
described() { diag "$(cat "$TMP/said" "$TMP/err")" "$(jq -c '[.total.elapsed_ns, .total.gc_ns, .blame.longest]' "$TMP/json")"; }
other="unshare --time --monotonic $ahead_s --fork"
for mode in stream watermark ring; do
	blame_of $mode "" "$other"
	pause_fits $ahead_s
	ok $? "$mode: a pause is where it was by the tracer's clock, and slept" || described
	blame_of $mode "$other" ""
	pause_fits 0
	ok $? "$mode: also if the tracer is in the same namespace" || described
done
behind_s=$(awk '{ print int($1 / 2) }' /proc/uptime) # no clock goes below 0
blame_of stream "$other" "unshare --time --monotonic -$behind_s --fork"
pause_fits $((-behind_s - ahead_s))
ok $? "or in another one" || described

# A process that runs: events lie between the begin and the end of the trace.
EBTRACE_START=1 unshare --time --monotonic $ahead_s --fork "$O/tests/prog/loop" 600 >"$TMP/loop" 2>&1 &
children+=($!)
loop_of() { loop=$(pgrep -P "${children[0]}" -x loop); }
wait_for loop_of
children=("$loop" "${children[@]}")
now_ns() { perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d\n", clock_gettime(CLOCK_MONOTONIC) * 1e9'; }
for mode in stream watermark ring probes; do
	from=$(now_ns)
	ends_with 0 "$O/ebtrace" trace --mode $mode -d 1s -p "$loop" -o "$TMP/trace.ebt" 2>"$TMP/err"
	until=$(now_ns)
	ends_with 0 "$O/ebtrace" trace "$TMP/trace.ebt" -f ndjson 2>>"$TMP/err" >"$TMP/trace"
	# Rings hold what was before, too.
	jq -s -e --argjson from "$from" --argjson until "$until" --arg mode $mode '
		map(select(.kind == "begin") | .ts) | length > 10 and max <= $until and
		(if $mode == "probes" then min else max end) >= $from' "$TMP/trace" >/dev/null
	ok $? "$mode: events of a process that runs are of the time of the trace" ||
		diag "$from $until" "$(head -3 "$TMP/trace")" "$(cat "$TMP/err")"
done
ends_with 0 "$O/ebtrace" stat --json -d 1s -p "$loop" -o "$TMP/json" 2>"$TMP/err"
jq -e '.total.pauses.count > 10 and .total.pauses.cut.start <= 1 and .total.elapsed_ns > 0 and
	.total.elapsed_ns <= .total.wall_ns' "$TMP/json" >/dev/null
ok $? "statistics of it are of the run" || diag "$(cat "$TMP/err")" "$(jq -c '[.wall_ns, .total]' "$TMP/json")"
done_testing
