#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# eio-spans.pl: of the lines of tests/eio-fibers.pl, each span with both ends:
#   FIBER NAME BEGIN NS READY SUSPENDED:OPERATION=NS,...
use strict;
use warnings;

my (%spans, %parts);
while (<STDIN>) {
	chomp;
	my ($fiber, $what, $begin, $end) = split /\t/;
	next if $what eq 'arrow' || $end eq '-';
	if ($what =~ /^span (.*)/) { push @{$spans{$fiber}}, [$1, $begin, $end] }
	elsif ($what =~ /^(ready|suspended .*)$/) { push @{$parts{$fiber}}, [$1, $begin, $end] }
}
for my $fiber (sort { $a <=> $b } keys %spans) {
	for my $span (sort { $a->[1] <=> $b->[1] || $b->[2] <=> $a->[2] } @{$spans{$fiber}}) {
		my ($name, $begin, $end) = @$span;
		my ($ready, %suspended) = (0);
		for (@{$parts{$fiber} // []}) {
			my ($what, $from, $to) = @$_;
			next if $from < $begin || $to > $end;
			if ($what eq 'ready') { $ready += $to - $from }
			else { $suspended{substr $what, 10} += $to - $from }
		}
		print join("\t", $fiber, $name, $begin, $end - $begin, $ready,
			join ',', map { "$_=$suspended{$_}" } sort keys %suspended), "\n";
	}
}
