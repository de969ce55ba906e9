#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Four functions with known shares of the CPU time, in OCaml and in C, called in each way there is: directly, as stubs
# with and without a frame of OCaml, by callbacks, in fibers, by handlers of effects, under handlers of exceptions, in two
# domains, and in two system threads. One run has all of them. RUNS=20: so many runs, of one way each; the limits of a
# share should hold the true one in 95 of 100 cases.
. tests/lib.sh
need_root
need_command jq
[ "$(uname -m)" = x86_64 ] || skip_all "OCaml's stacks are not walked here"
ocaml_root
ebt=$O/ebtrace
ways=(c ocaml stub noalloc callback fiber handler exception domain thread)
OCAML_LINK=-g OCAML_LIBRARIES="-I +threads threads.cmxa" ocaml_build_here ways tests/ocaml/ways_stubs.c

# run WAY: a run, into run.json.
run() {
	local program=("$EXE" 2 "$1")
	[ "$1" != c ] || program=("$O/tests/prog/shares" 2)
	ends_with 0 timeout 300 "$ebt" profile -F 999 --by program --json -o "$TMP/run.json" -- "${program[@]}" \
		>"$TMP/said" 2>"$TMP/err" || diag "$(cat "$TMP/err")"
}
# four: the four functions of run.json, in a line each: name, share in per cent, samples, of all samples, limits.
four() {
	jq -r '.samples as $n | [.sections[].functions[] |
			select(.self.samples > 0 and (.function | test("^(Ways\\.|ways_)?(ten|twenty|thirty|forty)$"))) |
			.function |= sub("^(Ways\\.|ways_)"; "")] | group_by(.function)[] |
		[.[0].function, {ten: 10, twenty: 20, thirty: 30, forty: 40}[.[0].function], (map(.self.samples) | add), $n,
			.[0].self.low, .[0].self.high] | join(" ")' "$TMP/run.json"
}

if [ "${RUNS:-1}" = 1 ]; then
	run all
	four >"$TMP/four"
	is "$(awk '{ q = $2 / 100; s += $3; d = $3 - $4 * q; if (d * d > 25 * $4 * q * (1 - q)) print }' "$TMP/four")" "" \
		"functions in OCaml and C have their shares, in whichever way they are called" || diag "$(cat "$TMP/four")"
	is "$(wc -l <"$TMP/four")" 4 "all four have samples"
	ok "$(jq 'if .stacks.whole >= 0.95 * .samples then 0 else 1 end' "$TMP/run.json")" "their stacks are whole" ||
		diag "$(jq -c .stacks "$TMP/run.json")"
	done_testing
fi
for ((i = 0; i < RUNS; i++)); do
	way=${ways[i % ${#ways[@]}]}
	run "$way"
	four | sed "s/^/$way /" >>"$TMP/figures"
	jq -r --arg way "$way" 'select(.stacks.whole < 0.95 * .samples) | "\($way) \(.samples) \(.stacks)"' "$TMP/run.json" >>"$TMP/cut"
done
inside=$(awk '$6 <= $3 && $3 <= $7' "$TMP/figures" | wc -l)
diag "$inside of $((4 * RUNS)) true shares are within the limits; the others:"
diag "$(awk '$3 < $6 || $3 > $7' "$TMP/figures")"
is "$(wc -l <"$TMP/figures")" $((4 * RUNS)) "there is a figure of each function in each run"
ok $((inside * 8 >= 4 * RUNS * 7 ? 0 : 1)) "at least 7 of 8 limits hold the true share"
is "$(cat "$TMP/cut")" "" "stacks are whole in each way"
done_testing
