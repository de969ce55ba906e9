#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench`: every bench, round by round so that a noisy moment hits all of them, then medians:
# one table, and the same rows as $O/bench.json, an array. ROUNDS=5 by default. Without OCaml its
# column stays empty, and a line says so; a bench that fails makes the whole run fail.
#
# A bench prints JSON lines {"name","unit","ours"[,"theirs","peer","limit","goal"]}: `theirs` is the
# peer's number, `limit` what no design can beat. Lines of one name are merged field by field.
set -u
O=${O:-build}
ROUNDS=${ROUNDS:-5}
OCAML_ROUNDS=${OCAML_ROUNDS:-3} # of whole programs, which take long
tmp=$(mktemp -d)
trap 'rm -rf "$tmp" ${ocaml_dir:+"$ocaml_dir"} ${ring_dir:+"$ring_dir"}' EXIT
out=$tmp/lines
usage=$O/tests/bench/bench_usage
empty=$O/tests/bench/bench_empty
minigc=$O/tests/prog/minigc
ebtrace=$O/ebtrace
. tests/bench/modes.sh
. tests/bench/formats.sh
. tests/bench/memtrace.sh
. tests/bench/recorder.sh
. tests/bench/pagetrace.sh
. tests/bench/pages.sh
. tests/bench/blame.sh
. tests/bench/profile.sh
. tests/bench/stacks.sh
. tests/bench/ocaml.sh
. tests/bench/growth.sh
: >"$out"

missing() { echo "bench: $1" >&2; }
failures=0
failed() {
	missing "$1"
	failures=$((failures + 1))
}
# empty_begin FILE ARGS...: bench_empty in the background, $empty_pid. empty_end PID FILE: ends it; its
# number is $empty_ns.
empty_begin() {
	local file=$1
	shift
	: >"$file"
	"$empty" "$@" >"$file" 2>"$tmp/err" 7>&- &
	empty_pid=$!
	wait_until grep -q ready "$file" || { failed "bench_empty $*: $(tail -1 "$tmp/err")"; return 1; }
}
empty_end() { kill "$1"; wait "$1"; empty_ns=$(tail -1 "$2"); }
least() { sort -g "$1" | head -1; }
# row NAME UNIT OURS [,"field":value...]
row() { echo "{\"name\":\"$1\",\"unit\":\"$2\",\"ours\":$3${4:-}}" >>"$out"; }

[ "$(id -u)" = 0 ] || { missing "needs root: it attaches BPF programs"; exit 1; }
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing || exit 1

# The peers inside the Debian with OCaml 5.3.
ocaml_dir=
ring_dir=
if root=$(tests/root.sh ocaml 2>"$tmp/root.log"); then
	ocaml_dir=$(mktemp -d "$root/tmp/ebtrace.XXXXXX")
	inside=/tmp/${ocaml_dir##*/}
	cp tests/bench/ocaml_* "$ocaml_dir"
	flags="-I +runtime_events -I +unix unix.cmxa runtime_events.cmxa"
	chroot "$root" sh -c "cd $inside && ocamlopt $flags ocaml_stubs.c ocaml_writer.ml -o writer &&
		ocamlopt $flags ocaml_reader.ml -o reader" >"$tmp/build.log" 2>&1 ||
		failed "OCaml's benches do not compile: $(cat "$tmp/build.log")"
	"$O/tests/bench/bench_cursor" -m "$ocaml_dir/1.events" || failed "no ring for OCaml's reader"
	ocaml_setup "$ocaml_dir" "$inside"
else
	missing "no OCaml: its numbers are left out"
fi

bench_ocaml() {
	[ -n "$ocaml_dir" ] || return 0
	chroot "$root" sh -c "cd $inside && rm -f ./[2-9]*.events; ./writer" >"$tmp/ocaml" &&
		chroot "$root" "$inside/reader" "$inside" 1 >>"$tmp/ocaml" ||
		{ failed "OCaml's benches: no result"; return 0; }
	while read -r name hundredths; do
		for ours in $(case $name in
			ring_write*) echo "${name}_monotonic ${name}_tsc" ;;
			read_poll) echo "cursor_read cursor_poll" ;;
			*) echo "$name" ;;
		esac); do
			row "$ours" ns null ",\"theirs\":$((hundredths / 100)).$(printf %02d \
				$((hundredths % 100))),\"peer\":\"OCaml 5.3\""
		done
	done <"$tmp/ocaml"
}

# ns a probe of minigc at full speed in one thread; $1: file for its wall time, $2: for its counts.
run_probes() { "$usage" "$1" "$minigc" -q -t 1 -n 200000 -c "$2" 2>/dev/null; }

# bpftrace, printing the marker that our BPF program reads: ns a hit more than untraced.
bench_bpftrace() {
	command -v bpftrace >/dev/null || { failed "no bpftrace"; return 0; }
	local bpf probe script= i
	for probe in begin end; do
		script+="usdt:$(realpath "$minigc"):ebtrace:$probe
			{ printf(\"%d %s %d\\n\", arg0, str(arg1), arg3); } "
	done
	run_probes "$tmp/plain" /dev/null || { failed "minigc"; return 0; }
	bpftrace -e "$script BEGIN { printf(\"ready\\n\"); }" >"$tmp/bpftrace" 2>"$tmp/bpftrace.log" &
	bpf=$!
	# It says so before its probes are in place: a little longer then.
	for ((i = 0; i < 100; i++)); do
		grep -q ready "$tmp/bpftrace" && break
		sleep 0.1
	done
	sleep 1
	run_probes "$tmp/traced" "$tmp/counts"
	kill -INT $bpf
	wait $bpf
	awk -v plain="$(cut -d' ' -f1 "$tmp/plain")" -v traced="$(cut -d' ' -f1 "$tmp/traced")" '
		$2 == "begin" || $2 == "end" { n += $3 }
		END { if (n) printf "%.1f", (traced - plain) * 1e9 / n }' "$tmp/counts" >"$tmp/hit"
	[ -s "$tmp/hit" ] || { failed "bpftrace: $(tail -1 "$tmp/bpftrace.log")"; return 0; }
	row marker_to_bpf ns null ",\"theirs\":$(cat "$tmp/hit"),\"peer\":\"bpftrace printf\""
}

calc() { awk "BEGIN { printf \"%.3f\", $1 }"; }

make_ring_files
for ((round = 0; round < ROUNDS; round++)); do
	for b in probes cursor "marker_$(uname -m)" pipeline eio; do
		"$O/tests/bench/bench_$b" >>"$out" || failed "bench_$b failed"
	done
	bench_ocaml
	bench_bpftrace
	bench_convert
	bench_capture
	bench_memtrace
	[ $round -ge 1 ] || bench_memtrace_memory
	bench_recorder
	bench_pagetrace
	bench_modes
	[ $round -ge "$OCAML_ROUNDS" ] || bench_ocaml_programs
	[ $round -ge 1 ] || bench_pages
	[ $round -ge 1 ] || bench_blame
	[ $round -ge 1 ] || bench_profile
	bench_stacks
	[ $round -ge 1 ] || bench_growth # which takes long
	[ $round -ge 1 ] || bench_top # which takes long, too
done

# Medians of every number of every name; the ratio is ours to theirs, else to the limit.
jq -s 'def median: sort | .[length / 2 | floor];
	def field(f): map(f | values) | if length == 0 then null else median end;
	group_by(.name) | map({name: .[0].name, unit: .[0].unit, ours: field(.ours),
		peer: field(.peer), theirs: field(.theirs), limit: field(.limit), goal: field(.goal)}
		| .ratio = ((.theirs // .limit) as $t | if .ours != null and $t != null and $t > 0
			then (.ours / $t * 1000 | round / 1000) else null end))
	| . + map(select(.name == "cursor_poll" or .name == "cursor_read") # as a rate, too
		| def rate: if . == null then null else (1000 / . * 10 | round / 10) end;
		{name: (.name + "_rate"), unit: "M events/s", ours: (.ours | rate), peer,
		 theirs: (.theirs | rate), limit: null, goal: (.goal | rate),
		 ratio: (if .ratio == null then null else (1000 / .ratio | round / 1000) end)})' \
	"$out" >"$O/bench.json" || exit 1
jq -r '(["name", "unit", "ours", "peer", "theirs", "limit", "ratio", "goal"] | @tsv),
	(.[] | [.name, .unit, .ours // "-", .peer // "-", .theirs // "-", .limit // "-", .ratio // "-",
		.goal // "-"] | map(tostring) | @tsv)' "$O/bench.json" | column -t -s "$(printf '\t')"

# A row without a number of ours is a bench that did not run.
for name in $(jq -r '.[] | select(.ours == null) | .name' "$O/bench.json"); do
	failed "$name has no number"
done
[ $failures = 0 ] || { missing "$failures failures"; exit 1; }
