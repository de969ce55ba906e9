# SPDX-License-Identifier: BSD-2-Clause
# TAP for shell tests, sourced by them: they run from the top of the tree, with the build in $O.

O=${O:-build}
unset DEBUGINFOD_URLS # no test asks a server that it has not started
# The rings of all releases; of one where a sanitizer looks for faults of memory.
RELEASES="5.1.1 5.3.0 5.5.2"
RING_FILES=tests/data/ocaml-5.*/*.events.xz
[ "${O##*/}" = asan ] && RELEASES=5.3.0 RING_FILES=tests/data/ocaml-5.3.0/*.events.xz
# How many times as long as elsewhere programs need here: more than 1 in an emulated guest.
SLOWNESS=${SLOWNESS:-1}
# Where it is installed, gojq is jq: it starts in 2 ms; jq compiles its own library for 40 ms, and tests start it
# thousands of times. gojq has the keys of an object in order, and so has no -S; it copies an object that it changes.
# `command jq` is jq in any case.
if command -v gojq >/dev/null; then
	jq() {
		case $1 in
		-*S*) command jq "$@" ;;
		*) gojq "$@" ;;
		esac
	}
fi
TMP=$(mktemp -d "${TMPDIR:-/tmp}/ebtrace-test.XXXXXX")
tap_n=0
tap_failed=0
children=()

# Ends what the test has started, then removes its files. A test adds to it by at_end CMD.
end_commands=()
at_end() { end_commands+=("$1"); }
tap_cleanup() {
	local i
	[ "$BASHPID" = $$ ] || return # a background function ends, not the test
	for i in "${children[@]}"; do kill "$i" 2>/dev/null; done
	for i in "${end_commands[@]}"; do eval "$i"; done
	for i in {1..40}; do # what is ending may still write
		rm -rf "$TMP" 2>/dev/null && break
		sleep 0.05
	done
}
trap tap_cleanup EXIT

diag() { printf '%s\n' "$@" | sed 's/^/# /'; }

# ok STATUS "a sentence": STATUS is 0 for success, as in `cmd; ok $? "cmd does it"`.
ok() {
	tap_n=$((tap_n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_n - $2"
	else
		echo "not ok $tap_n - $2"
		tap_failed=1
	fi
	return "$1"
}

# is GOT WANTED "a sentence"
is() {
	if [ "$1" = "$2" ]; then
		ok 0 "$3"
	else
		ok 1 "$3"
		diag "got      '$1'" "expected '$2'"
		return 1
	fi
}

# same_file GOT WANTED "a sentence": equal, and not both empty.
same_file() {
	if [ -s "$2" ] && cmp -s "$1" "$2"; then
		ok 0 "$3"
	else
		ok 1 "$3"
		diag "$(wc -l <"$1") lines, expected $(wc -l <"$2"); the first differences:"
		diff "$1" "$2" | head -12 | sed 's/^/# /'
		return 1
	fi
}

# has_status WANTED STATUS WHAT: the test fails if a status is another one than those of the pattern WANTED. What a
# subshell finds so counts as well, wherever its output goes.
has_status() {
	# shellcheck disable=SC2053
	[[ $2 == $1 ]] || echo "$3 ended with status $2, expected $1" >>"$TMP/.ended"
	return "$2"
}
# ends_with WANTED CMD...: CMD's status is its own, and the test fails if it is not WANTED. For what is run for its
# output, and for programs that could crash when all is written.
ends_with() {
	local wanted=$1
	shift
	"$@"
	has_status "$wanted" $? "$*"
}
# end_well PID...: waits for tracers, each of which must end with status 0.
end_well() {
	local pid
	for pid; do
		wait "$pid"
		has_status 0 $? "tracer $pid"
	done
}

done_testing() {
	if [ -s "$TMP/.ended" ]; then
		diag "$(cat "$TMP/.ended")"
		tap_failed=1
	fi
	echo "1..$tap_n"
	exit $tap_failed
}

# Nothing here can run. In CI (EBT_NO_SKIP) that is a failure.
skip_all() {
	if [ -n "${EBT_NO_SKIP:-}" ]; then
		echo "1..1"
		echo "not ok 1 - must not skip here: $1"
		exit 1
	fi
	echo "1..0 # SKIP $1"
	exit 0
}

need_root() { [ "$(id -u)" = 0 ] || skip_all "needs root"; }
need_file() { [ -e "$1" ] || skip_all "$1 is not there"; }
need_command() { command -v "$1" >/dev/null || skip_all "$1 is not installed"; }
# A kernel without links of many probes at once probes each process by itself, after its first milliseconds.
shares() { [ "$(printf '6.6\n%s\n' "$(uname -r)" | sort -V | head -1)" = 6.6 ]; }

# wait_for CMD...: until CMD succeeds; two minutes and more, four at most where CMD itself takes long, which is then tried
# for a third of the time at most. A test that has waited in vain fails.
wait_for() {
	local i wait_began wait_us wait_pause end=$((SECONDS + 240))
	for ((i = 0; i < 2400 && SECONDS < end; i++)); do
		wait_began=${EPOCHREALTIME/./}
		"$@" && return 0
		wait_us=$((2 * (${EPOCHREALTIME/./} - wait_began)))
		wait_us=$((wait_us < 50000 ? 50000 : wait_us > 500000 ? 500000 : wait_us))
		printf -v wait_pause '%d.%06d' $((wait_us / 1000000)) $((wait_us % 1000000))
		nap "$wait_pause"
	done
	diag "waited in vain for: $*"
	tap_failed=1
	return 1
}
# nap SECONDS: sleep without a program, whose start takes an emulated processor longer than the nap.
nap() {
	local nothing
	[ -p "$TMP/.nap" ] || mkfifo "$TMP/.nap" 2>/dev/null || { sleep "$1"; return; }
	read -rt "$1" nothing <>"$TMP/.nap" || true
}

# lasting SECONDS: $SLOWNESS times as long.
lasting() { awk -v seconds="$1" -v slowness="$SLOWNESS" 'BEGIN { print seconds * slowness }'; }

# rests PID: for half a second it has been asleep whenever we looked, so it has done what there was to do. One that waits
# for a CPU is not asleep.
rests() {
	local i state
	for ((i = 0; i < 10; i++)); do
		read -r state 2>/dev/null <"/proc/$1/stat" || return
		state=${state##*) }
		[ "${state:0:1}" = S ] || return
		nap 0.05
	done
}

# took_signals PID: no signal waits for it.
took_signals() { ! grep -q '^S[ih][gd]Pnd:.*[1-9a-f]' "/proc/$1/status" 2>/dev/null; }

# tracer_rests: each time that we look, for a third of a second, all threads of the test's ebtrace and of what it has
# started are asleep: they have done what there was to do. One that waits for a CPU, or is held, is not asleep.
tracer_rests() {
	local i
	for ((i = 0; i < 5; i++)); do
		ps -eLo pid=,lwp=,ppid=,stat=,comm= | awk -v test=$$ '
			{ parent[$1] = $3; busy[$1] = busy[$1] || $4 !~ /^[SIZ]/ }
			$1 == $2 { comm[$1] = $5 }
			END {
				for (pid in parent) {
					tracer = 0
					for (p = pid; p > 1 && p != test; p = parent[p])
						tracer = tracer || comm[p] == "ebtrace"
					if (!tracer || p != test)
						continue
					found = 1
					if (busy[pid])
						exit 1
				}
				exit !found
			}' || return
		nap 0.06
	done
}
# feed: a line for a program that waits for one, and the end of its input when its tracer has seen what it does then.
feed() {
	echo
	wait_for tracer_rests >&2
}

# stolen_ns: how long the host of a virtual machine has taken its CPUs from it. While a thread should run there,
# the clock on the wall goes on and the thread's CPU time does not.
stolen_ns() { awk '$1 == "cpu" { printf "%d\n", $9 * (1e9 / hz) }' hz="$(getconf CLK_TCK)" /proc/stat; }
# stolen_since NS: the most that it can be since stolen_ns printed that: it is counted in ticks.
stolen_since() { echo $(($(stolen_ns) - $1 + 1000000000 / $(getconf CLK_TCK))); }

# Sets ROOT to a Debian with OCaml 5.3 in it.
ocaml_root() {
	need_root
	need_command debootstrap
	ROOT=$(tests/root.sh ocaml 2>"$TMP/root.log") || skip_all "no OCaml: $(tail -1 "$TMP/root.log")"
}

# ocaml_build NAME [SOURCE.c]: tests/ocaml/NAME.ml in the chroot; sets EXE to its path from outside
# and EXE_IN from inside. OCAML_LIBRARIES, OCAML_LINK: more options in front of its files and behind them.
ocaml_build() {
	local dir
	dir=$(mktemp -d "$ROOT/tmp/ebtrace.XXXXXX")
	chmod 755 "$dir"
	at_end "rm -rf '$dir'"
	cp "tests/ocaml/$1.ml" ${2:+"$2"} "$dir"
	chroot "$ROOT" sh -c "cd /tmp/${dir##*/} && ocamlopt -I +runtime_events -I +unix \
		runtime_events.cmxa unix.cmxa ${OCAML_LIBRARIES:-} ${2:+${2##*/}} $1.ml -o $1 ${OCAML_LINK:-}" >"$TMP/build.log" 2>&1 || {
		ok 1 "tests/ocaml/$1.ml compiles"
		diag "$(cat "$TMP/build.log")"
		done_testing
	}
	EXE=$dir/$1
	EXE_IN=/tmp/${dir##*/}/$1
	EXE_DIR=$dir
}

# The same, but it runs outside the chroot, with the C library that is in it.
ocaml_build_here() {
	local OCAML_LINK="${OCAML_LINK:-} -ccopt -Wl,--dynamic-linker=$ROOT/lib64/ld-linux-x86-64.so.2"
	OCAML_LINK+=" -ccopt -Wl,-rpath,$ROOT/usr/lib/x86_64-linux-gnu"
	ocaml_build "$@"
}

# ocaml_programs DIR: the programs that tests on other kernels run, built for outside of the chroot.
ocaml_programs() {
	local name stubs
	ocaml_root
	for name in gcstat gcwork calls sites busy; do
		stubs=
		[ $name = sites ] && stubs=tests/ocaml/sites_stubs.c
		OCAML_LINK=-g ocaml_build_here $name $stubs
		cp "$EXE" "$1"
	done
}

# user_events TRACE: the user events of an NDJSON trace as tests/ocaml/acts.ml prints them, process
# by process.
user_events() {
	jq -r 'select(.kind | IN("unit", "int", "span_begin", "span_end", "custom")) |
		[.pid, .kind, .name, .value // .data // ""] | @tsv' "$1" | sort -s -n -k1,1
}

# ocaml_dump FILE OUT [CUSTOM...]: what OCaml's own reader finds in a ring file.
ocaml_dump() {
	local file=$1 out=$2
	shift 2
	cp "$file" "$READER_DIR/1.events"
	chroot "$ROOT" "$READER_IN" "${READER_IN%/*}" 1 "$@" >"$out"
}
