#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
# layers.pl: the layers of user/ as a picture (SVG), drawn from the includes: a row a layer, the highest
# on top, with its folders, and beside it the layers that it includes. tests/layers.sh has the order of
# the layers. No number is in it: the picture changes when the architecture does. Run at the top of
# the tree.
use strict;
use warnings;

open my $rules, '<', 'tests/layers.sh' or die "tests/layers.sh: $!\n";
my ($order) = map { /^layers="(.*)"/ ? $1 : () } <$rules>;
my @layers = reverse split ' ', $order;
my @columns = (@layers, 'include/ebtrace', 'bpf');
my (%includes, %folders);
for my $layer (@layers) {
	for my $file (split /\n/, `find user/$layer -name '*.[ch]'`) {
		$folders{$layer}{$1} = 1 if $file =~ m{^user/$layer/([^/]+)/};
		open my $in, '<', $file or die "$file: $!\n";
		while (my $line = <$in>) {
			$includes{$layer}{'include/ebtrace'} = 1 if $line =~ /^#include <ebtrace\//;
			$includes{$layer}{$1} = 1 if $line =~ m{^#include "([a-z]+)/};
		}
	}
}

my ($left, $top, $box, $row, $cell) = (10, 96, 320, 30, 42);
my $right = $left + $box + 20;
my $width = $right + $cell * @columns + 10;
my $height = $top + $row * @layers + 40;
print qq(<svg xmlns="http://www.w3.org/2000/svg" width="$width" height="$height" ),
	qq(viewBox="0 0 $width $height" font-family="sans-serif" font-size="12">\n),
	qq(<rect width="$width" height="$height" fill="#fff"/>\n),
	qq(<text x="$left" y="22" font-size="15">Layers of user/, with their folders, and ),
	qq(the layers that each includes</text>\n);
for my $i (0 .. $#columns) {
	my $x = $right + $cell * $i + $cell / 2;
	printf qq(<text transform="translate(%d %d) rotate(-35)">%s</text>\n), $x - 8, $top - 8, $columns[$i];
}
for my $i (0 .. $#layers) {
	my ($layer, $y) = ($layers[$i], $top + $row * $i);
	printf qq(<rect x="%d" y="%d" width="%d" height="%d" fill="#dbe9f6" stroke="#6080a0"/>\n),
		$left, $y, $box, $row - 4;
	printf qq(<text x="%d" y="%d" font-weight="bold">%s</text>\n), $left + 8, $y + 17, $layer;
	printf qq(<text x="%d" y="%d" font-size="11" fill="#444">%s</text>\n), $left + 84, $y + 17,
		join ' ', sort keys %{$folders{$layer}};
	for my $j (0 .. $#columns) {
		$includes{$layer}{$columns[$j]} or next;
		my $shade = $layer eq $columns[$j] ? '#ddd' : $j < $i ? '#f44' : '#7b8fd0';
		printf qq(<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>\n), $right + $cell * $j + 2,
			$y, $cell - 4, $row - 4, $shade;
	}
}
printf qq(<text x="%d" y="%d" fill="#555">Grey: within the layer. An include of a higher layer would be red. ),
	$left, $height - 16;
print qq(Drawn by docs/layers.pl.</text>\n</svg>\n);
