#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Stacks of OCaml at each instruction of calls, exceptions, effects, C, callbacks and collections: a program is
# stepped through them, and each step is a block with a stack.
. tests/lib.sh
need_root
need_command jq
need_command perl
[ "$(uname -m)" = x86_64 ] || skip_all "the stepper is one of x86-64"
ocaml_root
ebt=$O/ebtrace

OCAML_LINK="-ccopt -static" ocaml_build steps tests/ocaml/steps_stubs.c
nm -n "$EXE" >"$TMP/symbols"

mkfifo "$TMP/go" && touch "$TMP/err"
timeout 600 "$O/tests/prog/stepper_x86_64" "$TMP/symbols" "$TMP/truth" "$EXE" <"$TMP/go" >"$TMP/said" &
stepper=$!
children+=("$stepper")
exec 9>"$TMP/go"
wait_for grep -q . "$TMP/said"
program=$(head -1 "$TMP/said")
timeout 600 "$ebt" profile --off-cpu --min-duration 1ns --bpf-buffer 256M -v -o "$TMP/run.ebt" -p "$program" 2>"$TMP/err" &
tracer=$!
children+=("$tracer")
wait_for grep -q 'has no markers' "$TMP/err"
wait_for tracer_rests
echo >&9
exec 9>&-
wait $stepper
is $? 0 "a program is stepped to its end" || diag "$(cat "$TMP/said" "$TMP/err")"
wait $tracer
is $? 0 "and traced" || diag "$(cat "$TMP/err")"

"$ebt" -q "$TMP/run.ebt" -o "$TMP/run.ndjson"
jq -r 'select(.kind == "offcpu") | [.ts - .duration_ns, .ts, .stack[]?] | @tsv' "$TMP/run.ndjson" >"$TMP/blocks"
perl tests/live/steps.pl "$TMP/truth" "$TMP/blocks" >"$TMP/got" 2>"$TMP/where"
is "$(sed -n 's/^\([0-9]*\) wrong$/\1/p' "$TMP/got")" 0 "no frame of a stack is another than that of a call that has not returned" ||
	diag "$(cut -c1-400 "$TMP/got")"
is "$(grep -c missed "$TMP/got") $(awk '{ n += $2 + $3 } END { print (n > 9000) }' "$TMP/where")" "0 1" "each step has a stack" ||
	diag "$(cat "$TMP/got" "$TMP/said")"
# through FUNCTION: it was stepped through, and some of its stacks are whole.
through() { awk -v f="$1" '$1 == f && $2 > 0 { found = 1 } END { exit !found }' "$TMP/where"; }
for what in "calls:camlSteps.spills_" "exceptions:camlSteps.again_" "raise:caml_raise_exn" "raise in C:caml_raise_exception" \
	"perform:caml_perform" "reperform:caml_reperform" "resume:caml_resume" "begin and end of a fiber:caml_runstack" \
	"C:caml_c_call" "C with arguments on the stack:caml_c_call_stack_args" "C without a frame:steps_noalloc" \
	"callbacks:caml_start_program" "collections:caml_call_gc" "stacks that grow:caml_call_realloc_stack"; do
	function=${what#*:}
	[ "${function%_}" = "$function" ] || function=$(awk -v f="$function" 'index($1, f) == 1 { print $1; exit }' "$TMP/where")
	ok "$(through "$function"; echo $?)" "${what%:*}: at some instructions the stack is whole"
done
ok "$(awk '/^camlSteps/ { whole += $2; all += $2 + $3 } END { exit !(whole > 0.98 * all) }' "$TMP/where"; echo $?)" \
	"of OCaml's own instructions, nearly all are" || diag "$(grep ^camlSteps "$TMP/where")"
done_testing
