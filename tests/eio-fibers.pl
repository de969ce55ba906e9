#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# What fibers did, worked out from the events as Eio's own decoder prints them: time, ring, text, in
# order of time. A line each, by the fiber, with begin and end ("-": it was open at the end):
#   fiber, span NAME, context NAME; running, ready, suspended OPERATION (adjacent ones are one)
# arrow TIME: a put, before which the fiber had begun to wait, lets it run at TIME.
use strict;
use warnings;

my (%ring, %fiber, %type, @lines);

sub put { push @lines, join "\t", @_ }

# Ends what the fiber does at $ts.
sub spend {
	my ($f, $ts) = @_;
	return if !defined $f->{since};
	my @parts = ([$f->{state}, $f->{since}, $ts]);
	my $ready = $f->{ready};
	@parts = ([$f->{state}, $f->{since}, $ready], ['ready', $ready, $ts])
		if $f->{state} =~ /^suspended/ && defined $ready && $ready < $ts;
	for (@parts) {
		my ($state, $begin, $end) = @$_;
		next if $begin == $end;
		$f->{seen} = $begin if $state eq 'running' && !defined $f->{seen};
		put($f->{id}, $state, $begin, $end) if defined $f->{seen};
	}
}

sub become {
	my ($f, $state, $ts) = @_;
	spend($f, $ts);
	@$f{qw(state since)} = ($state, $ts);
	delete $f->{ready};
}

sub finish {
	my ($f, $part, $ts) = @_;
	put($f->{id}, "$part->{kind} $part->{name}", $part->{begin}, $ts) if defined $f->{seen};
}

sub end_part {
	my ($f, $kind, $ts) = @_;
	return if !$f || !grep { $_->{kind} eq $kind } @{$f->{parts}};
	while (my $part = pop @{$f->{parts}}) {
		spend($f, $ts);
		$f->{since} = $ts;
		finish($f, $part, $ts);
		last if $part->{kind} eq $kind;
	}
}

sub begin_part {
	my ($r, $ts, %part) = @_;
	my $f = $r->{running} or return;
	spend($f, $ts);
	$f->{since} = $ts;
	push @{$f->{parts}}, $r->{named} = {begin => $ts, %part};
}

sub leave { my ($r, $state, $ts) = @_; become(delete $r->{running}, $state, $ts) if $r->{running} }

sub quoted { my $s = shift; $s =~ s/\\(.)/$1/g; return $s }

while (<STDIN>) {
	chomp;
	my ($ts, $ring, $text) = split /\t/, $_, 3;
	my $r = $ring{$ring} //= {};
	next if $ts eq 'lost' || $text =~ /^(begin|end) /;
	if ($text =~ /^(\d+) is named "(.*)"$/) {
		my $part = $r->{named};
		$part->{name} = quoted($2) if $part && ($part->{id} // -1) == $1;
		next;
	}
	delete $r->{named};
	if ($text =~ /^create fiber (\d+) in/) {
		$fiber{$1} = {id => $1, state => 'ready', since => $ts, parts => []};
	} elsif ($text =~ /^fiber (\d+) is now running/) {
		my $f = $fiber{$1} //= {id => $1, state => 'ready', since => $ts, parts => []};
		leave($r, 'ready', $ts);
		my $resumed = $r->{resumed};
		$f->{ready} //= $resumed if $f->{state} =~ /^suspended/ && defined $resumed && $resumed > $f->{since};
		become($f, 'running', $ts);
		put($f->{id}, 'arrow', $ts, '') if delete $f->{woken};
		delete @$f{qw(waits)};
		$r->{running} = $f;
	} elsif ($text =~ /^fiber (\d+) finishes/) {
		my $f = delete $fiber{$1} or next;
		spend($f, $ts);
		finish($f, $_, $ts) for reverse @{$f->{parts}};
		put($f->{id}, 'fiber', $f->{seen}, $ts) if defined $f->{seen};
		delete $r->{running} if $r->{running} && $r->{running} == $f;
	} elsif ($text =~ /^fiber suspended: ?(.*)/) {
		my $f = $r->{running};
		leave($r, "suspended $1", $ts);
		$r->{last} = $f;
	} elsif ($text eq 'domain suspend') {
		leave($r, 'ready', $ts);
	} elsif ($text eq 'domain resume') {
		$r->{resumed} = $ts;
	} elsif ($text =~ /^create (\w+) CC (\d+)/) {
		begin_part($r, $ts, kind => 'context', id => $2, name => "$1 $2");
	} elsif ($text eq 'CC finishes') {
		end_part($r->{running}, 'context', $ts);
	} elsif ($text =~ /^enter span "(.*)"$/) {
		begin_part($r, $ts, kind => 'span', name => quoted($1));
	} elsif ($text eq 'exit span') {
		end_part($r->{running}, 'span', $ts);
	} elsif ($text =~ /^create (\w+) (\d+)$/) {
		$type{$2} = $1;
	} elsif ($text =~ /^waiting to get from (\d+)/) {
		$r->{last}{waits} = $1 if !$r->{running} && $r->{last};
		$r->{last}{order} = $. if $r->{last};
	} elsif ($text =~ /^put (\d+)/) {
		my @waiting = sort { $a->{order} <=> $b->{order} } grep { ($_->{waits} // -1) == $1 } values %fiber;
		splice @waiting, 1 if @waiting && ($type{$1} // '') ne 'promise';
		for my $f (@waiting) {
			@$f{qw(ready woken)} = ($ts, defined $r->{running});
			delete $f->{waits};
		}
	}
}

for my $f (values %fiber) {
	next if !defined $f->{seen} && $f->{state} ne 'running';
	$f->{seen} //= $f->{since};
	put($f->{id}, $f->{state}, $f->{since}, '-');
	finish($f, $_, '-') for @{$f->{parts}};
	put($f->{id}, 'fiber', $f->{seen}, '-');
}
print "$_\n" for @lines;
