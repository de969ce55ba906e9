#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# Reads a profile as `protoc --decode` prints it and writes a line a stack: its values, then its
# functions as the linker names them, outermost first: "NAME@FILE:LINE". Equal lines are added up.
# With "names" it writes the functions' names, with "head" what the profile says of itself. What
# breaks the rules of the format is a line that begins with "!".
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/../protoc-text.pl";

my $what = shift // "";
my %sums;
my $profile = message();
my @strings = @{$profile->{string_table}};
bad("the first string is not empty") if $strings[0] ne "";
sub one { my ($m, $key) = @_; return $m->{$key} ? $m->{$key}[0] : 0; }
sub string {
	my $index = one(@_);
	bad("no string $index") if $index > $#strings;
	return $strings[$index];
}
# The entries of a table by their ids.
sub table {
	my %by_id;
	for my $entry (@{$profile->{$_[0]} // []}) {
		my $id = one($entry, "id");
		bad("$_[0] $id twice, or 0") if !$id || $by_id{$id};
		$by_id{$id} = $entry;
	}
	return \%by_id;
}
my ($mappings, $locations, $functions) = (table("mapping"), table("location"), table("function"));
sub found { my ($table, $id) = @_; bad("no id $id") if !$table->{$id}; return $table->{$id} // {}; }

sub frames {
	my $location = shift;
	found($mappings, one($location, "mapping_id"));
	my @frames = map {
		my $function = found($functions, one($_, "function_id"));
		my ($name, $file) = (string($function, "system_name"), string($function, "filename"));
		$name . ($file eq "" ? "" : "\@$file:" . one($_, "line"))
	} @{$location->{line} // []};
	return @frames ? @frames : "\$" . one($location, "address");
}

my $types = @{$profile->{sample_type}};
if ($what eq "head") {
	print "type ", string($_, "type"), "/", string($_, "unit"), "\n" for @{$profile->{sample_type}};
	print "period ", one($profile, "period"), " ", string($profile->{period_type}[0], "unit"), "\n";
	print "shown ", string($profile, "default_sample_type"), "\n";
	print "program ", string($_, "filename"), "\n" for values %$mappings;
	print "start ", one($profile, "time_nanos"), " for ", one($profile, "duration_nanos"), "\n";
	print "comment $strings[$_]\n" for @{$profile->{comment} // []};
	exit;
}
if ($what eq "names") {
	print string($_, "name"), "\n" for values %$functions;
	exit;
}
for my $sample (@{$profile->{sample} // []}) {
	my @values = @{$sample->{value}};
	bad("not $types values") if @values != $types;
	my $stack = join " ", reverse map { frames(found($locations, $_)) } @{$sample->{location_id}};
	my @labels = map { string($_, "key") . "=" . one($_, "num") } @{$sample->{label} // []};
	my $sum = $sums{join " ", @labels, $stack} //= [];
	$sum->[$_] += $values[$_] for 0 .. $#values;
}
print "@{$sums{$_}} $_\n" for sort keys %sums;
