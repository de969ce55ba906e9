#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The same run seen by perf and by profile: when each thread had no CPU (perf sched), and where one
# ran (perf record).
. tests/lib.sh
need_root
need_command jq
need_command perl
need_command perf
ebt=$O/ebtrace
# An emulated CPU takes time between perf's program and ours, and to make the probes of a program that is held meanwhile.
near_us=$((3 * SLOWNESS * SLOWNESS)) near_percent=$((SLOWNESS > 1 ? 10 : 1)) many=$((SLOWNESS > 1 ? 20 : 30))

# ---- off the CPU: each interval of each thread ----

perf sched record -k CLOCK_MONOTONIC -o "$TMP/sched.data" -- "$ebt" profile --off-cpu --min-duration 1ns -o "$TMP/run.ebt" -- \
	"$O/tests/prog/offcpu" "$TMP/file" sleep futex preempt fault >"$TMP/said" 2>"$TMP/err"
is $? 0 "a run is recorded by both" || diag "$(cat "$TMP/err")"
"$ebt" -q "$TMP/run.ebt" -o "$TMP/run.ndjson"
perf sched timehist -i "$TMP/sched.data" >"$TMP/timehist" 2>"$TMP/err"
jq -r 'select(.kind == "offcpu") | "\(.tid) \(.ts) \(.duration_ns)"' "$TMP/run.ndjson" >"$TMP/ours"

# Prints "THREAD intervals sum_us intervals_of_perf sum_us_of_perf unmatched" of each thread, of the
# time that both have seen: intervals match if they end at the same time, within what perf rounds.
# A row of perf is written when the thread leaves its CPU, and has the wait before that and the run:
# so that of a thread's last wait may be missing.
perl - "$TMP/timehist" "$TMP/ours" "$near_us" >"$TMP/compared" 2>"$TMP/unmatched" <<'END'
my (%perf, %ours);
my $near = $ARGV[2];
open(my $t, '<', $ARGV[0]) or die;
while (<$t>) {
	next unless /^\s*(\d+)\.(\d+) \[\d+\]\s+(.*?)\[(\d+)(?:\/\d+)?\]\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)/;
	push @{$perf{$4}}, [$1 * 1e6 + $2 - $7 * 1e3, $5 * 1e3];
}
open(my $o, '<', $ARGV[1]) or die;
while (<$o>) {
	my ($tid, $ts, $ns) = split;
	push @{$ours{$tid}}, [$ts / 1e3, $ns / 1e3];
}
for my $tid (sort keys %ours) {
	my @a = sort { $a->[0] <=> $b->[0] } @{$ours{$tid}};
	my @b = sort { $a->[0] <=> $b->[0] } @{$perf{$tid} // []};
	next unless @b;
	my $to = $b[-1][0] + $near;
	@a = grep { $_->[0] <= $to } @a;
	@b = grep { @a && $_->[0] > $a[0][0] - $near } @b;
	my ($sum_a, $sum_b, $unmatched, $i) = (0, 0, 0, 0);
	$sum_a += $_->[1] for @a;
	$sum_b += $_->[1] for @b;
	for my $x (@a) {
		$i++ while $i < @b && $b[$i][0] < $x->[0] - $near;
		next if $i < @b && abs($b[$i][0] - $x->[0]) <= $near && abs($b[$i][1] - $x->[1]) <= $near;
		$unmatched++;
		print STDERR "$tid: @$x\n" if $unmatched < 5;
	}
	for my $x (@b) {
		next if grep { abs($_->[0] - $x->[0]) <= $near } @a;
		print STDERR "$tid: perf alone: @$x\n";
	}
	printf "%d %d %.0f %d %.0f %d\n", $tid, scalar @a, $sum_a, scalar @b, $sum_b, $unmatched;
}
END
is "$(awk -v many="$many" '$2 >= many' "$TMP/compared" | wc -l)" 3 "three threads that waited often are known to both" || diag "$(cat "$TMP/compared")"
is "$(awk '$6 > 1 + $2 / 10' "$TMP/compared")" "" "times without a CPU are the same one by one, but for one in ten that was interrupted between both" || diag "$(cat "$TMP/compared" "$TMP/unmatched")"
is "$(awk -v near="$near_percent" '{ d = $3 - $5; if (d < 0) d = -d; if (d > $5 * near / 100) print }' "$TMP/compared")" "" \
	"and for each thread their sum, within 1 %" || diag "$(cat "$TMP/compared" "$TMP/unmatched")"

# ---- on the CPU: functions ----

perf record -q -e cpu-clock -F 1999 -g -o "$TMP/cpu.data" -- "$ebt" profile -F 1999 --json -o "$TMP/cpu.json" -- \
	"$O/tests/prog/shares" 5 >"$TMP/said" 2>"$TMP/err"
is $? 0 "a program is sampled by both" || diag "$(cat "$TMP/err")"
perf report -i "$TMP/cpu.data" --no-children --percentage relative -g none --comm shares --sort sym --stdio 2>/dev/null |
	awk '$NF ~ /^(ten|twenty|thirty|forty)$/ { sub("%", "", $1); print $NF, $1 }' | sort >"$TMP/perf"
jq -r '.sections[].functions[] | select(.function | test("^(ten|twenty|thirty|forty)$")) | "\(.function) \(.self.percent)"' "$TMP/cpu.json" | sort >"$TMP/ours"
is "$(join "$TMP/perf" "$TMP/ours" | awk '{ d = $2 - $3; if (d < 0) d = -d; if (d <= 2) n++ } END { print n + 0 }')" 4 \
	"four functions have the same shares, within 2 points" || diag "$(join "$TMP/perf" "$TMP/ours"; jq -c '.samples' "$TMP/cpu.json")"
done_testing
