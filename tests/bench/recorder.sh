# SPDX-License-Identifier: BSD-2-Clause
# The recorder of C programs beside heaptrack, which records every allocation: sourced by run.sh.
# recorder_pair_*: what a pair of malloc() and free() takes longer than without a recorder, which
# recorder_pair_bare is; recorder_cpu_*: what the CPU time of perl grows by, without that of the
# recorder's own processes. By sampling rate. All run in turn, and the least of each counts.
recorder_rates="1e-6 1e-5 1e-4"
recorder_turns=7 # heaptrack, which is far slower, runs in the first one

# perl counts the words of Debian's licenses, and writes its own CPU time.
recorder_perl='
	for (1 .. 20) {
		local @ARGV = glob "/usr/share/common-licenses/*";
		my @lines;
		while (<>) { $count{lc $_}++ for /\w+/g; push @lines, [split] if /license/i }
	}
	open my $file, ">", $out or die;
	printf $file "%.4f\n", clock();'

bench_recorder() {
	recorder_turns_of pair "$O/tests/bench/bench_malloc" "$tmp/cost" || return 0
	row recorder_pair_bare ns "$(least pair_bare)"
	for rate in $recorder_rates; do
		recorder_row "recorder_pair_$rate" ns 6 "$(added pair "$rate")" "$(added pair heaptrack)"
	done
	recorder_turns_of cpu perl -MTime::HiRes=clock -s -e "$recorder_perl" -- "-out=$tmp/cost" ||
		return 0
	for rate in $recorder_rates; do
		recorder_row "recorder_cpu_$rate" % "$([ $rate != 1e-5 ] || echo 2)" \
			"$(slowdown "$rate")" "$(slowdown heaptrack)"
	done
}

# recorder_turns_of NAME PROGRAM...: its costs as lines of $tmp/NAME_bare, $tmp/NAME_RATE, $tmp/NAME_heaptrack
recorder_turns_of() {
	local name=$1 turn rate
	shift
	rm -f "$tmp/${name}"_*
	for ((turn = 0; turn < recorder_turns; turn++)); do
		recorder_run "$name" bare "$@" || return 1
		for rate in $recorder_rates; do
			recorder_run "$name" "$rate" "$ebtrace" mem record -q --rate "$rate" \
				-o "$tmp/recorded.ctf" -- "$@" || return 1
		done
		[ $turn = 0 ] && command -v heaptrack >/dev/null || continue
		recorder_run "$name" heaptrack heaptrack -o "$tmp/heaptrack" "$@" || return 1
	done
	command -v heaptrack >/dev/null || failed "no heaptrack: its numbers are left out"
}

# recorder_run NAME KIND COMMAND...
recorder_run() {
	local name=$1 kind=$2
	shift 2
	rm -f "$tmp/cost"
	"$@" >/dev/null 2>"$tmp/err" && cat "$tmp/cost" >>"$tmp/${name}_$kind" ||
		{ failed "recorder $name $kind: $(tail -1 "$tmp/err")"; return 1; }
}

least() { sort -g "$tmp/$1" | head -1; }
# Nothing where the peer is missing.
added() { [ ! -s "$tmp/${1}_$2" ] || calc "$(least "${1}_$2") - $(least "${1}_bare")"; }
slowdown() { [ ! -s "$tmp/cpu_$1" ] || calc "($(least "cpu_$1") / $(least cpu_bare) - 1) * 100"; }

# recorder_row NAME UNIT GOAL OURS THEIRS; GOAL and THEIRS may be empty.
recorder_row() {
	row "$1" "$2" "$4" "${3:+,\"goal\":$3}${5:+,\"theirs\":$5,\"peer\":\"heaptrack\"}"
}
