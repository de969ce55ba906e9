# SPDX-License-Identifier: BSD-2-Clause
# steps.pl TRUTH EVENTS: compares the stack of each step that tests/prog/stepper_x86_64.c has written with that of
# the block in which the thread was then. Each line of EVENTS is BEGIN END, and the frames, the outermost
# first, separated by tabs. Prints wrong stacks, and then the sums.
#
# Frames are those of the calls that have not returned. An instruction in the middle of a switch of
# stacks may be on either side of it.
use strict;
use warnings;

my ($truth, $events) = @ARGV;
my (@event, %sum, %where, %said, $wrong);

# The module and the function, without the functions that are around it.
sub name {
	my ($f) = @_;
	$f =~ s/@.*//;
	if ($f =~ s/^caml(?=[A-Z])//) {
		$f =~ s/_\d+$//;
		$f =~ s/\.entry$//;
	}
	$f =~ s/(?<=[a-z])__(?=[A-Z])/./;
	my @parts = split /\./, $f;
	return $f if @parts < 2;
	$parts[-1] =~ s/^\(fun\)$/fun/;
	return "$parts[0].$parts[-1]";
}

sub is_ocaml { $_[0] =~ /^caml[A-Z]/ }
# It runs C on the thread's first stack, for OCaml.
my %to_c = map { $_ => 1 } qw(caml_c_call caml_c_call_stack_args caml_call_gc caml_call_realloc_stack caml_runstack);
# It is left out between functions of OCaml, and where C is above it.
my %glue = (%to_c, map { $_ => 1 } qw(caml_start_program caml_raise_exn));
# Where OCaml that C has called returns.
my %from_c = map { $_ => 1 } qw(caml_start_program caml_callback_asm caml_callback2_asm caml_callback3_asm);

# chain ROW, CURRENT, PARENTS: the calls, the innermost first, if the runtime runs the stack CURRENT, and
# each is above the one that PARENTS has for it.
sub chain {
	my ($row, $current, $parent) = @_;
	my %left = map { $_ => [@{$row->{calls}{$_}}] } keys %{$row->{calls}};
	my ($on, @chain) = ($row->{on}, $row->{function});
	$on = $current if $on == 0 && ($to_c{$chain[0]} || is_ocaml($chain[0]));
	while (my $list = $left{$on}) {
		my $f = shift @$list;
		if (!defined $f) {
			last if $on == 0 || !defined $parent->{$on};
			$on = $parent->{$on};
		} elsif ($on == 0) {
			push @chain, $f;
			$on = $current if is_ocaml($f) || $to_c{$f};
		} elsif ($from_c{$f}) {
			$current = $on;
			$on = 0;
		} elsif ($f eq 'caml_runstack') {
			push @chain, $f;
			$on = $parent->{$on};
			last if !defined $on;
		} else {
			push @chain, $f;
		}
	}
	return @chain;
}

# Whether the frames are a beginning of the chain. Glue may be left out.
sub is_chain {
	my ($frames, $chain) = @_;
	my @want = @$chain;
	my $gap = 0;
	for my $f (@$frames) {
		$gap = 1, next if $f eq '[frames missing]';
		last if $f eq '[stack not whole]';
		my $name = name($f);
		shift @want while @want && name($want[0]) ne $name && ($glue{$want[0]} || ($gap && !is_ocaml($want[0])));
		return $name =~ /^(Steps|caml_startup__code_begin|caml_program)$/ if !@want;
		my $wanted = shift @want;
		# Of the C library a function has several names.
		return 0 if name($wanted) ne $name && (is_ocaml($wanted) || $wanted =~ /^(caml|steps)_/);
		$gap = 0;
	}
	return 1;
}

sub stacks_of {
	my ($text) = @_;
	my ($time, $function, $current, @stack) = split / /, $text;
	my %row = (time => $time, function => $function, current => $current, calls => {}, parents => {});
	for my $s (@stack) {
		my ($head, $calls) = split /=/, $s;
		my ($id, $parents) = split /:/, $head;
		$row{on} //= $id;
		$row{calls}{$id} = [split /,/, $calls // ''];
		$row{parents}{$id} = [split /,/, $parents // ''];
	}
	return \%row;
}

# All ways in which stacks can be above each other.
sub parents {
	my ($row) = @_;
	my @all = ({});
	for my $id (keys %{$row->{parents}}) {
		my @p = @{$row->{parents}{$id}} or next;
		@all = map { my $h = $_; map { {%$h, $id => $_} } @p } @all;
	}
	return @all;
}

open(my $e, '<', $events) or die;
while (<$e>) {
	chomp;
	my ($begin, $end, @frames) = split /\t/;
	push @event, [$begin, $end, [reverse @frames]];
}
@event = sort { $a->[0] <=> $b->[0] } @event;
open(my $t, '<', $truth) or die;
my ($i, @recent) = (0);
while (<$t>) {
	chomp;
	my $row = stacks_of($_);
	push @recent, $row->{current} if !@recent || $recent[-1] != $row->{current};
	shift @recent if @recent > 3;
	$i++ while $i < @event && $event[$i][1] < $row->{time};
	if ($i == @event || $event[$i][0] > $row->{time}) {
		$sum{missed}++;
		next;
	}
	my $frames = $event[$i][2];
	my $whole = @$frames && !grep { $_ eq '[stack not whole]' } @$frames;
	$sum{$whole ? 'whole' : 'cut'}++;
	$where{$row->{function}}[$whole ? 0 : 1]++;
	my $right = 0;
	for my $parent (parents($row)) {
		$right ||= is_chain($frames, [chain($row, $_, $parent)]) for @recent;
	}
	next if $right;
	$wrong++;
	my ($parent) = parents($row);
	my $said = "wrong at $row->{function}: @$frames\n  for: @{[chain($row, $row->{current}, $parent)]}\n";
	print $said . "   in: $_\n" if !$said{$said}++ && keys %said <= 20;
}
for my $f (sort keys %where) {
	printf STDERR "%s %d %d\n", $f, map { $_ // 0 } @{$where{$f}}[0, 1];
}
printf "%s wrong\n", $wrong // 0;
printf "%d %s\n", $sum{$_}, $_ for sort keys %sum;
