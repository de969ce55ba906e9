#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Threads of OCaml that share a domain: the work of one is no pause of another.
. tests/lib.sh
need_command jq
ocaml_root
dir=$(mktemp -d "$ROOT/tmp/ebtrace.XXXXXX")
chmod 755 "$dir"
at_end "rm -rf '$dir'"
cp tests/ocaml/yields.ml "$dir"
chroot "$ROOT" sh -c "cd /tmp/${dir##*/} && ocamlopt -I +unix -I +threads unix.cmxa threads.cmxa yields.ml -o yields" >"$TMP/log" 2>&1
ok $? "tests/ocaml/yields.ml compiles" || diag "$(cat "$TMP/log")"

"$O/ebtrace" stat --json --mode probes -o "$TMP/json" -- chroot "$ROOT" "/tmp/${dir##*/}/yields" >"$TMP/err" 2>&1
is $? 0 "it is seen through probes"
is "$(jq '[.processes[].domains[]] | length' "$TMP/json")" 1 "both threads are of one domain"
jq -e '.total.phases | map(select(.name == "explicit_gc_full_major"))[0].count >= 3' "$TMP/json" >/dev/null
ok $? "full major collections that yield to other threads are seen whole" || diag "$(jq -c .total.phases "$TMP/json")"
jq -e '.total.gc_ns > 0 and .total.gc_ns * 2 < .total.elapsed_ns' "$TMP/json" >/dev/null
ok $? "what the other thread does meanwhile is no time of garbage collection" ||
	diag "$(jq -c '.total | [.elapsed_ns, .gc_ns, .pauses.max_ns]' "$TMP/json")"
done_testing
