#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# Reads a Perfetto trace as `protoc --decode` prints it and writes a line an event, its columns
# separated by tabs: type, ts, track, name, value, other notes. Tracks are paths of names; a process
# is its number. What breaks the rules of the format is a line that begins with "!".
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/../protoc-text.pl";

my (%tracks, %names, %notes, %open, %last);
my $first = 1;
sub one { my ($m, $key) = @_; return $m->{$key} ? $m->{$key}[0] : undef; }

sub descriptor {
	my $d = shift;
	my ($uuid, $parent, $process, $counter) = map { one($d, $_) } qw(uuid parent_uuid process counter);
	bad("no parent of $uuid") if $parent && !$tracks{$parent};
	my $name = $process ? one($process, 'pid') : one($d, 'name');
	my $path = ($parent ? "$tracks{$parent}/" : '') . $name;
	bad("$uuid is $tracks{$uuid} and $path") if $tracks{$uuid} && $tracks{$uuid} ne $path;
	$tracks{$uuid} = $path;
	my $about = $process ? one($process, 'process_name') // ''
		: $counter ? one($counter, 'unit_name') // one($counter, 'unit') // 'counter' : '';
	print join("\t", 'track', '', $path, $about), "\n";
}

# What stacks are made of, by field of InternedData and number.
my (%of, %ever);
my @kinds = qw(function_names frames callstacks build_ids mapping_paths source_paths mappings debug_annotation_string_values);
sub of {
	my ($kind, $iid) = @_;
	return '' if !defined $iid;
	return $of{$kind}{$iid} // bad("$kind has no $iid");
}

# Of a file that is not known: it has nothing.
sub mapping {
	my $m = shift or return '';
	return '' if !$m->{path_string_ids};
	my $path = join '', map { '/' . of('mapping_paths', $_) } @{$m->{path_string_ids} // []};
	return $path . ' ' . unpack 'H*', of('build_ids', one($m, 'build_id'));
}

# The innermost frame last: "function@file:line (path build id+offset)"
sub callstack {
	my @frames;
	for my $iid (@{of('callstacks', shift)->{frame_ids}}) {
		my $f = of('frames', $iid);
		my ($line, $mapping) = (one($f, 'line_number'), one($f, 'mapping_id'));
		bad("frame $iid has no mapping") if !$mapping;
		my $file = mapping(of('mappings', $mapping));
		push @frames, of('function_names', one($f, 'function_name_id')) . '@' .
			of('source_paths', one($f, 'source_path_iid')) . (defined $line ? ":$line" : '') .
			($file ? sprintf(' (%s+0x%x)', $file, one($f, 'rel_pc')) : '');
	}
	return join '; ', @frames;
}

sub intern {
	my $interned = shift;
	for my $kind (@kinds) {
		for my $m (@{$interned->{$kind} // []}) {
			my $iid = one($m, 'iid');
			bad("$kind has $iid twice") if $ever{$kind}{$iid}++;
			$of{$kind}{$iid} = $m->{str} ? one($m, 'str') : $m;
		}
	}
}

sub notes {
	my $event = shift;
	my %n;
	for my $note (@{$event->{debug_annotations} // []}) {
		my $name = one($note, 'name') // $notes{one($note, 'name_iid') // 0} // bad('a note without a name');
		my ($value) = map { one($note, $_) // () } qw(uint_value int_value string_value pointer_value bool_value);
		my $text = one($note, 'string_value_iid');
		$value //= of('debug_annotation_string_values', $text) if $text;
		$value //= join ',', map { one($_, 'uint_value') } @{$note->{array_values}};
		$n{$name} = $value;
	}
	return %n;
}

sub event {
	my ($ts, $e) = @_;
	my $track = $tracks{one($e, 'track_uuid')} // bad('an event on a track that was not told');
	my $type = lc one($e, 'type');
	$type =~ s/^type_(slice_)?//;
	my $name = one($e, 'name_iid') ? $names{one($e, 'name_iid')} // bad('no such name') : '';
	my %n = notes($e);
	if ($type eq 'begin' || $type eq 'end') {
		bad("$track goes back from $last{$track} to $ts") if $ts < ($last{$track} // 0);
		$last{$track} = $ts;
		$open{$track} += $type eq 'begin' ? 1 : -1;
		bad("an end on $track without a begin") if $open{$track} < 0;
	}
	for my $flow ('flow_ids', 'terminating_flow_ids') {
		$n{$flow} = join ',', @{$e->{$flow}} if $e->{$flow};
	}
	my $stack = one($e, 'callstack_iid');
	$n{callstack} = callstack($stack) if $stack;
	my $value = one($e, 'counter_value') // $n{value} // $n{values} // $n{data} // '';
	delete @n{qw(value values data)};
	s/[\t\n]/ /g for values %n;
	print join("\t", $type, $ts, $track, $name, $value, map { "$_=$n{$_}" } sort keys %n), "\n";
}

# type "sample", ts, "pid/tid", mode, stack; cpu, and why the stack is not whole
sub sample {
	my ($ts, $s) = @_;
	my %n = map { defined one($s, $_) ? ($_ => one($s, $_)) : () } qw(cpu unwind_error);
	my $stack = one($s, 'callstack_iid');
	print join("\t", 'sample', $ts, one($s, 'pid') . '/' . one($s, 'tid'), one($s, 'cpu_mode'),
		$stack ? callstack($stack) : '', map { "$_=$n{$_}" } sort keys %n), "\n";
}

my $trace = message();
for my $p (@{$trace->{packet}}) {
	my $flags = one($p, 'sequence_flags') // 0;
	bad('a packet of no sequence') if (one($p, 'trusted_packet_sequence_id') // 0) != 1;
	bad('the first packet clears nothing') if $first && $flags != 1;
	bad('an event stands on nothing') if !$first && !($flags & 3);
	$first = 0;
	%names = %of = () if $flags & 1;
	if (my $defaults = one($p, 'trace_packet_defaults')) {
		print "clock\t", one($defaults, 'timestamp_clock_id'), "\n";
	}
	if (my $snapshot = one($p, 'clock_snapshot')) {
		print join("\t", 'snapshot', one($snapshot, 'primary_trace_clock'),
			map { one($_, 'clock_id') } @{$snapshot->{clocks}}), "\n";
	}
	if (my $interned = one($p, 'interned_data')) {
		intern($interned);
		$names{one($_, 'iid')} = one($_, 'name') for @{$interned->{event_names} // []};
		$notes{one($_, 'iid')} = one($_, 'name') for @{$interned->{debug_annotation_names} // []};
	}
	if (my $d = one($p, 'track_descriptor')) { descriptor($d); }
	if (my $e = one($p, 'track_event')) {
		bad('an event has no time') if !defined one($p, 'timestamp');
		event(one($p, 'timestamp'), $e);
	}
	if (my $s = one($p, 'perf_sample')) {
		bad('a sample has no time') if !defined one($p, 'timestamp');
		sample(one($p, 'timestamp'), $s);
	}
}
for my $track (sort keys %open) { bad("$open{$track} slices of $track have no end") if $open{$track}; }
