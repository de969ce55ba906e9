# SPDX-License-Identifier: BSD-2-Clause
# What many processes and threads cost the tracer, in each mode: sourced by run.sh. CHILDREN=20000 one
# after the other, an eighth as many of OCaml, 2,000 at once, 10,000 threads of one process.

# followed LABEL ARG... -- WHAT COUNT [PROGRAM...]: the lines of bench_children under ebtrace ARG...,
# in $tmp/LABEL; false, and told, if the run failed.
followed() {
	local label=$1 args=()
	shift
	while [ "$1" != -- ]; do args+=("$1"); shift; done
	shift
	(ulimit -n "$(ulimit -Hn)"
	"$ebtrace" "${args[@]}" -- "$O/tests/bench/bench_children" "$tmp/$label" "$@") \
		>"$tmp/out" 2>"$tmp/$label.log" && return 0
	failed "children, $label: $(tail -1 "$tmp/$label.log")"
	return 1
}

# growth_rows LABEL [GOAL]: the CPU time is of the tracer until the last child has ended, and of its
# helpers until they have, too: holders of probes end later than the processes that they probe.
growth_rows() {
	local lines
	mapfile -t lines < <(awk '
		{ fds[NR] = $2; rss[NR] = $3; cpu[NR] = $4; helpers[NR] = $5; n = $1 }
		END { print fds[NR] - fds[1]; print rss[NR] / 1024
			print (cpu[4] - cpu[3]) / (cpu[2] - cpu[1])
			print (cpu[4] - cpu[1]) / 1e3 / n; print (helpers[5] - helpers[1]) / 1e3 / n
			print (cpu[4] - cpu[1] + helpers[5] - helpers[1]) / 1e3 / n }' "$tmp/$1")
	row "$1_descriptors" more "${lines[0]}" ',"goal":0'
	row "$1_rss" MiB "${lines[1]}" ',"goal":30'
	row "$1_last_thousand" x "${lines[2]}" ',"goal":1.1'
	row "$1_cpu" "us/child" "${lines[3]}"
	row "$1_cpu_helpers" "us/child" "${lines[4]}"
	row "$1_cpu_all" "us/child" "${lines[5]}" "${2:+,\"goal\":$2}"
}

at_once_rows() { # LABEL EVENTS-EACH [GOAL]
	local lines
	mapfile -t lines < <(awk -v each="$2" '
		{ n = $1; fds[NR] = $2; rss[NR] = $3; cpu[NR] = $4; helpers[NR] = $5; wall[NR] = $6 }
		END { print (fds[2] - fds[1]) / n; print (rss[2] - rss[1]) / n
			print (cpu[2] - cpu[1]) / n / 1e3; print (cpu[2] - cpu[1]) / n / each
			print (wall[2] - wall[1]) / n / 1e3; print fds[3] - fds[1]
			print (cpu[2] - cpu[1] + helpers[3] - helpers[1]) / n / 1e3 }' "$tmp/$1")
	row "$1_descriptors" each "${lines[0]}"
	row "$1_rss" "KiB each" "${lines[1]}"
	row "$1_cpu" "us each" "${lines[2]}"
	row "$1_cpu_event" "ns/event" "${lines[3]}"
	row "$1_start" "us each" "${lines[4]}"
	row "$1_left" descriptors "${lines[5]}" ',"goal":0'
	row "$1_cpu_all" "us each" "${lines[6]}" "${3:+,\"goal\":$3}"
}

bench_growth() {
	local mode n=${CHILDREN:-20000}
	local -A goal=([ring]=250 [auto]=600) goal_at_once=([ring]=300 [auto]=500)
	local -A goal_ocaml=([auto]=900)
	for mode in ring watermark stream probes auto; do
		followed "children_$mode" trace --mode $mode -f ebt -o /dev/null -- turns "$n" &&
			growth_rows "children_$mode" "${goal[$mode]:-}"
		followed "at_once_$mode" trace --mode $mode -f ebt -o /dev/null -- together 2000 &&
			at_once_rows "at_once_$mode" 20 "${goal_at_once[$mode]:-}"
	done
	for mode in ndjson text; do
		followed "children_$mode" trace --mode ring -f $mode -o /dev/null -- turns "$n" &&
			growth_rows "children_$mode"
	done
	followed children_stat stat --mode ring -- turns "$n" && growth_rows children_stat
	followed children_stat_auto stat --mode auto -- turns "$n" && growth_rows children_stat_auto
	for mode in ${ocaml_dir:+ring auto}; do
		followed "children_ocaml_$mode" trace --mode $mode -f ebt -o /dev/null -- \
			turns $((n / 8)) "$ocaml_child" &&
			growth_rows "children_ocaml_$mode" "${goal_ocaml[$mode]:-}"
	done
	followed threads_probes trace --mode probes -f ebt -o /dev/null -- threads 10000 &&
		at_once_rows threads_probes 20
}

# top_cost MODE: what a frame a second of 500 processes with 100 events/s each costs ebtrace top,
# in a pid namespace, as it shows all processes: % of a CPU and MiB, when it has run for a while.
top_cost() {
	unshare -pf --mount-proc bash -s "$1" "$minigc" "$ebtrace" <<-'END' 2>"$tmp/err"
		dir=$(mktemp -d /dev/shm/ebtrace.XXXXXX)
		for ((i = 0; i < 500; i++)); do
			EBTRACE_START=1 EBTRACE_DIR=$dir "$2" -q -t 1 -s 600 -r 100 -c /dev/null &
		done
		sleep 3
		script -qec "stty rows 40 cols 100; exec '$3' top --mode $1" /dev/null >/dev/null &
		sleep 40
		tracer=$(pgrep -x ebtrace | head -1)
		ticks() { awk '{ print $14 + $15 }' "/proc/$tracer/stat"; }
		before=$(ticks)
		sleep 20
		after=$(ticks)
		awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" '
			/^VmRSS/ { print ticks / hz / 20 * 100, $2 / 1024 }' "/proc/$tracer/status"
		rm -rf "$dir"
	END
}

bench_top() {
	local mode cpu rss
	for mode in ring counters; do
		read -r cpu rss < <(top_cost $mode)
		[ -n "$rss" ] || { failed "top --mode $mode: $(tail -1 "$tmp/err")"; continue; }
		row "top_500_${mode}_cpu" % "$cpu" ',"goal":3'
		row "top_500_${mode}_rss" MiB "$rss" ',"goal":40'
	done
}
