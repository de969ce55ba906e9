#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# stat against what OCaml's own runtime counts: the same program prints its Gc.quick_stat.
. tests/lib.sh
ocaml_root
need_command jq
ocaml_build gcstat
export OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=/tmp
export OCAMLRUNPARAM=e=20

told() { awk -v n="$1" '$1 == n { print $2 }' "$TMP/told"; }
for domains in 1 3; do
	"$O/ebtrace" stat -q --json -o "$TMP/json" -- chroot "$ROOT" "$EXE_IN" $domains 100 >"$TMP/told" 2>"$TMP/err"
	is $? 0 "$domains domains: the program's own status"
	is "$(jq '.total.lost.words' "$TMP/json")" 0 "$domains domains: nothing lost"
	for n in minor major compactions; do
		is "$(jq ".total.collections.$n" "$TMP/json")" "$(told $n)" "$domains domains: $n, as the runtime counts"
	done
	is "$(jq .total.words.promoted "$TMP/json")" "$(told promoted_words)" "$domains domains: words promoted"
	# The counters lag: by what is in the minor heaps, and by what a domain allocates after its last slice.
	jq -e --argjson told "$(told minor_words)" '.total.words.minor_allocated | . <= $told and . > 0.99 * $told' "$TMP/json" >/dev/null
	ok $? "$domains domains: words allocated in the minor heaps" || diag "$(jq .total.words "$TMP/json") $(told minor_words)"
	jq -e --argjson told "$(told major_words)" '.total.words.major_allocated | . <= $told and . > 0.5 * $told' "$TMP/json" >/dev/null
	ok $? "$domains domains: words allocated in the major heap" || diag "$(jq .total.words "$TMP/json") $(told major_words)"
	jq -e --argjson n $domains '.processes | length == 1 and (.[0].domains | length == $n and all(.gc_ns > 0 and .gc_ns <= .elapsed_ns))
		and (.[0] | .cpu_user_ns + .cpu_system_ns > 0 and .peak_rss_bytes > 1000000 and .pauses.count >= 5 and .unmatched_ends == 0)' "$TMP/json" >/dev/null
	ok $? "$domains domains: each has its times, the process its memory" || diag "$(jq -c '.processes[] | del(.phases)' "$TMP/json")"
done
done_testing
