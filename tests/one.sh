#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# one.sh TEST: runs a test for run.sh as its path wants it, for $TEST_SECONDS at most, with its status. Adds a line to
# $TIMES: its part, begin and end in seconds, its CPU time and its path. What is built lies in $O; $PART is the part of
# those that are not told by their path.
set -u
unset PERL_TEST_HARNESS_DUMP_TAP
test=$1 runner=()
case $test in
"$O"/fuzz/*) PART=fuzzers runner=(tests/fuzz/run.sh) ;;
"$O"/asan/tests/cli/*)
	PART="command line under ASan and UBSan" test=tests/cli/${test##*/}
	export O=$O/asan
	;;
"$O"/asan/*)
	PART="unit under ASan and UBSan"
	export RACE_SECONDS=5 ROUNDS=few
	;;
"$O"/aarch64-linux-gnu/*) PART="unit on an emulated AArch64" runner=(qemu-aarch64) ;;
"$O"/tsan/*) PART="races under TSan" ;;
"$O"/*) export RACE_SECONDS=5 ;;
tests/packages/*)
	# On a new machine it makes two Debians first, beside all others.
	PART=packages TEST_SECONDS=$((2 * ${TEST_SECONDS:-1200}))
	;;
tests/attack/*) PART=attacks ;;
esac
begin=$EPOCHREALTIME
# In a process group of its own: what a test that failed has left would hold the pipe to prove for ever.
set -m
errors=
case $PART in *ASan*) errors=$TIMES.err.$$ ;; esac
{
	[ -z "$errors" ] || exec 2>"$errors"
	exec timeout -k 10 "${TEST_SECONDS:-1200}" "${runner[@]}" "$test"
} &
group=$!
trap 'kill -TERM -- "-$group"; exit 130' INT TERM
wait -f $group
status=$?
set +m
trap - INT TERM
[ $status = 0 ] || kill -KILL -- "-$group" 2>/dev/null
# Of a process that a test starts, as the one that reads symbols, only what it writes shows a fault.
if [ -n "$errors" ]; then
	cat "$errors" >&2
	grep -qE 'ERROR: (Address|Leak)Sanitizer|runtime error: ' "$errors" && [ $status = 0 ] && status=1
	rm "$errors"
fi
end=$EPOCHREALTIME
# Of this shell in the first line, of what it has waited for in the second, as 0m1.234s; a pipe would be another shell.
times >"$TIMES.$$"
awk -v part="$PART" -v begin="$begin" -v end="$end" -v test="$1" -v OFS='\t' 'NR == 2 {
	for (i = 1; i <= 2; i++) { split($i, at, /[ms]/); cpu += 60 * at[1] + at[2] }
	print part, begin, end, cpu, test }' "$TIMES.$$" >>"$TIMES"
rm "$TIMES.$$"
exit $status
