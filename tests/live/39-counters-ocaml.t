#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --mode counters at the functions of OCaml programs that were never prepared.
. tests/lib.sh
. tests/counters.sh
need_command jq
ocaml_root
without_times

# run ARGS...: the program inside the root.
run() {
	start chroot "$ROOT" "$EXE_IN" "$@"
	wait_for grep -q ready "$TMP/said"
}
ocaml_build gcwork
retry run 3 200 wait
check_same 'three domains' 100
close 'the time in pauses' .total.gc_ns
close 'half of them' '.total.pauses.percentiles_ns["50"]'
is "$(number counters '[.total.lost.events, (.processes[0].domains | length) >= 3]')" '[0,true]' 'nothing is lost'

# 40 children and 5 programs, all in the probes of one file.
ocaml_build manykids
children=${CHILDREN:-40}
retry run "$children" 5 "$(lasting 0.5)"
check_same 'children and programs' $(((children + 6) * 2))

# Finalisers that give way to another thread of the domain: its time is no part of the pause.
ocaml_build gcwork
cp tests/ocaml/yields.ml "$EXE_DIR"
chroot "$ROOT" sh -c "cd ${EXE_IN%/*} && ocamlopt -I +unix -I +threads unix.cmxa threads.cmxa yields.ml -o yields" >"$TMP/log" 2>&1
ok $? 'tests/ocaml/yields.ml compiles' || diag "$(cat "$TMP/log")"
for mode in probes counters; do
	ends_with 0 "$O/ebtrace" stat --json --mode $mode -o "$TMP/yields-$mode.json" -- \
		chroot "$ROOT" "${EXE_IN%/*}/yields" 2>"$TMP/err"
done
# Five of some 20 pauses have 100 ms of it otherwise.
is "$(number yields-counters '.total.pauses.percentiles_ns["80"] < 90000000')" true 'threads of a domain' ||
	diag "$(number yields-counters .total.pauses)" "$(number yields-probes .total.pauses)"

done_testing
