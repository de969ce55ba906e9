#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# mutants.pl [--seed N] [--count N] [--folder user/...] [--only 3,7-9] [--units | --tests "TEST ..."]
#            [--tree DIR] [--draw]
#
# What the tests do not notice: draws COUNT lines of user/, changes each in one place, in a copy of
# this checkout, and runs what should fail: the unit tests of the file's folder and of those above,
# plain and sanitized; then all others, command-line tests, live tests and attacks, until one fails,
# twice.
# --units ends behind the first of these, --tests runs other tests instead, --draw none.
# The same seed draws the same changes from the same sources. A change that does not compile, or from
# which the compiler makes the same code, is not counted. Prints what becomes of each change, and the
# score at last; the status is 1 if one went unnoticed. --count 0 makes the copy alone; --tree keeps
# it in DIR, and uses it again if it is there. For hours: a change that goes unnoticed takes as long
# as all tests do.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use FindBin;
use Getopt::Long;

chdir "$FindBin::Bin/.." or die "cannot enter the checkout: $!\n";
my ($seed, $count, $folder, $only, $units, $tests, $tree, $draw) = (1, 50, 'user/', '', 0, '', '', 0);
GetOptions('seed=i' => \$seed, 'count=i' => \$count, 'folder=s' => \$folder, 'only=s' => \$only,
	'units' => \$units, 'tests=s' => \$tests, 'tree=s' => \$tree, 'draw' => \$draw)
	or die "usage: tests/mutants.pl [--seed N] [--count N] [--folder user/...] [--only 3,7-9]" .
	       " [--units | --tests \"TEST ...\"] [--tree DIR] [--draw]\n";
chomp(my $cpus = `nproc`);
my $O = 'build';

# What a piece of code becomes; each is tried at each place where it fits.
my @changes = (
	[qr/ < /, ' <= '], [qr/ <= /, ' < '], [qr/ > /, ' >= '], [qr/ >= /, ' > '],
	[qr/ == /, ' != '], [qr/ != /, ' == '], [qr/ && /, ' || '], [qr/ \|\| /, ' && '],
	[qr/ \+ /, ' - '], [qr/ - /, ' + '], [qr/ \* (?=[a-z(])/, ' + '], [qr/ << /, ' >> '],
	[qr/ & /, ' | '], [qr/ \+= /, ' -= '], [qr/ -= /, ' += '], [qr/ \|= /, ' = '],
	[qr/\+\+/, '--'], [qr/\btrue\b/, 'false'], [qr/\bfalse\b/, 'true'],
	[qr/!(?=[a-z_(])/, ''], [qr/\bif \((?=.*\)( \{)?$)/, 'if (!'], [qr/\bif \((?=.*\)( \{)?$)/, 'if (0 && '],
	[qr/(?<![\w.])\d+(?![\w.])/, sub { $_[0] + 1 }],
	[qr/return -E[A-Z]+;/, 'return 0;'],
	[qr/^\t+\K(break|continue);$/, ';'],
	# A call or an assignment; not a declaration.
	[qr/^\t+\K[a-z_][\w.>\[\]-]*(\(.*\)| [-+|&]?= .*);$/, ';'],
);

# changes_of LINE: [COLUMN, LENGTH, NEW] for each place, but for text and comments.
sub changes_of {
	my $line = shift;
	return if $line =~ m{^\s*(/\*|\*|#|\})} || $line =~ /\bassert\(/;
	(my $code = $line) =~ s{("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|/\*.*?\*/)}{'@' x length $1}ge;
	my @found;
	for my $change (@changes) {
		my ($old, $new) = @$change;
		while ($code =~ /$old/g) {
			push @found, [$-[0], $+[0] - $-[0], ref $new ? $new->($&) : $new];
		}
	}
	return @found;
}

sub lines_of {
	open my $f, '<', $_[0] or die "$_[0]: $!\n";
	return <$f>;
}

# All drawn: { file, line, old, new }.
sub draw {
	my (@places, @drawn, %taken);
	chomp(my @files = `git ls-files '$folder*.c' '$folder**/*.c'`);
	for my $file (@files) {
		my @lines = lines_of($file);
		for (0 .. $#lines) {
			chomp(my $line = $lines[$_]);
			push @places, [$file, $_, $line] if changes_of($line);
		}
	}
	srand $seed;
	while (@drawn < $count && keys %taken < @places) {
		my $at = int rand @places;
		my ($file, $number, $line) = @{$places[$at]};
		my @all = changes_of($line);
		my $change = $all[int rand @all];
		next if $taken{$at}++;
		my $new = $line;
		substr($new, $change->[0], $change->[1]) = $change->[2];
		push @drawn, {file => $file, line => $number, old => $line, new => $new};
	}
	return @drawn;
}

# quietly COMMAND: whether it ends well.
sub quietly {
	return system('bash', '-c', "cd '$tree' && { $_[0]; } >>'$tree/mutants.log' 2>&1 </dev/null") == 0;
}

sub make { return quietly("make -s -j$cpus @_") }

# Builds goals and programs; what else is a test is a script.
sub build {
	my @sanitized = grep { m{^$O/asan/} } @_;
	my @plain = grep { !m{^($O/asan|tests)/} } @_;
	return (!@plain || make(@plain)) && (!@sanitized || make('sanitized', "SANITIZED='@sanitized'"));
}

# An older copy gets what has changed since.
sub copy_tree {
	my $copy = -d $tree ? "git ls-files -z | xargs -0 cp -pu --parents -t" : "cp -a .";
	system("$copy '$tree'") == 0 or die "$tree: cannot copy the checkout\n";
	make('tests sanitized') or die "$tree/mutants.log: the copy cannot be built\n";
}

# The unit tests of a file of user/: those of its folder, and of those above.
sub units_of {
	my $at = dirname(shift =~ s{^user/}{}r);
	my @found;
	for (; $at ne '.'; $at = dirname($at)) {
		push @found, map { s{\.c$}{}r } glob "tests/unit/$at/test_*.c";
	}
	return @found;
}

# failing TEST...: the first test that fails, and again when it is run alone; undef: none.
sub failing {
	my $seconds = grep({ /\.t$/ } @_) ? 600 : 300;
	my $one = "env --default-signal O=$O TIMES=/dev/null PART=mutants TEST_SECONDS=$seconds tests/one.sh";
	my @left = @_;
	while (@left) {
		open my $list, '>', "$tree/mutants.list" or die "$tree/mutants.list: $!\n";
		print $list "$_\n" for @left;
		close $list;
		return if quietly("rm -f mutants.failed; xargs -P$cpus -n1 bash -c '$one \$0 || { echo \$0 >>mutants.failed; exit 255; }' <mutants.list");
		chomp(my @failed = lines_of("$tree/mutants.failed"));
		for my $test (@failed) {
			return $test unless quietly("$one $test");
		}
		# What ran beside others failed of that; those behind it go on.
		my %seen = map { $_ => 1 } @failed;
		my ($first) = grep { $seen{$left[$_]} } 0 .. $#left;
		@left = grep { !$seen{$_} } @left[$first .. $#left];
	}
	return;
}

sub shortest_first {
	my (%rank, $at);
	chomp(my @longest = lines_of('tests/longest'));
	$rank{$_} = ++$at for reverse @longest;
	return sort { ($rank{$a} // 0) <=> ($rank{$b} // 0) } @_;
}

# Runs what should notice the change in a file: the name of a test; undef: none does.
sub noticed_by {
	my ($file) = @_;
	if ($tests) {
		my @wanted = split ' ', $tests;
		build('all', 'made-up', @wanted) or die "$tree/mutants.log: cannot be built\n";
		return failing(@wanted);
	}
	my @units = units_of($file);
	my @programs = map { ("$O/$_", "$O/asan/$_") } @units;
	build(@programs) or die "$tree/mutants.log: cannot be built\n";
	my $test = failing(@programs);
	return $test if defined $test || $units;
	build('tests') or die "$tree/mutants.log: cannot be built\n";
	chomp(my @all = `find $O/tests/unit -type f -perm -u+x -name 'test_*'`);
	my %ran = map { $_ => 1 } @programs;
	return failing(shortest_first(grep { !$ran{$_} } @all)) //
		failing(shortest_first(grep { !m{/0[0-4]-} } glob 'tests/cli/*.t')) //
		failing(shortest_first(glob 'tests/live/*.t tests/attack/*.t'));
}

my %wanted = map { /^(\d+)-(\d+)$/ ? map { $_ => 1 } $1 .. $2 : ($_ => 1) } split /,/, $only;
my @drawn = draw();
my $dir = tempdir(CLEANUP => 1);
$tree ||= "$dir/tree";
copy_tree() unless $draw;
my ($noticed, $counted) = (0, 0);
$| = 1;
for my $number (1 .. @drawn) {
	my $m = $drawn[$number - 1];
	next if %wanted && !$wanted{$number};
	my ($file, $line) = ($m->{file}, $m->{line});
	printf "%d\t%s:%d\n-%s\n+%s\n", $number, $file, $line + 1, $m->{old}, $m->{new};
	next if $draw;
	my @lines = lines_of($file);
	my $object = "$O/" . ($file =~ s{\.c$}{.o}r);
	make($object) && quietly("objcopy -g $object mutants.was") or die "$tree/mutants.log: $object cannot be built\n";
	my $write = sub {
		$lines[$line] = "$_[0]\n";
		open my $f, '>', "$tree/$file" or die "$tree/$file: $!\n";
		print $f @lines;
		close $f or die "$tree/$file: $!\n";
	};
	$write->($m->{new});
	if (!make($object) || quietly("objcopy -g $object mutants.o && cmp -s mutants.o mutants.was")) {
		print "is no other program\n";
	} else {
		my $test = eval { noticed_by($file) };
		my $why = $@;
		$write->($m->{old});
		die $why if $why;
		$counted++;
		$noticed++ if defined $test;
		print defined $test ? "noticed by $test\n" : "NOT NOTICED\n";
	}
	$write->($m->{old});
}
printf "%d of %d noticed\n", $noticed, $counted unless $draw;
exit($noticed < $counted);
