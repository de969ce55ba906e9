# SPDX-License-Identifier: BSD-2-Clause
# OCaml 5.3 programs, traced as they are: sourced by run.sh. They are compiled in the Debian that has
# OCaml, and run outside of it with that one's C library, so that their rings are on a tmpfs.
# ocaml_load.ml is the program, ocaml_poller.ml the peer: OCaml's own reader.
#
# What olly 0.5.3 did was measured apart, on a machine of this kind: at its 10 looks a second it
# began to lose above 218 k events/s of a domain, as many as a ring holds of ints, ten times.
OLLY_LOSSLESS=0.218

ocaml_load=
ocaml_child=
ocaml_frames=

# Compiles them; sets ocaml_load, ocaml_child and ocaml_frames to programs, ocaml_poller, and ring_dir.
ocaml_setup() { # DIR-OUTSIDE DIR-INSIDE
	local ld="-ccopt -Wl,--dynamic-linker=$root/lib64/ld-linux-x86-64.so.2" name
	ld+=" -ccopt -Wl,-rpath,$root/usr/lib/x86_64-linux-gnu"
	for name in load poller child frames; do
		chroot "$root" sh -c "cd $2 && ocamlopt -I +runtime_events -I +unix unix.cmxa \
			runtime_events.cmxa ocaml_$name.ml -o $name $ld" >"$tmp/build.log" 2>&1 ||
			{ failed "ocaml_$name.ml does not compile: $(cat "$tmp/build.log")"; return 1; }
	done
	ring_dir=$(mktemp -d /dev/shm/ebtrace.XXXXXX) || return 1
	ocaml_poller=$1/poller
	ocaml_load=$1/load
	ocaml_child=$1/child
	ocaml_frames=$1/frames
}

# The program with its ring on; run_load off: without.
ring_env=(env OCAML_RUNTIME_EVENTS_START=1)

# load_alone on|off ARGS...: its time in $wall
load_alone() {
	local ring=("${ring_env[@]}")
	[ "$1" = on ] || ring=(env)
	shift
	OCAML_RUNTIME_EVENTS_DIR=$ring_dir timeout 60 "${ring[@]}" "$ocaml_load" "$@" </dev/null \
		>"$tmp/said" 2>"$tmp/err" ||
		{ failed "load $*: $(tail -1 "$tmp/err")"; return 1; }
	wall=$(cat "$tmp/said")
}

# load_begin on|off ARGS...: starts it, up to where it waits for load_go; $program
load_begin() {
	local ring=("${ring_env[@]}")
	[ "$1" = on ] || ring=(env)
	shift
	rm -f "$tmp/in"
	mkfifo "$tmp/in"
	: >"$tmp/err"
	OCAML_RUNTIME_EVENTS_DIR=$ring_dir timeout 60 "${ring[@]}" "$ocaml_load" "$@" <"$tmp/in" \
		>"$tmp/said" 2>"$tmp/err" &
	timeout_pid=$!
	exec 7>"$tmp/in"
	wait_until grep -q ready "$tmp/err" || { failed "load $* does not start"; return 1; }
	program=$(pgrep -P $timeout_pid)
}
load_go() { echo >&7; exec 7>&-; }
load_end() { wait $timeout_pid && wall=$(cat "$tmp/said"); }

peak_rss() { awk '/VmHWM/ { printf "%.3f", $2 / 1024 }' "/proc/$1/status"; }

# load_traced on|off "COMMAND OPTIONS" ARGS...: under ebtrace; sets wall, cpu (s, of ebtrace while the
# program ran), rss (MiB), events, lost; with EARLY=1 also early_rss: that after 2 s.
load_traced() {
	local ring=$1 options=$2 usage_pid tracer before words
	shift 2
	load_begin "$ring" "$@" || return 1
	: >"$tmp/ebtrace.log"
	# shellcheck disable=SC2086
	"$usage" "$tmp/ebtrace" "$ebtrace" $options -v -p "$program" 2>"$tmp/ebtrace.log" \
		>"$tmp/ebtrace.out" 7>&- &
	usage_pid=$!
	wait_until grep -qE 'reading the ring|attached to' "$tmp/ebtrace.log" ||
		failed "ebtrace $options: $(tail -1 "$tmp/ebtrace.log")"
	sleep 0.2
	tracer=$(pgrep -P $usage_pid)
	before=$(cpu_ticks "$tracer")
	load_go
	[ -z "${EARLY:-}" ] || { sleep 2; early_rss=$(peak_rss "$tracer"); }
	load_end || { failed "load $*: $(tail -1 "$tmp/err")"; return 1; }
	wait $usage_pid || { failed "ebtrace $options: $(tail -1 "$tmp/ebtrace.log")"; return 1; }
	read -r _ cpu rss <"$tmp/ebtrace"
	cpu=$(calc "$cpu - $before / $(getconf CLK_TCK)")
	rss=$(calc "$rss / 1024")
	# "ebtrace: 1000 events, 3 lost (6 words): /dev/null"; of OCaml's rings only words are known.
	read -r events lost words < <(sed -En "s/^ebtrace: ([0-9]+) events, ([0-9]+) lost\
( \(([0-9]+) words)?.*/\1 \2 \4/p" "$tmp/ebtrace.log")
	[ -z "$lost" ] || lost=$((lost + ${words:-0}))
	[ "${options%% *}" != stat ] || lost=$(jq '.total.lost | .events + .words' "$tmp/ebtrace.out")
	[ -n "$lost" ] || { failed "ebtrace $options: $(tail -1 "$tmp/ebtrace.log")"; return 1; }
}

# load_empty ARGS...: load_alone without a ring, and with programs on its functions that return at once.
load_empty() {
	load_begin off "$@" && empty_begin "$tmp/empty" ocaml "$program" "$ocaml_load" || return 1
	load_go
	load_end || { failed "load $*: $(tail -1 "$tmp/err")"; return 1; }
	empty_end $empty_pid "$tmp/empty"
}

# load_in_turn "COMMAND OPTIONS"... -- ARGS...: by turns alone, beside empty programs, and under ebtrace
# with each of the options, so that a noisy neighbour hits all. Files of the CPU times: probe_alone,
# probe_empty, probe_0, probe_1, ...
load_in_turn() {
	local turn i options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	rm -f "$tmp"/probe_*
	for ((turn = 0; turn < 5; turn++)); do
		load_alone off "$@" && echo "$wall" >>"$tmp/probe_alone" &&
			load_empty "$@" && echo "$wall" >>"$tmp/probe_empty" || return 1
		for i in "${!options[@]}"; do
			load_traced off "${options[i]}" "$@" && echo "$wall" >>"$tmp/probe_$i" || return 1
			[ "$lost" = 0 ] || missing "${options[i]}: $lost lost of $events events"
		done
	done
}

# A hit, beside one whose program returns at once; and of that the program, as the kernel's statistics
# have it, without what they add to a run of an empty one.
bench_ocaml_probe() {
	local base limit counter how="trace --mode probes -f ndjson -o /dev/null"
	load_in_turn "$how" -- minor 20000 || return 1
	minor_events=$events
	base=$(least "$tmp/probe_alone")
	limit=$(calc "($(least "$tmp/probe_empty") - $base) * 1e9 / $events")
	row ocaml_probe ns/event "$(calc "($(least "$tmp/probe_0") - $base) * 1e9 / $events")"
	row ocaml_probe_beside_empty ns/event "$(calc "($(least "$tmp/probe_0") - $base) * 1e9 / $events")" \
		",\"limit\":$limit,\"goal\":$(calc "1.35 * $limit")"
	empty_begin "$tmp/runs" runs ebt_ocaml_function || return 1
	counter=$empty_pid
	load_traced off "$how" minor 20000 && load_empty minor 20000
	limit=$empty_ns
	empty_end "$counter" "$tmp/runs"
	row ocaml_probe_program ns "$(calc "$empty_ns - $limit")" ',"goal":120'
}

# `stat` of a program whose minor heap is tiny, with counters and without; the limit is that of empty programs.
bench_ocaml_small_heap() {
	local base limit
	export OCAMLRUNPARAM=s=4k
	load_in_turn "stat --json --mode probes" "stat --json --mode probes -e !counter" -- small 18 2
	local err=$?
	unset OCAMLRUNPARAM
	[ $err = 0 ] || return 0
	base=$(least "$tmp/probe_alone")
	limit=",\"limit\":$(calc "$(least "$tmp/probe_empty") / $base")"
	row ocaml_stat_small_heap x "$(calc "$(least "$tmp/probe_0") / $base")" "$limit"
	row ocaml_stat_small_heap_no_counters x "$(calc "$(least "$tmp/probe_1") / $base")" "$limit"
}

trees=(trees 18 9) # a second or two

# What tracing costs a program whose collector works as in life, and, where the events are as dense as
# they can be, what each costs. The peer probes the same functions at their symbols.
bench_ocaml_probes() {
	local base
	load_alone off "${trees[@]}" || return 0
	base=$wall
	load_traced off "trace --mode probes -f ndjson -o /dev/null" "${trees[@]}" || return 0
	row ocaml_probes_slowdown x "$(calc "$wall / $base")" ',"limit":1,"goal":1.03'
	load_alone on "${trees[@]}" || return 0
	row ocaml_ring_slowdown x null ",\"theirs\":$(calc "$wall / $base"),\"peer\":\"OCaml's ring, unread\""
	load_traced on "trace --mode ring -f ndjson -o /dev/null" "${trees[@]}" || return 0
	row ocaml_ring_slowdown x "$(calc "$wall / $base")"
	load_probed_by_bpftrace "${trees[@]}" &&
		row ocaml_probes_slowdown x null \
			",\"theirs\":$(calc "$wall / $base"),\"peer\":\"bpftrace at the symbols\""

	bench_ocaml_probe || return 0
	base=$(least "$tmp/probe_alone")
	load_probed_by_bpftrace minor 20000 &&
		row ocaml_probe ns/event null ",\"theirs\":$(calc \
			"($wall - $base) * 1e9 / $events"),\"peer\":\"bpftrace at the symbols\""
}

# What it costs such a program that its pauses are explained, beside statistics alone.
bench_ocaml_blame() {
	local base
	load_traced off "stat --json" "${trees[@]}" || return 0
	base=$wall
	load_traced off "stat --json --blame" "${trees[@]}" || return 0
	row ocaml_stat_blame x "$(calc "$wall / $base")" ',"limit":1,"goal":1.01'
}

# What probes cost programs that people run, in CPU time of their own, if they are in the root
# (apt-get install coq ocamlformat). The peer is their own ring, which nobody reads. And what it costs
# that their allocations are sampled.
bench_ocaml_real() {
	local name command alone probed ring
	for name in coqc ocamlformat; do
		[ -x "$root/usr/bin/$name" ] || { missing "ocaml_real_$name: it is not in $root"; continue; }
		command="cd $inside && exec coqc ocaml_coq.v"
		[ $name = coqc ] || command="cd $inside && exec ocamlformat \
			--enable-outside-detected-project \$(ocamlopt -where)/camlinternalFormat.ml"
		"$usage" "$tmp/alone" chroot "$root" sh -c "$command" >/dev/null 2>"$tmp/err" &&
			OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=/tmp \
				"$usage" "$tmp/ring" chroot "$root" sh -c "$command" >/dev/null 2>"$tmp/err" &&
			"$ebtrace" trace -q --mode probes -f ebt -o /dev/null -- \
				"$usage" "$tmp/probed" chroot "$root" sh -c "$command" >/dev/null 2>"$tmp/err" ||
			{ failed "ocaml_real_$name: $(tail -1 "$tmp/err")"; continue; }
		read -r _ alone _ <"$tmp/alone"
		read -r _ ring _ <"$tmp/ring"
		read -r _ probed _ <"$tmp/probed"
		row "ocaml_real_$name" x "$(calc "$probed / $alone")" \
			",\"theirs\":$(calc "$ring / $alone"),\"peer\":\"OCaml's ring, unread\",\"goal\":1.03"
		"$ebtrace" mem hotspots -q -o /dev/null -- "$usage" "$tmp/probed" chroot "$root" sh -c \
			"$command" >/dev/null 2>"$tmp/err" ||
			{ failed "ocaml_allocs_$name: $(tail -1 "$tmp/err")"; continue; }
		read -r _ probed _ <"$tmp/probed"
		row "ocaml_allocs_$name" x "$(calc "$probed / $alone")" ',"limit":1,"goal":1.03'
	done
}

# load_beside ARGS...: load_alone without a ring, beside an idle process of the same file that is traced.
load_beside() {
	local tracer ended
	rm -f "$tmp/idle"
	mkfifo "$tmp/idle"
	: >"$tmp/ebtrace.log"
	"$ebtrace" trace --mode probes -v -f ebt -o /dev/null -- env "$ocaml_load" minor 0 \
		<"$tmp/idle" >/dev/null 2>"$tmp/ebtrace.log" &
	tracer=$!
	exec 8>"$tmp/idle"
	wait_until grep -q ' holds ocaml ' "$tmp/ebtrace.log" ||
		failed "load_beside: $(tail -1 "$tmp/ebtrace.log")"
	sleep 0.1
	load_alone off "$@"
	ended=$?
	exec 8>&-
	wait $tracer
	return $ended
}

# What a program pays while another process of its file is traced, which is probed in all of them: of
# one that makes so many events as this the probes are taken out again after one or two seconds; and
# for each event until then.
bench_ocaml_bystander() {
	local base
	load_alone off "${trees[@]}" || return 0
	base=$wall
	load_beside "${trees[@]}" || return 0
	row probes_bystander x "$(calc "$wall / $base")" ',"limit":1'
	[ -n "${minor_events:-}" ] && load_alone off minor 8000 || return 0
	base=$wall
	load_beside minor 8000 || return 0
	row probes_bystander_event ns/event "$(calc "($wall - $base) * 1e9 / ($minor_events * 0.4)")"
}

# The same under bpftrace, which only counts: sets wall and events.
load_probed_by_bpftrace() {
	local bpf i script=
	for i in begin end counter lifecycle; do
		script+="uprobe:$ocaml_load:caml_ev_$i { @hits = count(); } "
	done
	load_begin off "$@" || return 1
	: >"$tmp/bpftrace"
	bpftrace -e "$script BEGIN { printf(\"ready\\n\"); }" >"$tmp/bpftrace" 2>&1 7>&- &
	bpf=$!
	wait_until grep -q ready "$tmp/bpftrace"
	sleep 1 # it says so before its probes are in place
	load_go
	load_end
	kill -INT $bpf
	wait $bpf
	events=$(sed -n 's/^@hits: //p' "$tmp/bpftrace")
	[ -n "$events" ] || { failed "bpftrace: $(tail -1 "$tmp/bpftrace")"; return 1; }
}

# load_lossless READER...: the highest rate of those below at which a domain with a ring of the
# default size had nothing lost, in $best, M events/s. READER NAME RATE N sets `lost` and `events`.
load_lossless() {
	local rate
	best=0
	for rate in 100000 218000 500000 1000000 2000000 5000000; do
		"$@" paced $((rate / 2)) $rate || return 1
		[ "$lost" = 0 ] && [ "$events" -ge $((rate / 2)) ] || break
		best=$(calc "$rate / 2e6 / $wall")
	done
}
by_ebtrace() { load_traced on "trace --mode ring -f ebt -o /dev/null" "$@"; }
by_read_poll() { # HZ ARGS...
	local hz=$1 poller
	shift
	load_begin on "$@" || return 1
	: >"$tmp/poller.err"
	"$ocaml_poller" "$ring_dir" "$program" "$hz" >"$tmp/poller" 2>"$tmp/poller.err" 7>&- &
	poller=$!
	wait_until grep -q ready "$tmp/poller.err"
	load_go
	load_end
	wait $poller || { failed "read_poll: $(tail -1 "$tmp/poller.err")"; return 1; }
	read -r events lost <"$tmp/poller"
}
bench_ocaml_lossless() {
	load_lossless by_ebtrace || return 0
	row ocaml_lossless "M events/s" "$best" \
		",\"theirs\":$OLLY_LOSSLESS,\"peer\":\"olly 0.5.3, 10 Hz\",\"goal\":5"
	row ocaml_lossless_beside_10Hz "M events/s" "$best"
	row ocaml_lossless_beside_spinning "M events/s" "$best"
	load_lossless by_read_poll 10 &&
		row ocaml_lossless_beside_10Hz "M events/s" null ",\"theirs\":$best,\"peer\":\"read_poll, 10 Hz\""
	load_lossless by_read_poll 0 && row ocaml_lossless_beside_spinning "M events/s" null \
		",\"theirs\":$best,\"peer\":\"read_poll, spinning\""
}

# At a million events a second: ebtrace's share of a CPU, the program's slowdown, and, in the first
# round, whether memory grows: after ten seconds beside after two.
bench_ocaml_1M() {
	local what how goal=',"goal":10' n=2000000 base EARLY=
	[ "$round" != 0 ] || { EARLY=1; n=10000000; }
	for what in ndjson ebt perfetto stat; do
		how="trace --mode ring -f $what -o $tmp/x.out"
		[ $what != ndjson ] || how="trace --mode ring -f ndjson -o /dev/null"
		[ $what != stat ] || how="stat --mode ring --json"
		has_built $what || continue
		load_traced on "$how" paced $n 1000000 || continue
		rm -f "$tmp/x.out"
		row ocaml_cpu_1M_$what % "$(calc "$cpu * 100 / $wall")" "$goal"
		[ -z "$EARLY" ] || row ocaml_rss_1M_$what MiB "$rss" \
			",\"theirs\":$early_rss,\"peer\":\"itself after 2 s\",\"goal\":100"
		[ "${lost:-0}" = 0 ] || missing "ocaml_cpu_1M_$what: $lost lost"
	done
	EARLY=
	load_alone off busy 1000000 || return 0
	base=$wall
	load_alone on busy 1000000 || return 0
	row ocaml_slowdown_1M x null ",\"theirs\":$(calc "$wall / $base"),\"peer\":\"OCaml's ring, unread\""
	load_traced on "trace --mode ring -f ebt -o /dev/null" busy 1000000 || return 0
	row ocaml_slowdown_1M x "$(calc "$wall / $base")" ',"goal":1.02'
}

# What sampling its allocations costs a program that does nothing else, and one that collects garbage;
# and a sample, with its stack of twelve frames: in bursts of 40 halves of a minor heap, of which each
# is a sample.
bench_ocaml_allocs() {
	local base
	load_alone off pairs 300000000 || return 0
	base=$wall
	load_traced off "mem record -o $tmp/x.ctf" pairs 300000000 || return 0
	row ocaml_allocs_slowdown x "$(calc "$wall / $base")" ',"limit":1,"goal":1.03'
	load_alone off "${trees[@]}" && base=$wall &&
		load_traced off "mem record -o $tmp/x.ctf" "${trees[@]}" &&
		row ocaml_allocs_trees x "$(calc "$wall / $base")" ',"limit":1,"goal":1.03'
	export OCAMLRUNPARAM=s=32k
	load_alone off bursts 60 218453 && base=$wall &&
		load_traced off "mem record -o $tmp/x.ctf" bursts 60 218453 &&
		row ocaml_alloc_sample us "$(calc "($wall - $base) * 1e6 / $events")" ',"goal":5'
	unset OCAMLRUNPARAM
	rm -f "$tmp/x.ctf"
}

bench_ocaml_programs() {
	[ -n "$ocaml_load" ] || return 0
	bench_ocaml_allocs
	bench_ocaml_probes
	bench_ocaml_small_heap
	bench_ocaml_blame
	bench_ocaml_real
	bench_ocaml_bystander
	bench_ocaml_lossless
	bench_ocaml_1M
}
