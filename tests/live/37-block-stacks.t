#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Where threads block: in events (trace --blame --stack=offcpu), in the longest pauses (stat --blame)
# and in the slowest spans (spans --stack), of C and of OCaml; from runs and from a capture.
. tests/lib.sh
need_root
need_command jq
ebt=$O/ebtrace
steps="$TMP/file sleep futex"

# of_block REPORT FILTER: by pause or span: its length is that of its longest block or more, and the steps on the stack.
blocks() {
	jq -c "$2"' | [.[] | select(.block) | [.block.ns <= .ns and .block.ns >= 2000000,
		(.block.stack | map(split("@")[0]) | map(select(. == "do_sleep" or . == "wait_for_word")) | .[])]] | unique' "$1"
}
# with_stacks FILE LEAST MOST: of the blocks as long as that, in the steps: how many in 100 have a step's function on their stack.
with_stacks() {
	jq -s --argjson least "$2" --argjson most "$3" '
		map(select(.kind == "offcpu" and .reason == "sleep" and (.syscall == 230 or .syscall == 202) and
			.duration_ns >= $least and .duration_ns < $most)) |
		if length < 20 then "only \(length)" else
		100 * (map(select(any(.stack[]?; test("^(do_sleep|do_futex|wait_for_word)")))) | length) / length | floor end' "$1"
}

# ---- events ----

# shellcheck disable=SC2086
timeout 300 "$ebt" --blame --stack=offcpu -q -o "$TMP/run.ndjson" -- "$O/tests/prog/blamed" $steps >"$TMP/said" 2>"$TMP/err"
is $? 0 "a run with the stacks of blocks ends well" || diag "$(cat "$TMP/err")"
n=$(with_stacks "$TMP/run.ndjson" 1000000 10000000000)
ok "$([ "$n" -ge 98 ] 2>/dev/null; echo $?)" "blocks of 1 ms and longer have their stacks" || diag "$n"
is "$(jq -s -c 'map(select(.kind == "offcpu" and .duration_ns < 1000000 and .stack)) | length' "$TMP/run.ndjson")" 0 "shorter ones have none"
is "$(jq -s -c 'map(select(.kind != "offcpu" and .stack)) | length' "$TMP/run.ndjson")" 0 "nor has any other event"
is "$(jq -s -c 'map(select(.kind == "offcpu").domain) | unique' "$TMP/run.ndjson")" "[-1]" "they are of no domain"
# shellcheck disable=SC2086
"$ebt" --blame --stack=begin -q -o "$TMP/begin.ndjson" -- "$O/tests/prog/blamed" $steps >"$TMP/said" 2>"$TMP/err"
is "$(jq -s -c 'map(select(.stack).kind) | unique' "$TMP/begin.ndjson")" '["begin","pause"]' "of other events' stacks blocks get none"
# shellcheck disable=SC2086
"$ebt" --blame --stack -q -o "$TMP/all.ndjson" -- "$O/tests/prog/blamed" $steps >"$TMP/said" 2>"$TMP/err"
is "$(jq -s -c '[map(select(.stack).kind) | unique | .[] | select(. == "begin" or . == "end" or . == "offcpu")]' "$TMP/all.ndjson")" \
	'["begin","end","offcpu"]' "of all events' stacks they are some"

# ---- pauses ----

# shellcheck disable=SC2086
"$ebt" stat --blame --stack --json -o "$TMP/stat.json" -- "$O/tests/prog/blamed" $steps >"$TMP/said" 2>"$TMP/err"
is "$(blocks "$TMP/stat.json" '.blame.longest')" '[[true,"do_sleep"],[true,"wait_for_word"]]' \
	"the longest pauses have their longest blocks" || diag "$(jq -c '.blame.longest[] | [.ns, .cause, .block]' "$TMP/stat.json")"
is "$(jq -c '[.blame.longest[] | if .cause.part == "run_queue" then .cause.ns >= .block.ns else .cause.ns == .block.ns end] | unique' "$TMP/stat.json")" '[true]' \
	"which are their causes, unless a wait for a CPU was longer"
# shellcheck disable=SC2086
"$ebt" stat --blame --json -o "$TMP/plain.json" -- "$O/tests/prog/blamed" $steps >"$TMP/said" 2>"$TMP/err"
is "$(jq -c '[.blame.longest[].block] | unique' "$TMP/plain.json")" '[null]' "where pauses have no probes they are not known, unasked"
# shellcheck disable=SC2086
"$ebt" stat --blame --stack=offcpu --mode probes -o "$TMP/stat.txt" -- "$O/tests/prog/blamed" $steps >"$TMP/said" 2>"$TMP/err"
is "$(grep -A9 'the longest block, of' "$TMP/stat.txt" | grep -o 'at do_sleep\|at wait_for_word' | sort -u | tr '\n' ' ')" \
	"at do_sleep at wait_for_word " "text has them" || diag "$(cat "$TMP/stat.txt")"
is "$(grep -c 'The longest pause took .* syscall.S' "$TMP/stat.txt")" 0 "the sentence names no place in a library"
"$ebt" stat --blame --stack=offcpu --mode probes --json -o "$TMP/stat.json" -- "$O/tests/prog/blamed" "$TMP/file" sleep >"$TMP/said" 2>"$TMP/err"
is "$(jq -c '[.blame.longest[] | [.stack, (.block.stack | length > 0)]] | unique' "$TMP/stat.json")" '[[[],true]]' \
	"pauses have none, as --stack has other events" || diag "$(jq -c .blame.longest "$TMP/stat.json")"

# ---- spans ----

# shellcheck disable=SC2086
"$ebt" spans --stack --json -o "$TMP/spans.json" -- "$O/tests/prog/spanned" $steps >"$TMP/said" 2>"$TMP/err"
is "$(blocks "$TMP/spans.json" '.slowest')" '[[true,"do_sleep"],[true,"wait_for_word"]]' \
	"the slowest spans have their longest blocks" || diag "$(jq -c '.slowest[] | [.ns, .block]' "$TMP/spans.json")"
is "$(jq -c '[.slowest[] | ([.in_order[] | select(.part == "blocked").ns] | max) as $most | .block.ns >= $most] | unique' "$TMP/spans.json")" '[true]' \
	"no block of them is longer"
# shellcheck disable=SC2086
"$ebt" spans --json -o "$TMP/plain.json" -- "$O/tests/prog/spanned" $steps >"$TMP/said" 2>"$TMP/err"
is "$(jq -c '[.slowest[].block] | unique' "$TMP/plain.json")" '[null]' "unasked they are not recorded"
# shellcheck disable=SC2086
"$ebt" --blame --stack=offcpu -q -o "$TMP/run.ebt" -- "$O/tests/prog/spanned" $steps >"$TMP/said" 2>"$TMP/err"
"$ebt" spans --json "$TMP/run.ebt" >"$TMP/file.json" 2>"$TMP/err"
is "$(blocks "$TMP/file.json" '.slowest')" '[[true,"do_sleep"],[true,"wait_for_word"]]' "a recording has them"
"$ebt" spans "$TMP/run.ebt" >"$TMP/spans.txt" 2>"$TMP/err"
is "$(grep -A9 'the longest block, of' "$TMP/spans.txt" | grep -o 'at do_sleep\|at wait_for_word' | sort -u | tr '\n' ' ')" \
	"at do_sleep at wait_for_word " "and so has text" || diag "$(cat "$TMP/spans.txt")"
# shellcheck disable=SC2086
"$ebt" --blame --stack=offcpu -q -o "$TMP/run.ebt" -- "$O/tests/prog/blamed" $steps >"$TMP/said" 2>"$TMP/err"
"$ebt" stat --blame --json "$TMP/run.ebt" >"$TMP/file.json" 2>"$TMP/err"
is "$(blocks "$TMP/file.json" '.blame.longest')" '[[true,"do_sleep"],[true,"wait_for_word"]]' "as have pauses of a recording"

mkfifo "$TMP/go"
sh -c 'read -r _ <"$1"; exec "$2" mixed threads' - "$TMP/go" "$O/tests/prog/requests" >"$TMP/said" &
pid=$!
children+=("$pid")
"$ebt" spans -v --stack --json --top 100 -o "$TMP/p.json" -p "$pid" 2>"$TMP/err" &
tracer=$!
children+=("$tracer")
for _ in $(seq 600); do
	grep -q 'has no markers' "$TMP/err" && break
	sleep 0.1
done
echo go >"$TMP/go"
wait "$tracer"
status=$?
is "$status $(jq '[.slowest[] | select(any(.block.stack[]?; startswith("nap@")))] | length > 5' "$TMP/p.json")" '0 true' \
	"a process that is attached to has them, too" || diag "$(cat "$TMP/err"; jq -c '.slowest[] | [.name, .ns, .block]' "$TMP/p.json")"

# ---- refusals ----

for args in "$TMP/run.ebt" "--mode ring -p $$" "--mode watermark -p $$"; do
	# shellcheck disable=SC2086
	"$ebt" spans --stack $args >"$TMP/out" 2>"$TMP/err"
	is "$? $(grep -c 'of threads that run' "$TMP/err")" "2 1" "spans --stack ${args%% *}: refused" || diag "$(cat "$TMP/err")"
done

# ---- OCaml ----

ocaml_root
OCAML_LINK=-g ocaml_build_here waits
"$ebt" stat --blame --json -o "$TMP/waits.json" -- "$EXE" 5 >"$TMP/said" 2>"$TMP/err"
is "$(jq -c '[.blame.longest[] | select(.phase == "explicit_gc_full_major") | [(.block.ns >= 20000000),
	([.block.stack[] | select(startswith("Waits."))] | map(split("@")[0]))]] | unique' "$TMP/waits.json")" \
	'[[true,["Waits.collects","Waits.finalises"]]]' \
	"a collection that a finaliser lets wait: the block is in the finaliser, unasked" || diag "$(jq -c '.blame.longest[]' "$TMP/waits.json")"
# On a busy machine a pause may wait for a CPU for longer.
for _ in 1 2 3 4 5; do
	"$ebt" stat --blame -o "$TMP/waits.txt" -- "$EXE" 5 >"$TMP/said" 2>"$TMP/err"
	grep -q 'The longest pause took .*: its thread slept' "$TMP/waits.txt" && break
done
line=$(grep -n 'Unix.sleepf 0.03' tests/ocaml/waits.ml | cut -d: -f1)
is "$(grep -c "The longest pause took .*: its thread slept for .* of it.* at waits.ml:$line (Waits.finalises); Gc.full_major was called from waits.ml" "$TMP/waits.txt")" 1 \
	"and the sentence names it" || diag "$(grep 'The longest' "$TMP/waits.txt")"
done_testing
