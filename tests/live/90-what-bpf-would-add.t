#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Without privilege a line says what is missing, where root would see more, and there alone.
. tests/lib.sh
need_root
need_command setpriv
ocaml_root
ocaml_build_here gcstat
chmod 755 "$TMP"
cp "$O/ebtrace" "$O/tests/prog/minigc" "$TMP"
chmod 755 "$TMP"/*
mkdir -m 777 "$TMP/rings"
run() { setpriv --reuid 65534 --regid 65534 --clear-groups env XDG_RUNTIME_DIR= "$TMP/ebtrace" "$@" 2>"$TMP/err"; }
lines() { grep -c "without thread and CPU" "$TMP/err"; }

run -- "$TMP/minigc" -q -n 500 -c /dev/null >"$TMP/out"
is "$? $(lines)" "0 1" "of a program with markers root would see thread and CPU: a line reports it"
grep -q 'begin' "$TMP/out"
ok $? "its events are shown"
run -- "$EXE" 1 50 >"$TMP/out"
is "$? $(lines)" "0 0" "of an OCaml program whose ring is on nobody sees them: no line" || diag "$(cat "$TMP/err")"
grep -q 'begin minor' "$TMP/out"
ok $? "its events are shown, too"
run stat --blame --stack -o "$TMP/rings/report" -- "$TMP/minigc" -q -t 1 -n 500 -c /dev/null
is "$? $(grep -c 'reading the rings alone: .*it is not recorded when threads do not run, and events get no stacks' "$TMP/err")" "0 1" \
	"a report of pauses has neither their parts nor the stacks that are asked for: a line reports both" || diag "$(cat "$TMP/err")"
grep -q '^  The longest pause took' "$TMP/rings/report"
ok $? "it has the pauses"
done_testing
