#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# examples.pl FILE DIR: writes what is typed in a document to DIR/NN.cmd, a file a block, and the files
# that it shows to DIR/NAME. Prints "NN LINE" for each block of commands, and "- LINE REASON" for each
# that cannot be run. The document is a source of a manual page (scdoc): all blocks but those of the
# synopsis; or Markdown: the blocks of sh. A mark in the line before a block, as a comment:
#
#	not run: WHY		its commands cannot be run
#	run by TEST		another test runs them
#	file: NAME		the text of a file
use strict;
use warnings;

my ($path, $dir) = @ARGV;
my $is_markdown = $path =~ /\.md$/;
open my $in, '<', $path or die "$path: $!\n";
my ($section, $mark, $block, $begin, $number) = ('', '', undef, 0, 0);
while (my $line = <$in>) {
	if (defined $block && $line !~ /^```/) {
		$line =~ s/\\(.)/$1/g unless $is_markdown;
		$block .= $line;
	} elsif (defined $block) {
		my ($kind, $text) = ($mark, $block);
		($mark, $block) = ('', undef);
		next if $section eq 'SYNOPSIS' || $kind eq 'skip';
		if ($kind =~ /^file: (\S+)$/) {
			put($1, $text);
		} elsif ($kind =~ /^(?:not run: |run by )\S/) {
			print "- $begin $kind\n";
		} else {
			die "$path:$begin: unknown mark: $kind\n" if $kind;
			put(sprintf('%02d.cmd', ++$number), $text);
			printf "%02d %d\n", $number, $begin;
		}
	} elsif ($line =~ /^```(\w*)/) {
		$mark = 'skip' if $is_markdown && $1 ne 'sh' && $mark !~ /^file:/;
		($block, $begin) = ('', $.);
	} elsif ($line =~ /^; (.*)/ || $line =~ /^<!-- ((?:not run:|run by|file:) .*) -->/) {
		$mark = $1;
	} else {
		$section = $1 if $line =~ /^# (.*)/;
		$mark = '' if $line ne "\n";
	}
}

sub put {
	my ($name, $text) = @_;
	open my $out, '>', "$dir/$name" or die "$dir/$name: $!\n";
	print $out $text;
	close $out or die "$dir/$name: $!\n";
}
