# SPDX-License-Identifier: BSD-2-Clause
# Allocation traces of memtrace: sourced by run.sh. The trace has as many events as the one that
# memtrace's own tools were measured with: 9.51 million, made of a real one.
memtrace_events=9510000
# And one of this size, once, as it takes about 850 MB of disk while it is measured.
memtrace_many=100000000
memtrace_many_kb=1000000

bench_memtrace() {
	xz -dc tests/data/memtrace/single.ctf.xz >"$tmp/seed.ctf" &&
		"$O/tests/bench/bench_memtrace" "$tmp/seed.ctf" "$tmp/large.ctf" $memtrace_events >>"$out" ||
		{ failed "bench_memtrace failed"; return 0; }
	memtrace_seconds memtrace_dump 62.5 3 trace -q -f ndjson -o /dev/null
	memtrace_seconds memtrace_hotspots 3.08 0.3 mem hotspots
	memtrace_seconds memtrace_live "" "" mem live
	memtrace_seconds memtrace_flame 6.19 0.3 mem flame
	rm -f "$tmp/large.ctf"
}

# memtrace_100M_*: the most memory that a report of so many events takes.
bench_memtrace_memory() {
	local report
	[ "$(df --output=avail -k "$tmp" | tail -1)" -gt $memtrace_many_kb ] ||
		{ failed "no room for a trace of 100 M events in $tmp"; return 0; }
	"$O/tests/bench/bench_memtrace" "$tmp/seed.ctf" "$tmp/many.ctf" $memtrace_many >/dev/null ||
		{ failed "bench_memtrace failed"; return 0; }
	for report in summary hotspots live lifetimes; do
		"$usage" "$tmp/mem" "$ebtrace" mem ${report/summary} "$tmp/many.ctf" >/dev/null ||
			{ failed "mem $report of 100 M events"; continue; }
		row memtrace_100M_$report MiB "$(calc "$(cut -d' ' -f3 "$tmp/mem") / 1024")" \
			',"goal":1024'
	done
	rm -f "$tmp/many.ctf"
}

# memtrace_seconds NAME THEIRS GOAL COMMAND...: the time of ebtrace COMMAND on the large trace, the
# least of several turns; memtrace has no tool for it if THEIRS is empty.
memtrace_seconds() {
	local name=$1 theirs=$2 goal=$3 turn wall
	shift 3
	: >"$tmp/turns"
	for turn in 1 2 3; do
		"$usage" "$tmp/mem" "$ebtrace" "$@" "$tmp/large.ctf" >/dev/null 2>"$tmp/err" ||
			{ failed "$name: $(tail -1 "$tmp/err")"; return 0; }
		cat "$tmp/mem" >>"$tmp/turns"
	done
	wall=$(sort -g "$tmp/turns" | head -1 | cut -d' ' -f1)
	row $name s "$wall" "${theirs:+,\"theirs\":$theirs,\"peer\":\"memtrace\",\"goal\":$goal}"
}
