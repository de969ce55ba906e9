#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# Reads what fxt_dump prints and lays durations out as a viewer does: records by their time, those of
# one time as they stand in the file; a complete duration of a phase becomes a begin and an end line.
# A line that begins with "!" says what a viewer could not show: durations of one row that overlap, an
# end of what is not open, what is never ended.
use strict;
use warnings;

my (@other, @events, %rows);
while (my $line = <STDIN>) {
	chomp $line;
	my @f = split /\t/, $line, -1;
	if ($f[0] =~ /^(begin|end)$/ || ($f[0] eq 'complete' && $f[4] eq 'phase')) {
		push @{$rows{"$f[2] $f[3]"}}, \@f;
	} else {
		push @other, $line;
	}
}

sub put { print join("\t", @_), "\n" }

# Ends the innermost durations that are complete and end by this time.
sub settle {
	my ($stack, $ts) = @_;
	while (@$stack && defined $stack->[-1]{end} && $stack->[-1]{end} <= $ts) {
		my $s = pop @$stack;
		put('end', $s->{end}, @{$s->{where}}, @{$s->{cut}});
	}
}

for my $row (sort keys %rows) {
	my (@stack, @fields);
	for my $f (sort { $a->[1] <=> $b->[1] } @{$rows{$row}}) {
		my ($type, $ts, $process, $thread, $category, $name, @args) = @$f;
		my @where = ($process, $thread, $category, $name);
		settle(\@stack, $ts);
		if ($type eq 'end') {
			my $top = pop @stack;
			put('!', $ts, @where, 'ends what is not open')
				if !$top || defined $top->{end} || $top->{where}[3] ne $name;
			put('end', $ts, @where, @args);
			next;
		}
		my ($end) = map { /^end=(.*)/ } @args;
		my @cut = grep { /^cut=/ } @args;
		my @rest = grep { !/^(cut|end)=/ } @args;
		my ($around) = grep { defined $_->{end} } reverse @stack;
		put('!', $ts, @where, 'overlaps with what is around it')
			if $around && (!defined $end || $end > $around->{end});
		put('begin', $ts, @where, @rest);
		push @stack, {end => $end, where => \@where, cut => \@cut};
	}
	settle(\@stack, 1e30);
	put('!', '', @{$_->{where}}, 'is never ended') for @stack;
}
print "$_\n" for @other;
