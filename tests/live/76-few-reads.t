#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What it costs to follow children: their mappings are read when they are new, and again only if
# something may have changed.
. tests/lib.sh
need_file "$O/ebtrace"

# A hundred children, ten at a time, that live for 40 ms and map nothing, beside a program that has
# something to trace.
cat >"$TMP/children.pl" <<'END'
require POSIX;
my $loop = fork() || exec @ARGV;
for (1 .. 10) {
	my @children = map { fork() || do { select(undef, undef, undef, 0.04); POSIX::_exit(0) } } 1 .. 10;
	waitpid($_, 0) for @children;
}
waitpid($loop, 0);
END
for mode in ring auto; do
	"$O/ebtrace" trace -vv --mode $mode -f ebt -o "$TMP/out" -- \
		perl "$TMP/children.pl" "$O/tests/prog/loop" 1 >"$TMP/said" 2>"$TMP/err"
	is "$?" 0 "$mode: a hundred children are followed" || diag "$(tail -5 "$TMP/err")"
	read -r processes reads sizes < <(sed -n \
		's/^ebtrace: \([0-9]*\) processes: mappings read \([0-9]*\) times, sizes \([0-9]*\),.*/\1 \2 \3/p' "$TMP/err")
	# On a busy machine some have ended before they are noticed.
	[ "${processes:-0}" -ge 30 ]
	ok $? "$mode: most of them" || diag "$processes processes"
	# The other two execute programs and load libraries.
	[ "${reads:-1000}" -le $((2 * processes + 36)) ]
	ok $? "$mode: their mappings are read at most twice each"
	diag "$processes processes, $reads reads of mappings, $sizes of sizes"
done
# Children with markers and rings run the program of their parent, which one link probes in all of them. Their
# rings are opened, and what they have mapped, by which a runtime is known; to attach to them nothing is. On a
# busy machine they are read once more, as they map their ring.
"$O/ebtrace" trace -vv -f ebt -o "$TMP/out" -- "$O/tests/prog/brood" 100 3 0 1 >"$TMP/said" 2>"$TMP/err"
is "$?" 0 "a hundred children with markers are followed" || diag "$(tail -5 "$TMP/err")"
read -r processes reads opens < <(sed -n \
	's/^ebtrace: \([0-9]*\) processes: mappings read \([0-9]*\) times,.* files opened \([0-9]*\).*/\1 \2 \3/p' "$TMP/err")
[ "${opens:-1000}" -le $((4 * processes + 20)) ]
ok $? "no file is opened to probe them" || diag "$processes processes, $opens files opened"
[ "${reads:-1000}" -le $((4 * processes + 36)) ]
ok $? "and their mappings are read when they are new and when they have a ring"
diag "$processes processes, $reads reads of mappings, $opens files opened"
# Children that were there are found by a list: one read yields their rings and their probes, and the
# end of the run is another. On a slow machine it takes longer.
perl -e '@c = map { fork() || do { sleep 60; exit } } 1 .. 30; $| = 1; print "ready\n"; waitpid($_, 0) for @c' >"$TMP/parent" &
parent=$!
wait_for grep -q ready "$TMP/parent"
ends_with 4 "$O/ebtrace" trace -vv --wait -d 0.5 -f ebt -o "$TMP/out" -p $parent >"$TMP/said" 2>"$TMP/err"
read -r processes reads < <(sed -n \
	's/^ebtrace: \([0-9]*\) processes: mappings read \([0-9]*\) times,.*/\1 \2/p' "$TMP/err")
is "${processes:-0}" 31 "a program that runs and its children are traced" || diag "$(tail -5 "$TMP/err")"
[ "${reads:-1000}" -le $((2 * processes + 5 + SLOWNESS / 2)) ]
ok $? "their mappings are read at most twice each" || diag "$reads reads of mappings"
pkill -P $parent
wait $parent
done_testing
