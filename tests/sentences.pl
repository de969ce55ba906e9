#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# sentences.pl FILE...: the mean number of words in a sentence of each file, a source of a manual page
# (scdoc) or Markdown, as "FILE MEAN WORDS SENTENCES". What is typed, tables and headings are none.
use strict;
use warnings;

for my $path (@ARGV) {
	open my $in, '<', $path or die "$path: $!\n";
	my ($fence, $table, $text) = (0, 0, '');
	while (my $line = <$in>) {
		if ($line =~ /^\s*```/) {
			$fence = !$fence;
			$text .= "\n\n";
			next;
		}
		next if $fence;
		$table = 1 if $line =~ /^(\[\[|\||:[\[\-\]] )/;
		$table = 0 if $line =~ /^$/;
		# Headings, directives, comments, lines of pictures and of code, and what is between paragraphs.
		if ($table || $line =~ /^(#|\@|; |<!|!\[|    |$)/ || $line =~ /^\*-|\+\+$/) {
			$text .= "\n\n";
			next;
		}
		$text .= "\n\n" if $line =~ /^- /;
		$text .= $line;
	}
	my ($words, $sentences) = (0, 0);
	for my $paragraph (split /\n\n+/, $text) {
		for my $sentence (split /(?<=[.!?])[)"]?\s+(?=["(]?[A-Z*_`\/-])/, $paragraph) {
			my $count = () = $sentence =~ /[\w'-]*\w\S*/g;
			next if $count < 4; # a name, the term of a list
			$words += $count;
			$sentences++;
		}
	}
	printf "%s %.1f %d %d\n", $path, $sentences ? $words / $sentences : 0, $words, $sentences;
}
