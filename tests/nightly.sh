#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# All live tests on other kernels, each in a guest of its own (tests/kernels/live.sh), then on this
# one what `make check` has little time for. KERNELS="6.1" and TESTS="tests/live/37-blame.t ..."
# choose; with TESTS nothing else is run.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export O=${O:-build}
[ -n "${CI:-}" ] && export EBT_NO_SKIP=1
status=0
run() {
	local title=$1
	shift
	printf '\n== %s\n' "$title"
	prove --timer --failures --comments "$@" || status=1
}
# A guest has two processors.
guests=$((($(nproc) + 1) / 2))
for kernel in ${KERNELS:-6.1 6.12}; do
	# shellcheck disable=SC2086
	run "live and attacks, on Linux $kernel" -j$guests -e "tests/kernels/live.sh $kernel" \
		${TESTS:-tests/live/*.t tests/attack/*.t}
done
if [ -z "${TESTS:-}" ]; then
	RACE_SECONDS=120 run "the race, for longer" -e '' "$O/tests/unit/source/ring/test_ring_race"
	RUNS=100 run "killed more often" -e '' tests/live/27-*.t
	EVERY=1 run "ended at any moment" -e '' tests/live/77-*.t
	EVENTS=10000000 run "more events" -e '' tests/live/30-*.t
	EVENTS=1000000 run "memory, for longer" -e '' tests/live/35-*.t
	BUILDS=2 run "packages, twice" -e '' tests/packages/*.t
	STORM_SECONDS=120 run "a storm of children, for longer" -e '' tests/live/75-fork-storm.t
	RUNS=20 run "shares and their limits" -e '' tests/live/99-profile-shares.t
	FRAME_POINTERS=1 run "perf, by frame pointers of OCaml" -e '' tests/live/99-perf.t
	if EBTRACE_OCAML_ROOT=$(tests/root.sh ocaml-fp); then
		export EBTRACE_OCAML_ROOT
		RUNS=20 run "an OCaml with frame pointers" -e '' tests/live/99-profile-{shares,steps}.t
		unset EBTRACE_OCAML_ROOT
	else
		status=1
	fi
	PROGRAMS=1 run "coqc, ocamlformat and Lwt" -e '' tests/live/99-profile-programs.t
	run "in speedscope" -e '' tests/browser/speedscope.t
	FROZEN=all run "all that is refused" -e '' tests/cli/05-frozen-refusals.t
	units=$(find "$O/asan/tests/unit" -type f -perm -u+x -name 'test_*')
	# shellcheck disable=SC2086
	ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 LSAN_OPTIONS=suppressions=$PWD/tests/leaks.supp:print_suppressions=0 \
		O=$O/asan run "all under ASan and UBSan" -j2 -e '' $units tests/cli/*.t
	seed=$RANDOM
	SEED=$seed SEEDS=100 O=$O/asan run "random captures, from seed $seed on" -e '' tests/cli/21-random.t
	make fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-300}" || status=1
fi
exit $status
