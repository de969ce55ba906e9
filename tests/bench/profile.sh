# SPDX-License-Identifier: BSD-2-Clause
# What profile costs: of a program of OCaml with 20 functions on its stack the share of its time that samples take
# at 99 Hz, by the kernel's account of the BPF program, with that of hits of other CPUs; the tracer's share of a CPU,
# with names; and what a switch takes longer with --off-cpu, of a traced process and of a bystander. Sourced by run.sh.
profile_seconds=8

bench_profile() {
	bench_profile_switches
	[ -n "${ocaml_frames:-}" ] || return 0
	local program tracer before after began stats=/proc/sys/kernel/bpf_stats_enabled was
	was=$(cat $stats)
	: >"$tmp/said"
	"$ocaml_frames" $((profile_seconds + 6)) >"$tmp/said" &
	program=$!
	wait_until grep -q ready "$tmp/said"
	"$ebtrace" profile -v -o "$tmp/profile.ebt" -p $program 2>"$tmp/err" &
	tracer=$!
	wait_until grep -q 'has no markers' "$tmp/err"
	sleep 3 # it has read its symbols
	echo 1 >$stats
	before=$(cpu_ticks $tracer) began=$(cpu_ticks $program)
	sleep $profile_seconds
	after=$(cpu_ticks $tracer)
	began=$(($(cpu_ticks $program) - began))
	bpftool --json prog show name ebt_sample >"$tmp/bpf"
	echo "$was" >$stats
	kill $program
	wait $tracer $program 2>/dev/null
	row profile_program % "$(jq "[.. | objects | select(.run_time_ns)] | .[-1].run_time_ns * 100 / ($began * 1e9 / $(getconf CLK_TCK))" "$tmp/bpf")" ',"goal":0.2'
	row profile_tracer % "$(calc "($after - $before) * 100 / $(getconf CLK_TCK) / $profile_seconds")" ',"goal":1'
}

offcpu_watched() { while_watched profile --off-cpu -o "$tmp/watch.ebt" -- "$@"; }
offcpu_traced() { "$ebtrace" profile --off-cpu -q -o "$tmp/offcpu.ebt" -- "$@"; }

bench_profile_switches() {
	local turn who loop=$O/tests/bench/bench_switch
	rm -f "$tmp"/blame_offcpu_*
	for ((turn = 0; turn < blame_turns; turn++)); do
		blame_run offcpu_bare "$loop" yield "$tmp/cost" || return 0
		blame_run offcpu_bystander offcpu_watched "$loop" yield "$tmp/cost" || return 0
		blame_run offcpu_traced offcpu_traced "$loop" yield "$tmp/cost" || return 0
	done
	for who in traced bystander; do
		row offcpu_switch_$who ns "$(calc "$(blame_least offcpu_$who) - $(blame_least offcpu_bare)")" \
			",\"goal\":$([ $who = traced ] && echo 2330 || echo 100)"
	done
}
