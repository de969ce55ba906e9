#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs every built test under one runner: unit, command-line and live tests, what hostile programs
# and files try, and the Debian packages and a round on other kernels (as root). Beside the live tests,
# which wait, too: the fuzzers, unit and command-line tests once more with the sanitized build in
# $O/asan, the race test under TSan (for its full time), and what needs libc alone on another processor.
# Live tests that measure memory or speed, or judge how threads are scheduled, run one at a time, with
# nothing beside them; so do other kernels.
# `tests/run.sh daily` runs the unit and command-line tests alone. The longest tests of a part begin first
# (tests/longest), as many at once as there are CPUs; one live test more, as they wait, too.
# A test that takes longer than TEST_SECONDS fails. What failed is said again at the end, with the
# lines that say why; so is the time of each part. It is compared with the record of what ran before
# (ran.sh). TAPS=DIR keeps there what each test said.
# Signals that a background job or nohup ignores are taken again: tests send them.
# shellcheck disable=SC2046
[ -n "${EBT_OWN_SIGNALS:-}" ] || EBT_OWN_SIGNALS=1 exec env --default-signal=HUP,INT,QUIT "$0" "$@"
set -u
cd "$(dirname "$0")/.." || exit 1
export O=${O:-build}
[ -n "${CI:-}" ] && export EBT_NO_SKIP=1
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/tests/leaks.supp:print_suppressions=0}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}
set -o pipefail
cpus=$(nproc)
status=0
work=$(mktemp -d)
taps=${TAPS:-$work/taps}
beside= # the process group of what runs beside
trap '[ -z "$beside" ] || kill -- "-$beside"; rm -rf "$work"' EXIT
# ordered TEST...: the longest first.
ordered() {
  printf '%s\n' "$@" | awk -v OFS='\t' '
    NR == FNR { rank[$0] = NR; next }
    { name = $0; sub(/^.*\/tests\//, "tests/", name); print (name in rank ? rank[name] : 1e6), $0 }' tests/longest - |
    sort -s -n -k 1,1 | cut -f2
}
# run TITLE JOBS INTERPRETER TEST...
run() {
  local title=$1 jobs=$2 interpreter=$3 begin=$SECONDS; shift 3
  set -- $(ordered "$@")
  printf '\n== %s\n' "$title"
  PERL_TEST_HARNESS_DUMP_TAP=$taps/$title prove --timer --failures --comments -j "$jobs" \
    -e "env -u PERL_TEST_HARNESS_DUMP_TAP timeout -k 10 ${TEST_SECONDS:-1200} $interpreter" "$@" 2>&1 |
    tee >(failures "$title" >>"$work/failed") || status=1
  printf '%5d s  %s\n' $((SECONDS - begin)) "$title" >>"$work/times"
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
# With sanitizers: what reads files that may be damaged, foreign or hostile, and what records; of the units not those
# that take minutes then. `make nightly` has the rest.
sanitized=(tests/cli/{20-*,21-*,40-output,50-foreign-*,51-*,54-*,60-*,63-mem-record,65-pagetrace,6[89]-*}.t)
long='/test_(bpf_live|bpf_losses|frame_tree|growth|hold|join_batches|leftover|mem_resolve|memtrace_sink|merge_model|no_memory)$'
programs() { find "$1/tests/unit" -type f -perm -u+x -name 'test_*' | sort; }

RACE_SECONDS=5 run "unit, command line" "$cpus" "" $(programs "$O") tests/cli/*.t
[ "${1:-}" != daily ] || exit $status
alone='/(35|37|42|44|57|92)-'
run "live, one at a time" 1 "" $(printf '%s\n' tests/live/*.t | grep -E "$alone")
set -m
(
  renice -n 10 "$BASHPID" >/dev/null
  status=0
  run "fuzzers" "$cpus" tests/fuzz/run.sh $(find "$O/fuzz" -maxdepth 1 -type f -perm -u+x -name 'fuzz_*' | sort)
  RACE_SECONDS=5 run "unit under ASan and UBSan" "$cpus" "" $(programs "$O/asan" | grep -vE "$long")
  O=$O/asan run "command line under ASan and UBSan" "$cpus" "" "${sanitized[@]}"
  run "unit on an emulated AArch64" "$cpus" qemu-aarch64 $(programs "$O/aarch64-linux-gnu")
  [ -x "$O/tsan/tests/unit/source/ring/test_ring_race" ] &&
    run "the race under TSan" 1 "" "$O/tsan/tests/unit/source/ring/test_ring_race"
  exit $status
) >"$work/beside" 2>&1 &
beside=$!
set +m
run "live" $((cpus + 1)) "" $(printf '%s\n' tests/live/*.t | grep -vE "$alone")
run "attacks" "$cpus" "" tests/attack/*.t
run "packages" 1 "" tests/packages/*.t
wait "$beside" || status=1
beside=
cat "$work/beside"
run "other kernels" "$cpus" "" tests/kernels/*.t
printf '\n== time\n'
cat "$work/times"
printf '\n== what ran\n'
tests/ran.sh "$taps" > >(tee "$work/ran") || {
  status=1
  { echo "== what ran"; cat "$work/ran"; } >>"$work/failed"
}
if [ $status != 0 ]; then
  sleep 0.2 # for the last tee
  printf '\nFAILED:\n'
  cat "$work/failed"
fi
exit $status
