# SPDX-License-Identifier: BSD-2-Clause
# Page traces of Go: sourced by run.sh. The trace is made of a real one, large enough that its size is
# not the cache's.
pagetrace_bytes=200000000

bench_pagetrace() {
	xz -dc tests/data/pagetrace/gcbig-p2-go122.pt.xz >"$tmp/seed.pt" &&
		"$O/tests/bench/bench_pagetrace" "$tmp/seed.pt" "$tmp/large.pt" $pagetrace_bytes >>"$out" ||
		failed "bench_pagetrace failed"
	bench_pages_summary
	rm -f "$tmp/large.pt"
}

# The least of several turns: the report on one screen. Reading has a thread of its own.
bench_pages_summary() {
	local turn i=0 name
	rm -f "$tmp/summary"
	for ((turn = 0; turn < 3; turn++)); do
		"$usage" "$tmp/cost" "$ebtrace" pages -q -o "$tmp/summary.txt" "$tmp/large.pt" &&
			cat "$tmp/cost" >>"$tmp/summary" ||
			{ failed "pages summary of a page trace failed"; return 0; }
	done
	for name in pages_summary pages_summary_cpu; do
		i=$((i + 1))
		row $name MB/s "$(calc "$(stat -c %s "$tmp/large.pt") / 1e6 / \
			$(cut -d' ' -f$i "$tmp/summary" | sort -g | head -1)")" "$([ $i = 2 ] || echo ',"goal":300')"
	done
}
