# SPDX-License-Identifier: BSD-2-Clause
# Reads messages as `protoc --decode` prints them. What breaks the rules of a format is a line that
# begins with "!".
use strict;
use warnings;

sub bad { print "!\t@_\n" }

sub text {
	my $s = shift;
	my %escape = (n => "\n", t => "\t", r => "\r");
	$s =~ s/\\([0-7]{3}|.)/length $1 > 1 ? chr(oct($1)) : $escape{$1} \/\/ $1/ge;
	return $s;
}

# A message of stdin as a hash of lists: what may be repeated and what may not look the same here.
sub message {
	my %m;
	while (my $line = <STDIN>) {
		last if $line =~ /^\s*}/;
		bad("an unknown field: $line") if $line =~ /^\s*\d/;
		if ($line =~ /^\s*(\w+) \{/) { push @{$m{$1}}, message(); }
		elsif ($line =~ /^\s*(\w+): "(.*)"$/) { push @{$m{$1}}, text($2); }
		elsif ($line =~ /^\s*(\w+): (.*)$/) { push @{$m{$1}}, $2; }
		else { bad("not understood: $line"); }
	}
	return \%m;
}

1;
