#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# offcpu.pl SAID NDJSON [STOLEN]: compares each step of tests/prog/offcpu with the intervals of its thread that
# ended in it. Prints "ok", or how they differ. The thread's clock may lack STOLEN ns, in which it had a CPU.
use strict;
use warnings;

my ($said, $ndjson, $stolen) = @ARGV;
my @intervals;
open my $in, '<', $ndjson or die $!;
while (<$in>) {
	next unless /"kind":"offcpu"/;
	my %e = /"(\w+)":("[^"]*"|[^,}]+)/g;
	s/^"(.*)"$/$1/ for values %e;
	$e{ts} -= 1000 * ($e{late_us} // 0); # of one that was late, its own
	push @intervals, \%e;
}

sub near {
	my ($got, $want, $slack) = @_;
	return abs($got - $want) <= 0.02 * $want + $slack;
}

my @wrong;
open $in, '<', $said or die $!;
while (<$in>) {
	my ($step, $tid, $begin, $end, $switches, $wait, $off, $syscall, $waker) = split;
	next unless defined $waker;
	my @mine = grep { $_->{tid} == $tid && $_->{ts} > $begin && $_->{ts} <= $end } @intervals;
	my ($sum, $delay, $blocked, $of_reason, $hog, $overlap, $last) = (0) x 7;
	my %why = (sleep => '^sleep$', futex => '^sleep$', preempt => '^preempted$',
		fsync => '^(iowait|uninterruptible|sleep)$', fault => '^page_fault$');
	my (@reasons, %count);
	for (@mine) {
		$sum += $_->{duration_ns};
		$delay += $_->{run_delay_ns};
		$overlap++ if $_->{ts} - $_->{duration_ns} < $last || $_->{wait_ns} > $_->{duration_ns};
		$last = $_->{ts};
		my $right = $_->{reason} =~ $why{$step};
		$right &&= ($_->{syscall} // -1) == $syscall unless $step =~ /preempt|fsync/;
		$right &&= ($_->{waker} // -1) == $waker && !$_->{interrupt} if $step eq 'futex';
		$right &&= ($_->{interrupt} // '') eq 'true' if $step eq 'sleep'; # by the timer's
		$hog += $_->{duration_ns} if ($_->{runner_comm} // '') eq 'hog';
		next if $_->{reason} eq 'preempted' && $step ne 'preempt';
		$blocked += $_->{duration_ns};
		$of_reason += $_->{duration_ns} if $right;
	}
	push @wrong, "$step: " . @mine . " intervals, $switches switches" if @mine != $switches;
	# A thread's CPU time begins where the kernel decides to run it, while an idle CPU still wakes up.
	# So this is the least; the most is what the clock on the wall says of a thread that does nothing
	# else.
	my $most = $step =~ /sleep|futex/ ? $end - $begin : 1.02 * $off + 500_000 + 50_000 * @mine;
	push @wrong, "$step: $sum ns off CPU, the thread's clock says more: $off" if $sum < 0.98 * $off - ($stolen // 0);
	push @wrong, "$step: $sum ns off CPU, the thread's clock says $off" if $sum > $most;
	push @wrong, "$step: $delay ns of run delay, the kernel says $wait" unless near($delay, $wait, 20_000);
	push @wrong, "$step: $overlap overlap, or wait longer than they are" if $overlap;
	push @wrong, "$step: of $blocked ns only $of_reason for the reason" if $of_reason < 0.9 * $blocked;
	# Others may run on that CPU, too.
	push @wrong, "$step: of $sum ns only $hog for the hog" if $step eq 'preempt' && !$hog;
	push @wrong, "$step: nothing" unless @mine;
}
print @wrong ? join("\n", @wrong) . "\n" : "ok\n";
