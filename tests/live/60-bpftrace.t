#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The bpftrace one-liners of libebtrace-probes(3), against what minigc says it emitted.
. tests/lib.sh
need_root
need_command bpftrace
need_file "$O/tests/prog/minigc"
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing ||
	skip_all "tracefs cannot be mounted"

page=docs/man/libebtrace-probes.3.scd
prog=$(realpath "$O/tests/prog/minigc")
# What each of them runs in place of "./prog args": it prints on stderr what it emitted.
arguments=("-q -n 20000 -c /dev/stderr" "-q -n 20000 -c /dev/stderr" "-q -n 20000 -c /dev/stderr"
	"-q -s 5 -r 100000" "-q -u -n 20000 -c /dev/stderr")
awk -v to="$TMP/cmd" '/^; run by tests\/live\/60-bpftrace.t$/ { file = to "." ++n; next }
	/^```/ { inside = file != "" && !inside; if (!inside) file = ""; next } inside { print >file }' $page
is "$(find "$TMP" -name 'cmd.*' | wc -l)" 5 "the page of the library has five one-liners"
BPFTRACE_MAP_KEYS_MAX=65536
BPFTRACE_STRLEN=64
export BPFTRACE_MAP_KEYS_MAX BPFTRACE_STRLEN

# run N: one-liner N; its output to out.N, the counts of minigc to counts.N.
run() {
	sed -i "s|'\./prog args'|'$prog ${arguments[$1 - 1]}'|; s|usdt:\./prog:|usdt:$prog:|g" "$TMP/cmd.$1"
	bash "$TMP/cmd.$1" >"$TMP/out.$1" 2>"$TMP/counts.$1"
	ok $? "one-liner $1 runs" || diag "$(tail -3 "$TMP/counts.$1")"
}
# emitted N KIND: how many minigc counted.
emitted() { awk -v k="$2" '$2 == k { n += $3 } END { print n + 0 }' "$TMP/counts.$1"; }
# Sums of what bpftrace prints: "@map[key]: N" lines, and "[low, high) N |@@@|" of histograms.
map_sum() { awk -v m="@$2[" 'index($0, m) == 1 { n += $NF } END { print n + 0 }' "$TMP/out.$1"; }
hist_sum() {
	awk '/^[[(].*[])] +[0-9]+ \|/ { sub(/^[^)\]]*[)\]]/, ""); n += $1 } END { print n + 0 }' "$TMP/out.$1"
}

run 1
is "$(hist_sum 1)" "$(emitted 1 end)" "every phase that ended is in a histogram"
grep -q '^@ns\[minor_local_roots\]' "$TMP/out.1"
ok $? "phases have their names"

run 2
is "$(map_sum 2 reports)" "$(emitted 2 counter)" "every counter event is counted"
grep -q '^@sum\[minor_promoted\]: [1-9]' "$TMP/out.2"
ok $? "values of counters arrive"

run 3
is "$(grep -c '^@minors\[[0-9]*\]: [1-9]' "$TMP/out.3")" 4 "each of the four threads has its count"
is "$(map_sum 3 minors)" "$(emitted 3 alloc_sizes)" "one flush of sizes comes with each minor collection"

run 4
grep -q '^ *collect_stopped+' "$TMP/out.4"
ok $? "the stack at a major collection names the function that led it"
is "$(grep -c '^]: [1-9]' "$TMP/out.4" | sed 's/[1-9][0-9]*/some/')" some "stacks are counted"

run 5
is "$(hist_sum 5)" "$(emitted 5 span_end)" "every user span that ended is in the histogram"
grep -q '^@span_ns\[minigc.batch\]' "$TMP/out.5"
ok $? "user spans have their names"
done_testing
