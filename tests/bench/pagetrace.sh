# SPDX-License-Identifier: BSD-2-Clause
# Page traces of Go: sourced by run.sh. The trace is made of a real one, large enough that its size is
# not the cache's.
pagetrace_bytes=200000000

bench_pagetrace() {
	xz -dc tests/data/pagetrace/gcbig-p2-go122.pt.xz >"$tmp/seed.pt" &&
		"$O/tests/bench/bench_pagetrace" "$tmp/seed.pt" "$tmp/large.pt" $pagetrace_bytes >>"$out" ||
		failed "bench_pagetrace failed"
	rm -f "$tmp/large.pt"
}
