# SPDX-License-Identifier: BSD-2-Clause
# Allocation traces of memtrace: sourced by run.sh. The trace has as many events as the one that
# memtrace's own tools were measured with: 9.51 million, made of a real one.
memtrace_events=9510000

bench_memtrace() {
	xz -dc tests/data/memtrace/single.ctf.xz >"$tmp/seed.ctf" &&
		"$O/tests/bench/bench_memtrace" "$tmp/seed.ctf" "$tmp/large.ctf" $memtrace_events >>"$out" ||
		{ failed "bench_memtrace failed"; return 0; }
	memtrace_seconds memtrace_dump 62.5 3 trace -q -f ndjson -o /dev/null
	memtrace_seconds memtrace_hotspots 3.08 0.3 mem hotspots
	memtrace_seconds memtrace_live "" "" mem live
	! "$ebtrace" mem --help | grep -q '^ *flame ' ||
		memtrace_seconds memtrace_flame 6.19 0.3 mem flame
	rm -f "$tmp/large.ctf"
}

# memtrace_seconds NAME THEIRS GOAL COMMAND...: the time of ebtrace COMMAND on the large trace; memtrace
# has no tool for it if THEIRS is empty.
memtrace_seconds() {
	local name=$1 theirs=$2 goal=$3 wall rest
	shift 3
	"$usage" "$tmp/mem" "$ebtrace" "$@" "$tmp/large.ctf" >/dev/null ||
		{ failed "$name"; return 0; }
	read -r wall rest <"$tmp/mem"
	row $name s "$wall" "${theirs:+,\"theirs\":$theirs,\"peer\":\"memtrace\",\"goal\":$goal}"
}
