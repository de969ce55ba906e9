#!/usr/bin/perl
# pages.pl SAID EVENTS: compares what pagewalk printed with the NDJSON of its trace: in its ranges, the
# same pages go through the same changes in the same order. At its end, and when it calls exec, all
# that is left is freed. Prints the first difference; "ok N changes" else.
#
# pages.pl --left PID EVENTS: the pages that PID has at the end. Of every process a page is allocated,
# freed and scavenged in an order that can be; else the first contradiction is printed.
use strict;
use warnings;
no warnings "portable";

sub replay {
	my ($of, $events) = @_;
	my (%has, %left);
	open my $f, '<', $events or die "$events: $!";
	while (<$f>) {
		my ($what, $at, $pages, $pid) =
		    /"kind":"page_(\w+)".*"addr":"0x(\w+)","pages":(\d+).*"pid":(\d+)/ or next;
		for my $page (map { (hex $at) / 4096 + $_ } 0 .. $pages - 1) {
			my $has = delete $has{"$pid $page"};
			if (!!$has != ($what ne 'alloc')) {
				print "line $.: $what of a page that was ", ($has ? '' : 'not '),
				    "allocated\n";
				exit 1;
			}
			$has{"$pid $page"} = 1 if $what eq 'alloc';
			$left{$pid} += $what eq 'alloc' ? 1 : -1;
		}
	}
	print $left{$of} // 0, "\n";
	exit 0;
}

replay(@ARGV[1, 2]) if $ARGV[0] eq '--left';
my ($said, $events) = @ARGV;
my (@ranges, @want, @got, %left, $main);

sub change {
	my ($to, $what, $at) = @_;
	push @$to, sprintf "%s %x", $what, $at;
}

sub end_life {
	change(\@want, 'free', $_) for sort { $a <=> $b } keys %left;
	%left = ();
}

open my $f, '<', $said or die "$said: $!";
while (<$f>) {
	my ($what, $at, $pages) = split;
	if ($what eq 'exec') { end_life(); next }
	$at = hex $at;
	if ($what eq 'range') { push @ranges, [$at, $at + 4096 * $pages]; next }
	for my $page (map { $at + 4096 * $_ } 0 .. $pages - 1) {
		change(\@want, $what, $page);
		if ($what eq 'alloc') { $left{$page} = 1 } else { delete $left{$page} }
	}
}
end_life() unless $ENV{LIVES};

open $f, '<', $events or die "$events: $!";
while (<$f>) {
	my ($what, $at, $pages, $pid) =
	    /"kind":"page_(\w+)".*"addr":"0x(\w+)","pages":(\d+).*"pid":(\d+)/ or next;
	$main //= $pid;
	next if $pid != $main;
	for my $page (map { hex($at) + 4096 * $_ } 0 .. $pages - 1) {
		change(\@got, $what, $page) if grep { $page >= $_->[0] && $page < $_->[1] } @ranges;
	}
}
for my $i (0 .. (@want > @got ? $#want : $#got)) {
	my ($w, $g) = ($want[$i] // 'nothing', $got[$i] // 'nothing');
	next if $w eq $g;
	print "change $i: $w was made, $g was traced\n";
	exit 1;
}
printf "ok %d changes\n", scalar @want;
