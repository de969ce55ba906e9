# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the tests of --mode counters, behind tests/lib.sh: both ways of counting, at once.

# start PROGRAM ARGS...: its input is $go; sets PID.
start() {
	rm -f "$TMP/go" "$TMP/out" "$TMP/said" && mkfifo "$TMP/go"
	"$@" <"$TMP/go" >"$TMP/out" 2>"$TMP/said" &
	PID=$!
	children+=("$PID")
	exec 9>"$TMP/go"
	tracers=()
}
go() { echo >&9 && exec 9>&-; }

# attach NAME MODE [OPTIONS...]: stat of PID, into NAME.json.
attach() {
	local name=$1 mode=$2
	shift 2
	rm -f "$TMP/$name.log" # that of the run before
	"$O/ebtrace" stat -v --json --mode "$mode" -p "$PID" -o "$TMP/$name.json" "$@" \
		9>&- 2>"$TMP/$name.log" &
	children+=("$!")
	tracers+=("$!")
	wait_for grep -sq 'attached to' "$TMP/$name.log"
}

# both [EVENTS-MODE]: PID to its end, with all its events behind the attach.
both() {
	attach events "${1:-probes}"
	attach counters counters
	go
	wait "$PID"
	wait "${tracers[@]}"
}

# retry COMMAND...: both at once again, where an event came late: its phase has no length then.
retry() {
	local i
	for i in 1 2 3 4 5; do
		"$@"
		both
		[ "$(number events '.total.late + .total.lost.events')" = 0 ] && return
	done
}

# What of a report does not depend on when its tracer began. The standard deviation is that of the
# histogram's buckets, which are 0.1 % wide.
same='del(.begin_ns, .source) | del(.. | .wall_ns?, .elapsed_ns?, .gc_percent?, .stddev_ns?,
	.cpu_user_ns?, .cpu_system_ns?, .peak_rss_bytes?, .blame?, .advice?, .coverage_percent?,
	.history_events?, .history_words?)'

# Probes at functions take the time themselves, each tracer's its own, and so they may see processes
# begin in another order.
without_times() {
	same='.processes |= sort_by(.pid) | walk(if type == "object" then with_entries(select(.key | endswith("_ns") or . == "gc_percent" or
		. == "source" or . == "blame" or . == "advice" or . == "peak_rss_bytes" or
		. == "coverage_percent" or . == "history_events" or . == "history_words" | not)) else . end)'
}
# close WHAT FILTER: a time is nearly the same in both reports.
close() {
	jq -en --argjson a "$(number events "$2")" --argjson b "$(number counters "$2")" \
		'($a - $b | fabs) <= $a * 0.05 + 20000' >/dev/null
	ok $? "$1" || diag "$(number events "$2")" "$(number counters "$2")"
}

# check_same WHAT PAUSES: the reports are the same, of so many pauses at least.
check_same() {
	jq -S "$same" "$TMP/events.json" >"$TMP/events"
	jq -S "$same" "$TMP/counters.json" >"$TMP/counters"
	[ "$(number events .total.pauses.count)" -ge "$2" ]
	ok $? "$1: there are pauses" || diag "$(number events .total.pauses)"
	same_file "$TMP/counters" "$TMP/events" "$1: the kernel counts what stat counts"
}

# number NAME FILTER: of NAME.json
number() { jq -c "$2" "$TMP/$1.json"; }
