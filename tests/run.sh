#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs every built test under one runner: unit, command-line and live tests, what hostile programs
# and files try, and a round on other kernels (as root). Beside them, at a lower priority, runs one pool
# of what needs a CPU and little else: the Debian packages, the fuzzers, unit and command-line tests once
# more with the sanitized build in $O/asan, what races under TSan (the ring for its full time), and what needs
# libc alone on another processor. Live tests that measure memory or speed, or judge how threads are
# scheduled, run before, one at a time, with nothing beside them; so do other kernels, behind all others.
# `tests/run.sh daily` runs the unit and command-line tests alone. The longest tests of a part begin first
# (tests/longest), as many at once as there are CPUs; of live tests and attacks one more, as they wait, too.
# How a test is run depends on its path (one.sh); one that takes longer than TEST_SECONDS fails. What
# failed is said again at the end, with the lines that say why; so are the time of each part, from its
# first test to its last, and the CPU time of its tests. It is compared with the record of what ran
# before (ran.sh). Live tests that fail beside others, three at most, are run once more at the end with nothing beside
# them: what they wait for, others may have held up. One that holds then fails nothing, but what had failed is said. TAPS=DIR keeps there what each test said, a folder a
# part, and DIR/times: a line a test, its part, begin, end and CPU time in seconds, and its path.
# That ebtrace crashed, which the test may not have noticed, fails the run: the kernel has logged it.
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
mkdir -p "$taps"
export TIMES=$taps/times
: >"$TIMES"
beside= # the process group of what runs beside
at_exit=
trap '[ -z "$beside" ] || kill -- "-$beside"; $at_exit; rm -rf "$work"' EXIT
# ordered TEST...: the longest first. tests/longest has paths below $O, or those of any build.
ordered() {
  printf '%s\n' "$@" | awk -v OFS='\t' -v built="$O/" '
    NR == FNR { rank[$0] = NR; next }
    { name = $0; if (index(name, built) == 1) name = substr(name, length(built) + 1) }
    !(name in rank) { sub(/^.*\/tests\//, "tests/", name) }
    { print (name in rank ? rank[name] : 1e6), $0 }' tests/longest - |
    sort -s -n -k 1,1 | cut -f2
}
# run TITLE JOBS TEST...: whether all succeed.
run() {
  local title=$1 jobs=$2; shift 2
  set -- $(ordered "$@")
  printf '\n== %s\n' "$title"
  PART=$title PERL_TEST_HARNESS_DUMP_TAP=$taps/$title \
    prove --timer --failures --comments -j "$jobs" -e tests/one.sh "$@" 2>&1 |
    tee "$work/$title" || { failures "$title" <"$work/$title" >"$work/failed: $title"; return 1; }
}
# again TITLE: whether what failed in it, three live tests at most, succeeds with nothing beside it.
again() {
  local tests
  mapfile -t tests < <(sed -n '/^Test Summary Report/,$s/^\(tests[^ ]*\) .*(Wstat.*/\1/p' "$work/$1")
  [ ${#tests[@]} -gt 0 ] && [ ${#tests[@]} -le 3 ] && [[ ${tests[*]} != *tests/attack/* ]] || return 1
  run "$1, again" 1 "${tests[@]}" && mv "$work/failed: $1" "$work/held"
  set -- "$1" $?
  rm -rf "$taps/$1, again" # no part of the record
  return "$2"
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
# by_part TITLE: what the tests of several parts printed goes to the folders of these.
by_part() {
  local part test
  while IFS=$'\t' read -r part _ _ _ test; do
    [ "$part" != "$1" ] && [ -f "$taps/$1/$test" ] || continue
    mkdir -p "$taps/$part/${test%/*}" && mv "$taps/$1/$test" "$taps/$part/$test"
  done <"$TIMES"
  find "$taps/$1" -type d -empty -delete
}
print_times() {
  awk -F'\t' '
    !($1 in cpu) { part[++parts] = $1; begin[$1] = $2; end[$1] = $3 }
    { cpu[$1] += $4; all += $4
      if ($2 < begin[$1]) begin[$1] = $2
      if ($3 > end[$1]) end[$1] = $3 }
    END {
      for (i = 1; i <= parts; i++)
        printf "%5d s, %5d s of CPU  %s\n", end[part[i]] - begin[part[i]], cpu[part[i]], part[i]
      printf "%5d s, %5d s of CPU  in all, on %d CPUs\n", seconds, all, cpus }' \
    seconds=$SECONDS cpus="$cpus" "$TIMES"
}
# With sanitizers: what reads files that may be damaged, foreign or hostile, and what records; of the units not those
# that take minutes then. `make nightly` has the rest.
sanitized=(tests/cli/{20-*,21-*,40-output,50-foreign-*,51-*,54-*,60-*,63-mem-record,65-pagetrace,6[89]-*}.t)
long='/test_(bpf_live|bpf_losses|frame_tree|growth|hold|join_batches|leftover|mem_resolve|memtrace_sink|merge_model|no_memory)$'
programs() { find "$1/tests/unit" -type f -perm -u+x -name 'test_*' | sort; }
pool() {
  printf '%s\n' tests/packages/*.t
  find "$O/fuzz" -maxdepth 1 -type f -perm -u+x -name 'fuzz_*' | sort
  programs "$O/asan" | grep -vE "$long"
  # The same tests, by another path.
  ln -sfn "$PWD/tests/cli" "$O/asan/tests/cli" && printf "$O/asan/%s\n" "${sanitized[@]}"
  programs "$O/aarch64-linux-gnu"
  programs "$O/tsan"
}

# Crashes of ebtrace since the run began, as the kernel's log has them: with print-fatal-signals also those by
# abort(), which is how the C library ends a program whose heap is broken.
begun=$(cut -d' ' -f1 /proc/uptime)
crashes() {
  dmesg 2>/dev/null | awk -v begun="$begun" '
    /ebtrace\[/ && /segfault|traps:|general protection/ ||
    /ebtrace[^:]*: potentially unexpected fatal signal/ { at = $0; sub(/^\[ */, "", at); if (at + 0 > begun) print }'
}

mapfile -t everyday < <(programs "$O"; printf '%s\n' tests/cli/*.t)
if [ "${1:-}" = daily ]; then
  run "unit, command line" "$cpus" "${everyday[@]}"
  exit
fi
fatal=/proc/sys/kernel/print-fatal-signals
log_less() { echo 0 >$fatal; }
if [ -w $fatal ] && [ "$(cat $fatal)" = 0 ]; then
  at_exit=log_less
  echo 1 >$fatal
fi
alone='/(35|37|42|44|57|92)-'
run "live, one at a time" 1 $(printf '%s\n' tests/live/*.t | grep -E "$alone") || status=1
set -m
(
  renice -n $(($(nice) + 10)) "$BASHPID" >/dev/null # at most 19
  run "beside" "$cpus" $(pool)
) >"$work/pool" 2>&1 &
beside=$!
set +m
run "unit, command line" "$cpus" "${everyday[@]}" || status=1
live=0
run "live" $((cpus + 1)) $(printf '%s\n' tests/live/*.t tests/attack/*.t | grep -vE "$alone") || live=1
wait "$beside" || status=1
beside=
cat "$work/pool"
run "other kernels" "$cpus" tests/kernels/*.t || status=1
by_part "live"
[ $live = 0 ] || again "live" || status=1
by_part "beside"
printf '\n== time\n'
print_times
printf '\n== what ran\n'
tests/ran.sh "$taps" >"$work/ran" || {
  status=1
  { echo "== what ran"; cat "$work/ran"; } >"$work/failed: what ran"
}
cat "$work/ran"
crashes >"$work/crashes"
if [ -s "$work/crashes" ]; then
  status=1
  { echo "== ebtrace crashed"; cat "$work/crashes"; } >"$work/failed: crashes"
fi
if [ -f "$work/held" ]; then
  printf '\nHELD ALONE, failed beside others:\n'
  cat "$work/held"
fi
if [ $status != 0 ]; then
  printf '\nFAILED:\n'
  cat "$work/failed: "*
fi
exit $status
