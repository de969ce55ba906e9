#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs every built test under one runner: unit, command-line and live tests, what hostile programs
# and files try, and the Debian packages and a round on other kernels (as root), then unit and
# command-line tests once more with the sanitized build in $O/asan, the race test under TSan, and
# what needs libc alone on another processor.
# Live tests that measure the tracer's memory or speed run one at a time; of the others three, as most
# wait more than they work. The race test has its full time under TSan.
# What failed is said again at the end, with the lines that say why; so is the time of each part.
# Signals that a background job or nohup ignores are taken again: tests send them.
[ -n "${EBT_OWN_SIGNALS:-}" ] || EBT_OWN_SIGNALS=1 exec env --default-signal=HUP,INT,QUIT "$0" "$@"
set -u
cd "$(dirname "$0")/.." || exit 1
export O=${O:-build}
[ -n "${CI:-}" ] && export EBT_NO_SKIP=1
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/tests/leaks.supp:print_suppressions=0}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}
set -o pipefail
status=0
failed=$(mktemp)
times=$(mktemp)
trap 'rm -f "$failed" "$times"' EXIT
run() {
  local title=$1 begin=$SECONDS; shift
  printf '\n== %s\n' "$title"
  prove --timer --failures --comments "$@" 2>&1 |
    tee >(failures "$title" >>"$failed") || status=1
  printf '%5d s  %s\n' $((SECONDS - begin)) "$title" >>"$times"
}
# The tests of prove's output that failed, each with its comments.
failures() {
  awk -v title="$1" '
    /^not ok/ && !/# TODO/ { if (!told++) print "== " title; print; why = 1; next }
    why && /^# / { print; next }
    { why = 0 }
    /^Test Summary Report/ { if (!told++) print "== " title; summary = 1 }
    summary && /Wstat|Failed test|Parse errors/'
}
programs() { find "$1/tests/unit" -type f -perm -u+x -name 'test_*' | sort; }

# shellcheck disable=SC2046
RACE_SECONDS=5 run "unit, command line" -j2 -e '' $(programs "$O") tests/cli/*.t
alone='/(35|57)-'
# shellcheck disable=SC2046
run "live, one at a time" -e '' $(printf '%s\n' tests/live/*.t | grep -E "$alone")
# shellcheck disable=SC2046
run "live" -j3 -e '' $(printf '%s\n' tests/live/*.t | grep -vE "$alone")
run "attacks" -j2 -e '' tests/attack/*.t
run "packages" -e '' tests/packages/*.t
run "other kernels" -j2 -e '' tests/kernels/*.t
RACE_SECONDS=5 run "unit under ASan and UBSan" -j2 -e '' $(programs "$O/asan")
O=$O/asan run "command line under ASan and UBSan" -j2 -e '' tests/cli/*.t
# shellcheck disable=SC2046
run "unit on an emulated AArch64" -j2 -e qemu-aarch64 $(programs "$O/aarch64-linux-gnu")
[ -x "$O/tsan/tests/unit/test_ring_race" ] &&
  run "the race under TSan" -e '' "$O/tsan/tests/unit/test_ring_race"
printf '\n== time\n'
cat "$times"
if [ $status != 0 ]; then
  sleep 0.2 # for the last tee
  printf '\nFAILED:\n'
  cat "$failed"
fi
exit $status
