#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The message about a process that has nothing to trace describes that process.
. tests/lib.sh
need_file "$O/ebtrace"
need_root

env -u EBTRACE_START -u OCAML_RUNTIME_EVENTS_START "$O/tests/prog/loop" 60 >/dev/null &
children+=($!)
is_loop() { [ "$(readlink "/proc/$1/exe")" = "$(realpath "$O/tests/prog/loop")" ]; }
wait_for is_loop $!
"$O/ebtrace" --mode ring -p $! 2>"$TMP/err"
is $? 4 "a program with our library whose ring is off has nothing to read"
is "$(grep -c 'OCaml 5 program' "$TMP/err")" 0 "it is not called an OCaml program" || diag "$(cat "$TMP/err")"
is "$(grep -c "links libebtrace-probes, and its ring is off.*EBTRACE_START=1" "$TMP/err")" 1 \
	"the message names what it is, and what to do" || diag "$(cat "$TMP/err")"

strip -o "$TMP/loop" "$O/tests/prog/loop"
objcopy -R .note.stapsdt "$TMP/loop"
"$TMP/loop" 60 >/dev/null &
children+=($!)
"$O/ebtrace" --mode ring -p $! 2>"$TMP/err"
is "$? $(grep -c 'OCaml 5 program' "$TMP/err")" "4 0" \
	"nor one whose markers have been removed, although the names of OCaml's variables are in it"
done_testing
