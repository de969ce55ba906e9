# SPDX-License-Identifier: BSD-2-Clause
# What tracing costs a program and the machine, in each mode, and how much it can take: sourced by
# run.sh. The program is minigc with one domain: a collector whose every probe stands for real work.

# program_alone NAME ENV... -- MINIGC-OPTIONS...: its wall time, s, in $wall
program_alone() {
	local env=()
	while [ "$1" != -- ]; do env+=("$1"); shift; done
	shift
	env "${env[@]}" "$usage" "$tmp/prog" "$minigc" -q -t 1 -c /dev/null "$@" 2>"$tmp/err" ||
		{ failed "minigc $*: $(tail -1 "$tmp/err")"; return 1; }
	read -r wall _ <"$tmp/prog"
}

cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# traced MODE MINIGC-OPTIONS...: sets wall (s, of the program from its start on), cpu (s, of ebtrace
# in that time), rss (MiB), lost. The program waits until the tracer is there.
traced() {
	local mode=$1 pid program tracer usage_pid before start
	shift
	rm -f "$tmp/in" "$tmp/ebtrace"
	mkfifo "$tmp/in"
	EBTRACE_START=1 "$minigc" -q -t 1 -c /dev/null -w "$@" <"$tmp/in" 2>"$tmp/err" &
	program=$!
	exec 7>"$tmp/in"
	wait_until grep -q ready "$tmp/err" || { failed "minigc does not start"; return 1; }
	"$usage" "$tmp/ebtrace" "$ebtrace" trace --mode "$mode" -f ndjson -o /dev/null \
		-p $program 2>"$tmp/ebtrace.log" &
	usage_pid=$!
	wait_until pgrep -P $usage_pid >/dev/null
	tracer=$(pgrep -P $usage_pid)
	sleep 0.7
	before=$(cpu_ticks "$tracer")
	start=$(date +%s%N)
	echo go >&7
	exec 7>&-
	wait $program
	wall=$(calc "($(date +%s%N) - $start) / 1e9")
	wait $usage_pid || { failed "mode $mode: $(tail -1 "$tmp/ebtrace.log")"; return 1; }
	read -r _ cpu rss <"$tmp/ebtrace"
	cpu=$(calc "$cpu - $before / $(getconf CLK_TCK)")
	rss=$(calc "$rss / 1024")
	# "ebtrace: 1000 events, 3 lost (6 words): /dev/null"
	lost=$(sed -n 's/.* events, \([0-9]*\) lost.*/\1/p' "$tmp/ebtrace.log")
	[ -n "$lost" ] || { failed "mode $mode: $(tail -1 "$tmp/ebtrace.log")"; return 1; }
}

wait_until() {
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" && return 0
		sleep 0.05
	done
	return 1
}

# slowdown_*: the program's wall time beside its own with the ring off; paced at a rate, where only
# what it cannot make up in its pauses shows, and at full speed, where everything does.
bench_slowdown() { # PACE MINIGC-OPTIONS...
	local pace=$1 mode base goal
	shift
	program_alone A=1 -- "$@" || return 0
	base=$wall
	program_alone EBTRACE_START=1 -- "$@" || return 0
	row "slowdown_${pace}_untraced" x "$(calc "$wall / $base")" ',"limit":1'
	for mode in ring watermark stream; do
		goal=
		[ $mode = stream ] || [ "$pace" != 1M ] || goal=',"goal":1.02'
		traced $mode "$@" || continue
		row "slowdown_${pace}_$mode" x "$(calc "$wall / $base")" ",\"limit\":1$goal"
		[ "$pace" = 1M ] || continue
		row "cpu_1M_$mode" % "$(calc "$cpu * 100 / $wall")"
		row "rss_1M_$mode" MiB "$rss" ',"goal":100'
	done
}

# The highest rate that a domain with a ring of the default size can go on with while nothing is
# lost, in millions of events a second; 0: it lost some at the lowest.
bench_lossless() {
	local mode rate best
	for mode in ring watermark; do
		best=0
		for rate in 1 2 5; do
			traced $mode -r ${rate}000000 -n ${rate}000000 || return 0
			[ "$lost" = 0 ] || break
			best=$(calc "$rate / $wall")
		done
		row "lossless_$mode" "M events/s" "$best" ',"goal":5'
	done
}

bench_modes() {
	bench_slowdown 1M -r 1000000 -n 2000000
	bench_slowdown full -n 8000000
	bench_lossless
}
