#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# eio-spans.pl: of the lines of tests/eio-fibers.pl, each span with both ends:
#   FIBER NAME BEGIN NS READY OPERATION=NS,...
# eio-spans.pl fibers: each fiber with an end:
#   FIBER END RUNNING OPERATION=NS,...
use strict;
use warnings;

my $of_fibers = (shift // '') eq 'fibers';
my (%spans, %parts, %ends);
while (<STDIN>) {
	chomp;
	my ($fiber, $what, $begin, $end) = split /\t/;
	next if $what eq 'arrow' || $end eq '-';
	if ($what =~ /^span (.*)/) { push @{$spans{$fiber}}, [$1, $begin, $end] }
	elsif ($what eq 'fiber') { $ends{$fiber} = $end }
	elsif ($what =~ /^(ready|running|suspended .*)$/) { push @{$parts{$fiber}}, [$1, $begin, $end] }
}
for my $fiber ($of_fibers ? keys %ends : ()) {
	my ($running, %suspended) = (0);
	for (@{$parts{$fiber} // []}) {
		my ($what, $from, $to) = @$_;
		if ($what eq 'running') { $running += $to - $from }
		elsif ($what ne 'ready') { $suspended{substr $what, 10} += $to - $from }
	}
	print join("\t", $fiber, $ends{$fiber}, $running, join ',', map { "$_=$suspended{$_}" } sort keys %suspended), "\n";
}
for my $fiber ($of_fibers ? () : keys %spans) {
	for my $span (sort { $a->[1] <=> $b->[1] || $b->[2] <=> $a->[2] } @{$spans{$fiber}}) {
		my ($name, $begin, $end) = @$span;
		my ($ready, %suspended) = (0);
		for (@{$parts{$fiber} // []}) {
			my ($what, $from, $to) = @$_;
			next if $from < $begin || $to > $end;
			if ($what eq 'ready') { $ready += $to - $from }
			elsif ($what ne 'running') { $suspended{substr $what, 10} += $to - $from }
		}
		print join("\t", $fiber, $name, $begin, $end - $begin, $ready,
			join ',', map { "$_=$suspended{$_}" } sort keys %suspended), "\n";
	}
}
