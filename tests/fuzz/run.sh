#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs one fuzz target: first each committed seed, then FUZZ_SECONDS of fuzzing from a copy of
# them with a fixed random seed. A crash leaves its input beside the target.
set -eu
target=$1
name=${target##*/fuzz_}
seeds=tests/fuzz/seeds/$name
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "$(ls "$seeds")" ] || { echo "no seeds in $seeds"; exit 1; }
cp "$seeds"/* "$work"
"$target" -seed=1 -max_total_time="${FUZZ_SECONDS:-20}" -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
  -artifact_prefix="$target-" -print_final_stats=1 "$work" >"$work.log" 2>&1 || {
  tail -40 "$work.log"; rm -f "$work.log"; exit 1; }
printf 'fuzz %s: %s seeds, %s, %s\n' "$name" "$(find "$seeds" -type f | wc -l)" \
  "$(sed -n 's/stat::number_of_executed_units: */executions /p' "$work.log")" \
  "$(grep -o 'cov: [0-9]*' "$work.log" | tail -1)"
rm -f "$work.log"
