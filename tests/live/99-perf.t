#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The same run seen by perf and by profile: when each thread had no CPU (perf sched), and where one
# ran (perf record). FRAME_POINTERS=1: also programs of an OCaml that is configured with frame pointers, with the
# functions that are behind them.
. tests/lib.sh
need_root
need_command jq
need_command perl
need_command perf
ebt=$O/ebtrace
# An emulated CPU takes time between perf's program and ours, and to make the probes of a program that is held meanwhile.
near_us=$((10 * SLOWNESS * SLOWNESS)) near_percent=$((SLOWNESS > 1 ? 10 : 1)) many=$((SLOWNESS > 1 ? 20 : 30))

# ---- off the CPU: each interval of each thread ----

# Where perf has no events of a CPU's idle task, as some kernels do after hours, it does not see how waits end there.
seen=
for cpu in $(taskset -cp $$ | sed 's/.*: //; s/-/ /g' | awk -v RS=, '{ for (i = $1; i <= $NF; i++) print i }'); do
	perf record -q -e sched:sched_switch -C "$cpu" -o "$TMP/idle.data" -- taskset -c "$cpu" sleep 0.05
	perf script -i "$TMP/idle.data" -F comm | grep -q swapper && seen=$seen${seen:+,}$cpu
done
# On a busy machine none becomes idle.
echo "# CPUs that perf sees become idle: ${seen:-none}"
${seen:+taskset -c "$seen"} perf sched record -k CLOCK_MONOTONIC -o "$TMP/sched.data" -- "$ebt" profile --off-cpu --min-duration 1ns -o "$TMP/run.ebt" -- \
	"$O/tests/prog/offcpu" "$TMP/file" sleep futex preempt fault >"$TMP/said" 2>"$TMP/err"
is $? 0 "a run is recorded by both" || diag "$(cat "$TMP/err")"
"$ebt" -q "$TMP/run.ebt" -o "$TMP/run.ndjson"
perf sched timehist -i "$TMP/sched.data" >"$TMP/timehist" 2>"$TMP/err"
jq -r 'select(.kind == "offcpu") | "\(.tid) \(.ts) \(.duration_ns)"' "$TMP/run.ndjson" >"$TMP/ours"

# Prints "THREAD intervals sum_us intervals_of_perf sum_us_of_perf unmatched" of each thread, of the
# time that both have seen: intervals match if they end at the same time, within what perf rounds.
# A row of perf is written when the thread leaves its CPU, and has the wait before that and the run:
# so that of a thread's last wait may be missing. Its first one may have begun before profile did,
# and perf has those of its exit, too.
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
	shift @a;
	@a = grep { $_->[0] <= $to } @a;
	@b = grep { @a && $_->[0] > $a[0][0] - $near && $_->[0] < $a[-1][0] + $near } @b;
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

# ---- functions of OCaml and their callers, by frame pointers, of which perf follows 127 ----

if [ -z "${FRAME_POINTERS:-}" ]; then
	done_testing
fi
ROOT=$(tests/root.sh ocaml-fp 2>"$TMP/root.log") || skip_all "no OCaml with frame pointers: $(tail -1 "$TMP/root.log")"

# Reads stacks, one a line: a weight, then the names of functions, the outermost first, by tabs. Prints "FUNCTION SELF
# TOTAL" in per cent. perf knows OCaml's functions by their symbols, so the names of both are cut to what these have:
# the file and the function's own name. NAMES: what a symbol at the begin of a file's code is besides.
cat >"$TMP/shares.pl" <<'END'
my (%other, %self, %total, $all);
open my $names, '<', shift or die;
while (<$names>) { chomp; my ($symbol, $name) = split / /; $other{$symbol} = $name }
sub cut {
	my $name = $other{$_[0]} // $_[0];
	return $name =~ s/ /_/gr unless $name =~ s/^(?:caml)?(?=[A-Z])//;
	$name =~ s/_\d+$//;
	$name =~ s/\.entry$//;
	$name =~ s/__/./g;
	my ($file, $rest) = $name =~ /^((?:Stdlib\.)?[^.]*)(.*)/;
	return $file unless $rest =~ /([^.]*)$/;
	return "$file..." . $1 =~ s/[()]//gr;
}
sub short { return $short{$_[0]} //= cut($_[0]) }
while (<STDIN>) {
	chomp;
	my ($weight, @names) = map { /^\d+$/ ? $_ : short($_) } split /\t/;
	next unless @names;
	my %seen;
	$all += $weight;
	$self{$names[-1]} += $weight;
	$total{$_} += $weight for grep { !$seen{$_}++ } @names;
}
printf "%s %.3f %.3f\n", $_, 100 * ($self{$_} // 0) / $all, 100 * $total{$_} / $all for keys %total;
END
# Of perf script: the stacks of a program, without functions of the kernel.
cat >"$TMP/stacks.pl" <<'END'
my $program = shift;
$/ = '';
while (<STDIN>) {
	my ($comm, @frames) = split /\n/;
	next unless $comm =~ /^\Q$program\E\s*$/;
	my @names = map { /^\s*(?:f{4}[0-9a-f]{12}) / ? () : /^\s*[0-9a-f]+ (.*)/ ? $1 : () } @frames;
	print join("\t", 1, reverse @names), "\n";
}
END

# same NAME COLUMNS ARGS...: functions of OCaml and of its stubs that have 5 % of perf's samples, COLUMNS of them: self, or
# total. Those that perf has not are inlined in others; it has no callers of the C library, which has no frame pointers.
same() {
	local name=$1 columns=$2
	shift 2
	perf record -q -e cpu-clock -F 1999 --call-graph fp -o "$TMP/fp.data" -- "$ebt" profile -F 1999 -o "$TMP/fp.ebt" -- \
		"$EXE" "$@" >"$TMP/said" 2>"$TMP/err"
	is $? 0 "$name is sampled by both" || diag "$(cat "$TMP/err")"
	"$ebt" profile --json --by program "$TMP/fp.ebt" >"$TMP/fp.json"
	ok "$(jq 'if .stacks.whole >= 0.95 * .samples then 0 else 1 end' "$TMP/fp.json")" "its stacks are whole" ||
		diag "$(jq -c .stacks "$TMP/fp.json")"
	nm "$EXE" | awk '{ at[$1] = at[$1] " " $3 } END { for (a in at) print at[a] }' |
		awk '{ for (i = 1; i <= NF; i++) if ($i ~ /code_begin$/) for (k = 1; k <= NF; k++) if ($k !~ /code_begin$/) { sub("^caml", "", $i); print $i, $k } }' >"$TMP/names"
	perf script -i "$TMP/fp.data" -F comm,ip,sym --no-inline 2>/dev/null | perl "$TMP/stacks.pl" "${EXE##*/}" |
		perl "$TMP/shares.pl" "$TMP/names" | sort >"$TMP/perf"
	"$ebt" profile --by program -f folded "$TMP/fp.ebt" | perl -pe 'chomp; s/ (\d+)$//; $_ = join("\t", $1, (split /;/)[1 .. 2000]) . "\n"; s/\t+$//' |
		perl "$TMP/shares.pl" "$TMP/names" | sort >"$TMP/ours"
	join -a 1 -a 2 -e 0 -o 0,1.2,2.2,1.3,2.3 "$TMP/perf" "$TMP/ours" >"$TMP/both"
	awk -v columns="$columns" '/^([A-Z]|ways_)/ && $4 > 0 {
		own = $2 >= 5 || $3 >= 5; all = columns == "total" && ($4 >= 5 || $5 >= 5)
		if (own || all) print }' "$TMP/both" >"$TMP/large"
	diag "$name: functions, themselves by perf and by profile, then with what they call:" "$(cat "$TMP/large")"
	ok "$((1 - ($(wc -l <"$TMP/large") > 1)))" "it has some functions"
	is "$(awk -v columns="$columns" 'function far(a, b) { return a - b > 2 || b - a > 2 }
		far($2, $3) || (columns == "total" && far($4, $5))' "$TMP/large")" "" \
		"they have the same shares, within 2 points"
}
OCAML_LINK=-g ocaml_build_here heavy
same "a program that allocates" total allocates 5
same "one that compares strings" self strings 5
OCAML_LINK=-g OCAML_LIBRARIES="-I +threads threads.cmxa" ocaml_build_here ways tests/ocaml/ways_stubs.c
same "one that calls in many ways" total 5 all
done_testing
