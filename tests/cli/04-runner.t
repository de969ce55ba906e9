#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What runs the tests (tests/run.sh), with a tree of small tests that write how they were run: each as its path wants
# it, each part at its time, and nothing that fails is missed.
. tests/lib.sh
need_command prove
tree=$TMP/tree
export LOG=$TMP/log
unset TAPS TEST_SECONDS RACE_SECONDS EBT_OWN_SIGNALS EBT_NO_SKIP CI
mkdir -p "$tree/tests"/{cli,live,attack,packages,kernels,fuzz} "$tree/build"/{fuzz,tests/unit/base} \
	"$tree/build"/{asan,tsan,aarch64-linux-gnu}/tests/unit/base "$TMP/bin"
cp tests/{run,one,ran}.sh "$tree/tests"
touch "$tree/tests"/{leaks.supp,ran}
printf 'asan/tests/cli/51-a.t\ntests/cli/69-a.t\ntests/cli/60-a.t\n' >"$tree/tests/longest"
# simple TEST...: each one writes its begin and its end, and succeeds.
simple() {
	local test
	for test; do
		cat >"$tree/$test" <<-'END'
			#!/bin/sh
			said="$0 O=$O niceness=$(nice) no_skip=$EBT_NO_SKIP race=$RACE_SECONDS by=$BY"
			echo "begin $said" >>"$LOG"
			sleep 0.02
			echo "end $said" >>"$LOG"
			echo "ok 1 - a sentence"
			echo 1..1
		END
		chmod +x "$tree/$test"
	done
}
simple tests/cli/{20-a,21-a,40-output,50-foreign-a,51-a,54-a,60-a,63-mem-record,65-pagetrace,68-a,69-a,10-a}.t \
	tests/live/{10-a,20-a,35-a,37-a}.t tests/attack/a.t tests/packages/a.t tests/kernels/a.t \
	build/tests/unit/base/test_a build/asan/tests/unit/base/test_{a,growth} build/fuzz/fuzz_a \
	build/aarch64-linux-gnu/tests/unit/base/test_a build/tsan/tests/unit/base/test_ring_race
# shellcheck disable=SC2016
printf '#!/bin/sh\nBY=%s exec "$1"\n' emulator >"$TMP/bin/qemu-aarch64"
# shellcheck disable=SC2016
printf '#!/bin/sh\nBY=%s exec "$1"\n' fuzz >"$tree/tests/fuzz/run.sh"
chmod +x "$TMP/bin/qemu-aarch64" "$tree/tests/fuzz/run.sh"

# check [ARG...]: the runner, its status; what it prints is in $TMP/out.
check() {
	: >"$LOG"
	O=build PATH=$TMP/bin:$PATH "$tree/tests/run.sh" "$@" >"$TMP/out" 2>&1
}
# said FILTER: of each test that begins, what it has written of itself.
said() { sed -n 's/^begin //p' "$LOG" | grep -E -- "$1" | sort; }

TAPS=$TMP/taps check
is "$? $(grep -c 'is not on record' "$TMP/out")" "1 70" "without a record a check fails, and names each test, twice" || diag "$(cat "$TMP/out")"
"$tree/tests/ran.sh" "$TMP/taps" write
check
is "$? $(grep -c FAILED "$TMP/out")" "0 0" "with it, it succeeds" || diag "$(cat "$TMP/out")"
is "$(sed -n '/^== time/,/^$/s/.* of CPU  //p' "$TMP/out" | sort | paste -sd,)" \
	"attacks,command line under ASan and UBSan,fuzzers,in all, on $(nproc) CPUs,live,live, one at a time,other kernels,packages,races under TSan,unit on an emulated AArch64,unit under ASan and UBSan,unit, command line" \
	"each part has its time at the end, and its CPU time" || diag "$(sed -n '/^== time/,$p' "$TMP/out")"
is "$(tail -n 1 "$TMP/out")" "35 tests, 35 assertions, 35 on record" "the last line has how many tests ran"
is "$(cut -f1 "$tree/tests/ran" | sort | uniq -c | sort -rn | awk '{ print $1, $2 }' | head -3 | tr '\n' ' ')" \
	"13 unit, 11 command 2 live, " "a folder of what was printed is a part"

is "$(awk -F'\t' '$2 < $3 { print $1, $5 }' "$TMP/taps/times" | sort -u | wc -l)" 35 \
	"where what tests print is kept there is a table of their times, too"

is "$(said '^tests/cli/(10-a|40)' | cut -d' ' -f1,2 | paste -sd,)" \
	"tests/cli/10-a.t O=build,tests/cli/40-output.t O=build,tests/cli/40-output.t O=build/asan" \
	"commands that read and write are run again with the sanitized build"
is "$(said 'test_|fuzz_' | sed 's/ O=.*race=/ race=/')" "$(cat <<-'END'
	build/aarch64-linux-gnu/tests/unit/base/test_a race= by=emulator
	build/asan/tests/unit/base/test_a race=5 by=
	build/fuzz/fuzz_a race= by=fuzz
	build/tests/unit/base/test_a race=5 by=
	build/tsan/tests/unit/base/test_ring_race race= by=
END
)" "a program is run as its path wants: in an emulator, by the fuzzers' script, for a shorter race, or not at all"
pool=("" "build/aarch64-linux-gnu/tests/unit/base/,build/asan/tests/unit/base/,build/fuzz/,build/tsan/tests/unit/base/,tests/cli/,tests/packages/")
is "$(said . | sed 's/ no_skip.*//' | grep -v "niceness=$(nice)$" | cut -d' ' -f1 | sed 's/[^/]*$//' | sort -u | paste -sd,)" \
	"${pool[$(($(nice) < 19))]}" \
	"the pool has a lower priority: packages, fuzzers, sanitized and emulated programs"
is "$(awk '{ print $1, $2 }' "$LOG" | head -n 4 | paste -sd,)" \
	"begin tests/live/35-a.t,end tests/live/35-a.t,begin tests/live/37-a.t,end tests/live/37-a.t" \
	"tests that judge scheduling are first, one at a time, with nothing beside them"
begun() { grep -E "^begin tests/cli.*O=$1 " "$LOG" | cut -d' ' -f2 | head -n 2 | sort | paste -sd,; }
is "$(begun build) $(begun build/asan)" "tests/cli/60-a.t,tests/cli/69-a.t tests/cli/51-a.t,tests/cli/69-a.t" \
	"the longest tests begin first, in each build" || diag "$(cat "$LOG")"
is "$(said 'no_skip=1')" "" "a test may skip here"
CI=1 check daily
is "$? $(said . | grep -vc 'no_skip=1')" "0 0" "and none in CI"
is "$(said . | cut -d' ' -f1 | sed 's/[^/]*$//' | sort | uniq -c | awk '{ print $1, $2 }' | paste -sd,)" \
	"1 build/tests/unit/base/,12 tests/cli/" "the daily round has the unit and command-line tests alone"
# broken TEST STATUS LINES: the test prints these.
broken() { printf '#!/bin/sh\ncat <<"END"\n%s\nEND\nexit %s\n' "$3" "$2" >"$tree/$1"; }
# again PATTERN COUNT SENTENCE: lines at the end that match.
again() {
	is "$(sed -n '/^FAILED/,$p' "$TMP/out" | grep -cE -- "$1")" "$2" "$3" || diag "$(sed -n '/^FAILED/,$p' "$TMP/out")"
}
broken build/fuzz/fuzz_a 3 "$(printf 'ok 1 - a sentence\n1..1')"
check
is "$? $(sed -n '/^FAILED/,$p' "$TMP/out" | grep -c .)" "1 3" "a check fails in which one test of the pool fails alone"
for test in tests/cli/10-a.t build/asan/tests/unit/base/test_a tests/live/35-a.t; do
	broken $test 1 "$(printf 'not ok 1 - what is wrong\n# of %s\nok 2 - more\n1..2' $test)"
done
broken tests/kernels/a.t 0 'ok 1 - a sentence'
printf '#!/bin/sh\nexec sleep 60\n' >"$tree/tests/attack/a.t"
rm "$tree/tests/packages/a.t"
simple tests/packages/b.t
TEST_SECONDS=2 check
is $? 1 "a check in which tests fail fails"
again '^not ok 1 - what is wrong|^# of tests/cli/10-a.t|^tests/cli/10-a.t .*Failed: 1' 5 "a test that fails is shown again with its reason"
again '^# of build/asan|^build/asan/tests/unit/base/test_a .*Failed: 1' 2 "so is one of the pool"
again '^# of tests/live|^tests/live/35-a.t .*Failed: 1' 2 "and one that runs alone"
again '^tests/kernels/a.t .*Tests: 1 Failed: 0|No plan found' 3 "a test that ends too early fails"
again '^build/fuzz/fuzz_a .*exited 3' 1 "so does one with another status"
again '^tests/attack/a.t .*exited 124' 1 "and one that takes too long"
again '^packages: tests/packages/(a.t: did not run|b.t: is not on record)' 2 \
	"a test on record that did not run is a failure, and so is one that is not on record"

# A live test that others hold up: it fails the first time.
simple tests/cli/10-a.t tests/live/35-a.t tests/attack/a.t tests/packages/a.t tests/kernels/a.t \
	build/asan/tests/unit/base/test_a build/fuzz/fuzz_a
rm "$tree/tests/packages/b.t"
once() {
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nmkdir "%s" 2>/dev/null || exec echo "ok 1 - in time\n1..1"\necho "not ok 1 - in time\n1..1"\nexit 1\n' \
		"$TMP/once.${1##*/}" >"$tree/$1"
}
once tests/live/10-a.t
once tests/live/20-a.t
check
is "$? $(sed -n '/^HELD ALONE/,$p' "$TMP/out" | grep -c '^not ok 1 - in time')" "0 2" \
	"live tests that hold when nothing is beside them fail nothing, but are shown" || diag "$(tail "$TMP/out")"
broken tests/live/10-a.t 1 "$(printf 'not ok 1 - in time\n1..1')"
check
is "$? $(sed -n '/^FAILED/,$p' "$TMP/out" | grep -c '^not ok 1 - in time')" "1 2" "one that fails again fails, both times shown"
rmdir "$TMP"/once.*
simple tests/live/{30,31}-a.t
"$tree/tests/ran.sh" "$TMP/taps" write
printf 'live\ttests/live/%s-a.t\t1\n' 30 31 >>"$tree/tests/ran"
for test in tests/live/{10,30,31}-a.t; do once $test; done
check
is "$? $(grep -c ^HELD "$TMP/out")" "1 0" "of three that fail none is run again"

# What a test and its children have used.
printf '#!/bin/sh\nperl -e "1 while (times)[0] < 0.3"\nexit 3\n' >"$TMP/busy"
chmod +x "$TMP/busy"
O=$O TIMES=$TMP/times PART=part tests/one.sh "$TMP/busy"
is "$? $(awk -F'\t' '{ print $1, ($4 >= 0.3 && $4 < 2), ($3 - $2 >= 0.3), $5 }' "$TMP/times")" "3 part 1 1 $TMP/busy" \
	"the CPU time is that of the test and of its children" || diag "$(cat "$TMP/times")"

# What a sanitizer finds in a process that a test starts fails the test.
mkdir -p "$TMP/built/asan"
for fault in '==7==ERROR: AddressSanitizer: heap-use-after-free' 'a.c:1:2: runtime error: signed integer overflow'; do
	printf '#!/bin/sh\necho "%s" >&2\n' "$fault" >"$TMP/built/asan/test"
	chmod +x "$TMP/built/asan/test"
	O=$TMP/built TIMES=$TMP/times PART=part tests/one.sh "$TMP/built/asan/test" 2>"$TMP/err"
	is "$? $(cat "$TMP/err")" "1 $fault" "a fault that a sanitizer reports elsewhere is one of the test: ${fault%%:*}"
done

# One that crashes, and leaves a child that would hold what it prints to for ever.
# shellcheck disable=SC2016
printf '#!/bin/sh\nsleep 600 &\necho $!\nkill -SEGV $$\n' >"$TMP/crashes"
chmod +x "$TMP/crashes"
O=$O TIMES=$TMP/times PART=part tests/one.sh "$TMP/crashes" 2>/dev/null | timeout 60 cat >"$TMP/child"
is "${PIPESTATUS[*]}" "139 0" "a child of a test that has crashed ends with it"
kill -0 "$(cat "$TMP/child")" 2>/dev/null && kill "$(cat "$TMP/child")"
done_testing
