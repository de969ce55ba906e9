#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A test of one fuzz target: first each committed seed, then FUZZ_SECONDS of fuzzing from a copy of
# them with a fixed random seed. A crash leaves its input beside the target.
set -u
target=$1
name=${target##*/fuzz_}
seeds=tests/fuzz/seeds/$name
work=$(mktemp -d)
trap 'rm -rf "$work" "$work.log"' EXIT
echo 1..1
[ -n "$(ls "$seeds")" ] || { echo "not ok 1 - there are seeds in $seeds"; exit 1; }
cp "$seeds"/* "$work"
if "$target" -seed=1 -max_total_time="${FUZZ_SECONDS:-10}" -max_len=65536 -timeout=60 -rss_limit_mb=2048 \
	-artifact_prefix="$target-" -print_final_stats=1 "$work" >"$work.log" 2>&1; then
	echo "ok 1 - $name takes any input"
	printf '# %s seeds, %s, %s\n' "$(find "$seeds" -type f | wc -l)" \
		"$(sed -n 's/stat::number_of_executed_units: */executions /p' "$work.log")" \
		"$(grep -o 'cov: [0-9]*' "$work.log" | tail -1)"
else
	echo "not ok 1 - $name takes any input"
	tail -40 "$work.log" | sed 's/^/# /'
	exit 1
fi
