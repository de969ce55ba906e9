# SPDX-License-Identifier: BSD-2-Clause
# What it costs that it is recorded when threads do not run (--blame): sourced by run.sh. Of a traced
# process and of a bystander, what a switch takes longer than with no program at all, and a wake-up: what
# a switch with one takes longer than that; and a page fault (--blame=faults).
blame_turns=5
blame_option=--blame

# blame_run NAME COMMAND...: a line of $tmp/blame_NAME, of the command's own number
blame_run() {
	local name=$1
	shift
	rm -f "$tmp/cost"
	"$@" >/dev/null 2>"$tmp/err" && cat "$tmp/cost" >>"$tmp/blame_$name" ||
		{ failed "blame $name: $(tail -1 "$tmp/err")"; return 1; }
}

# while_watched WATCH... -- CMD...: the command while ebtrace WATCH watches the threads of a process that sleeps.
while_watched() {
	local watcher victim status watch=()
	while [ "$1" != -- ]; do watch+=("$1"); shift; done
	shift
	sleep 1000 &
	victim=$!
	: >"$tmp/watch.log"
	"$ebtrace" "${watch[@]}" -v -p $victim 2>"$tmp/watch.log" &
	watcher=$!
	wait_until grep -q 'has no markers' "$tmp/watch.log"
	"$@"
	status=$?
	kill -INT $watcher
	wait $watcher
	kill $victim
	wait $victim 2>/dev/null
	return $status
}
# shellcheck disable=SC2086
blame_watched() { while_watched trace $blame_option -f ndjson -o /dev/null -- "$@"; }

# While they have programs that return at once at their page faults: another process, or the command.
blame_beside_empty() {
	local victim status
	sleep 1000 &
	victim=$!
	empty_begin "$tmp/empty" faults $victim
	"$@"
	status=$?
	empty_end $empty_pid "$tmp/empty"
	kill $victim
	wait $victim 2>/dev/null
	return $status
}
blame_empty() {
	local command status
	rm -f "$tmp/in"
	mkfifo "$tmp/in"
	bash -c 'read -r _; exec "$@"' - "$@" <"$tmp/in" &
	command=$!
	exec 7>"$tmp/in"
	empty_begin "$tmp/empty" faults $command
	echo >&7
	exec 7>&-
	wait $command
	status=$?
	empty_end $empty_pid "$tmp/empty"
	return $status
}

blame_traced() { "$ebtrace" trace $blame_option -q -f ebt -o "$tmp/blame.ebt" -- "$@"; }
blame_least() { least "$tmp/blame_$1"; } # of medians

# CPU time of a program that collects all the time, in ms; the reports alone.
blame_stat() { "$ebtrace" stat --json "$@" -o "$tmp/stat.json" -- "$minigc" -q -t 2 -n 1000000 -c /dev/null; }
blame_stat_cost() {
	blame_stat "$@" && jq -s '.[-1].total | (.cpu_user_ns + .cpu_system_ns) / 1e6' "$tmp/stat.json" >"$tmp/cost"
}

bench_blame_stat() {
	local turn
	for ((turn = 0; turn < blame_turns; turn++)); do
		blame_run stat_plain blame_stat_cost || return 0
		blame_run stat_explained blame_stat_cost --blame || return 0
	done
	row stat_blame x "$(calc "$(blame_least stat_explained) / $(blame_least stat_plain)")" ',"limit":1,"goal":1.01'
}

bench_blame() {
	local turn kind who loop=$O/tests/bench/bench_switch
	rm -f "$tmp"/blame_*
	bench_blame_stat
	for ((turn = 0; turn < blame_turns; turn++)); do
		for kind in yield wake; do
			blame_run ${kind}_bare "$loop" $kind "$tmp/cost" || return 0
			blame_run ${kind}_bystander blame_watched "$loop" $kind "$tmp/cost" || return 0
			blame_run ${kind}_traced blame_traced "$loop" $kind "$tmp/cost" || return 0
		done
	done
	for ((turn = 0; turn < blame_turns; turn++)); do
		blame_run fault_bare "$loop" fault "$tmp/cost" || return 0
		blame_option=--blame=faults blame_run fault_bystander blame_watched "$loop" fault "$tmp/cost" || return 0
		blame_option=--blame=faults blame_run fault_traced blame_traced "$loop" fault "$tmp/cost" || return 0
		blame_run fault_empty_bystander blame_beside_empty "$loop" fault "$tmp/cost" || return 0
		blame_run fault_empty_traced blame_empty "$loop" fault "$tmp/cost" || return 0
	done
	for who in traced bystander; do
		local added
		added=$(calc "$(blame_least yield_$who) - $(blame_least yield_bare)")
		row blame_switch_$who ns "$added" ",\"goal\":$([ $who = traced ] && echo 300 || echo 100)"
		row blame_wakeup_$who ns \
			"$(calc "$(blame_least wake_$who) - $(blame_least wake_bare) - $added")" \
			",\"goal\":$([ $who = traced ] && echo 110 || echo 70)"
		local limit
		limit=$(calc "$(blame_least fault_empty_$who) - $(blame_least fault_bare)")
		row blame_fault_$who ns "$(calc "$(blame_least fault_$who) - $(blame_least fault_bare)")" \
			",\"limit\":$limit,\"goal\":$(calc "1.3 * $limit")"
	done
}
