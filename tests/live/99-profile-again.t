#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program with four busy domains is attached to and left 100 times, by samples of its threads and by stacks of
# where they wait: it computes what it did before.
. tests/lib.sh
need_root
need_command jq
ocaml_root
ebt=$O/ebtrace
domains=4 times=100

OCAML_LINK=-g ocaml_build_here steady
mkfifo "$TMP/in"
"$EXE" $domains <"$TMP/in" >"$TMP/said" 2>&1 &
program=$!
children+=("$program")
exec 9>"$TMP/in"
wait_for grep -q ready "$TMP/said"

options=("-F 999" --off-cpu "--wall -F 999") failed=0
for ((i = 0; i < times; i++)); do
	# shellcheck disable=SC2086
	timeout 300 "$ebt" profile ${options[i % 3]} -d "$(lasting 0.02)" --json -o "$TMP/run.$i.json" -p $program 9>&- 2>"$TMP/err" || {
		failed=$((failed + 1))
		diag "$(cat "$TMP/err")"
	}
done
is $failed 0 "a busy program is attached to and left $times times"
working=$(wc -l <"$TMP/said")
exec 9>&-
wait $program
status=$?
read -r samples blocks < <(jq -nr 'reduce inputs as $run ([0, 0]; [.[0] + ($run.samples // 0), .[1] + ($run.blocks.count // 0)]) | @tsv' \
	"$TMP"/run.*.json)
ok "$((samples > times && blocks > times ? 0 : 1))" "samples and blocks of it are seen" || diag "$samples samples, $blocks blocks"
is "$working" 1 "it is still at work"
is $status 0 "it ends as it does alone" || diag "$(cat "$TMP/said")"
is "$(awk 'NR > 1 && $1 > 100 && $2 == 0' "$TMP/said" | wc -l)" $domains "in each domain all results are those of the first time" ||
	diag "$(cat "$TMP/said")"
done_testing
