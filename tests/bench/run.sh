#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench`: every bench, round by round so that a noisy moment hits all of them, then medians:
# one table, and the same rows as $O/bench.json. ROUNDS=5 by default. What cannot run here (no
# root, no OCaml) leaves its rows out and says so on stderr.
#
# A bench prints JSON lines {"name","unit","ours"[,"theirs","peer","limit","goal"]}. Lines with the
# same name from different programs are merged field by field.
set -u
O=${O:-build}
ROUNDS=${ROUNDS:-5}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp" ${ocaml_dir:+"$ocaml_dir"}' EXIT
out=$tmp/lines
usage=$O/tests/bench/bench_usage
minigc=$O/tests/prog/minigc
: >"$out"

missing() { echo "bench: $1" >&2; }
row() { echo "$1" >>"$out"; }

# The peers inside the Debian with OCaml 5.3.
ocaml_dir=
if root=$(tests/ocaml-root.sh 2>"$tmp/root.log"); then
	ocaml_dir=$(mktemp -d "$root/tmp/ebtrace.XXXXXX")
	inside=/tmp/${ocaml_dir##*/}
	cp tests/bench/ocaml_* "$ocaml_dir"
	flags="-I +runtime_events -I +unix unix.cmxa runtime_events.cmxa"
	chroot "$root" sh -c "cd $inside && ocamlopt $flags ocaml_stubs.c ocaml_writer.ml -o writer &&
		ocamlopt $flags ocaml_reader.ml -o reader" >"$tmp/build.log" 2>&1 ||
		{ missing "OCaml's benches do not compile: $(cat "$tmp/build.log")"; ocaml_dir=; }
	"$O/tests/bench/bench_cursor" -m "$ocaml_dir/1.events" || missing "no ring for OCaml's reader"
else
	missing "no OCaml: its columns are left out"
fi

bench_ocaml() {
	[ -n "$ocaml_dir" ] || return 0
	chroot "$root" sh -c "cd $inside && rm -f ./[2-9]*.events; ./writer" >"$tmp/ocaml"
	chroot "$root" "$inside/reader" "$inside" 1 >>"$tmp/ocaml"
	while read -r name hundredths; do
		for ours in $(case $name in
			ring_write*) echo "${name}_monotonic ${name}_tsc" ;;
			read_poll) echo "cursor_read cursor_poll" ;;
			*) echo "$name" ;;
		esac); do
			row "{\"name\":\"$ours\",\"unit\":\"ns\",\"theirs\":$((hundredths / 100)).$(printf %02d \
				$((hundredths % 100))),\"peer\":\"OCaml 5.3\"}"
		done
	done <"$tmp/ocaml"
}

# ns a probe of minigc at full speed in one thread; $1: file for its wall time.
probes_passed=200000
run_minigc() { "$usage" "$1" "$minigc" -q -t 1 -n $probes_passed -c /dev/null 2>/dev/null; }

# bpftrace, printing the marker that our BPF program reads: ns a hit more than untraced.
bench_bpftrace() {
	command -v bpftrace >/dev/null && [ "$(id -u)" = 0 ] || return 0
	[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing || return 0
	local bpf
	run_minigc "$tmp/plain" || return 0
	bpftrace -e "usdt:$(realpath "$minigc"):ebtrace:begin { printf(\"%d %s %d\\n\", arg0, str(arg1), arg3); }
		usdt:$(realpath "$minigc"):ebtrace:end { printf(\"%d %s %d\\n\", arg0, str(arg1), arg3); }" \
		>/dev/null 2>"$tmp/bpftrace.log" &
	bpf=$!
	sleep 2
	"$usage" "$tmp/traced" "$minigc" -q -t 1 -n $probes_passed -c "$tmp/counts" 2>/dev/null
	kill -INT $bpf
	wait $bpf
	awk -v plain="$(cut -d' ' -f1 "$tmp/plain")" -v traced="$(cut -d' ' -f1 "$tmp/traced")" '
		$2 == "begin" || $2 == "end" { n += $3 }
		END { if (n) printf "{\"name\":\"marker_to_bpf\",\"unit\":\"ns\",\"theirs\":%.1f,\"peer\":\"bpftrace printf\"}\n",
			(traced - plain) * 1e9 / n }' "$tmp/counts" >>"$out"
}

# Slowdown of a paced program in each mode, with ebtrace's own CPU and memory. The work is fixed:
# so many probes at full speed would measure probes only, hence a large nursery.
bench_modes() {
	[ -x "$O/ebtrace" ] || { missing "no $O/ebtrace: modes are left out"; return 0; }
	local work=(-q -t 2 -n 100000 -N 8192 -c /dev/null) mode base pid
	"$usage" "$tmp/none" "$minigc" "${work[@]}" 2>/dev/null || return 0
	base=$(cut -d' ' -f1 "$tmp/none")
	for mode in ring watermark stream; do
		[ $mode = ring ] || [ "$(id -u)" = 0 ] || continue
		rm -f "$tmp/in"
		mkfifo "$tmp/in"
		EBTRACE_START=1 "$usage" "$tmp/prog" "$minigc" "${work[@]}" -w <"$tmp/in" 2>"$tmp/err" &
		pid=$!
		exec 7>"$tmp/in"
		until grep -q ready "$tmp/err"; do sleep 0.02; done
		"$usage" "$tmp/ebtrace" "$O/ebtrace" trace --mode $mode -f ndjson -o /dev/null \
			-p "$(pgrep -P $pid)" 2>"$tmp/ebtrace.log" &
		local tracer=$!
		sleep 1
		local t0 t1
		t0=$(date +%s%N)
		echo go >&7
		exec 7>&-
		wait $pid
		t1=$(date +%s%N)
		wait $tracer || { missing "mode $mode: $(tail -1 "$tmp/ebtrace.log")"; continue; }
		read -r wall cpu rss <"$tmp/ebtrace"
		awk -v mode=$mode -v base="$base" -v s=$(((t1 - t0) / 1000)) -v cpu="$cpu" -v rss="$rss" '
			BEGIN {
				s /= 1e6
				printf "{\"name\":\"slowdown_%s\",\"unit\":\"x\",\"ours\":%.3f%s}\n", mode,
					s / base, mode == "stream" ? "" : ",\"goal\":1.02"
				printf "{\"name\":\"cpu_%s\",\"unit\":\"%%\",\"ours\":%.1f}\n", mode, cpu * 100 / s
				printf "{\"name\":\"rss_%s\",\"unit\":\"KiB\",\"ours\":%d}\n", mode, rss
			}' >>"$out"
	done
}

for ((round = 0; round < ROUNDS; round++)); do
	for b in "$O"/tests/bench/bench_*; do
		[ -x "$b" ] && [ -f "$b" ] && [ "$b" != "$usage" ] || continue
		"$b" >>"$out" || missing "${b##*/} failed"
	done
	bench_ocaml
	bench_bpftrace
	bench_modes
done

# Medians of every number of every name; the ratio is ours to theirs, else to the limit.
jq -s 'def median: sort | .[length / 2 | floor];
	def field(f): map(f | values) | if length == 0 then null else median end;
	group_by(.name) | map({name: .[0].name, unit: .[0].unit, ours: field(.ours),
		peer: field(.peer), theirs: field(.theirs), limit: field(.limit), goal: field(.goal)}
		| select(.ours != null or .theirs != null)
		| .ratio = ((.theirs // .limit) as $t | if .ours != null and $t != null and $t > 0
			then (.ours / $t * 1000 | round / 1000) else null end))' \
	"$out" >"$O/bench.json" || exit 1
jq -r '(["name", "unit", "ours", "peer", "theirs", "ratio", "goal"] | @tsv),
	(.[] | [.name, .unit, .ours // "-", .peer // "-", .theirs // "-", .ratio // "-", .goal // "-"]
	| map(tostring) | @tsv)' "$O/bench.json" | column -t -s "$(printf '\t')"
