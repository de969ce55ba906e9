#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A small page trace can be of much memory: each event of 16 bytes of as many pages as are followed. Reports take
# the memory and the time that the events are worth, not the pages. Limits of time here only end what would take
# minutes.
. tests/lib.sh
need_command perl

# trace EVENTS PAGES: allocations, frees and scavenges of the same pages in turn, by P 0.
trace() {
	perl -e '
		my ($events, $pages) = @ARGV;
		my ($i, $base) = (0, 0xc000000000);
		binmode STDOUT;
		while ($i < $events) {
			my @words = (4, (8000 + $i) << 3);
			for (my $ago = 0; $i < $events && @words < 4094; $i++) {
				push @words, $i % 3 + 1 | 4 | $base | $ago++ << 48, $pages;
			}
			print pack("Q<*", @words);
		}' "$@"
}
trace 6000 $((1 << 25)) >"$TMP/bomb.pt"
(
	[ "${O##*/}" = build ] && ulimit -v 300000
	timeout 200 "$O/ebtrace" pages --json - <"$TMP/bomb.pt" >"$TMP/pipe.json" 2>"$TMP/err" &&
		ends_with 0 timeout 200 "$O/ebtrace" pages --json "$TMP/bomb.pt" >"$TMP/json" 2>>"$TMP/err"
)
is $? 0 "events of 256 GiB are followed in 300 MB" || diag "$(cat "$TMP/err")"
for from in json pipe.json; do
	is "$(jq -c '[.events, .totals.allocated_pages, .totals.returned_pages, .damage.double_allocs + .damage.double_frees]' "$TMP/$from")" "$(jq -cn '[6000, 2000 * 33554432, 2000 * 33554432, 0]')" "$from: all of their pages are counted"
done

trace 300000 $((1 << 25)) >"$TMP/bomb.pt"
timeout 300 "$O/ebtrace" pages "$TMP/bomb.pt" >"$TMP/out" 2>"$TMP/err" &
waiter=$!
reads() { tracer=$(pgrep -P "$waiter" -x ebtrace) && [ "$(readlink "/proc/$tracer/fd/"* 2>/dev/null | grep -c bomb.pt)" = 1 ] && grep -q '^SigBlk:.*[4-7c-f]...$' "/proc/$tracer/status"; }
wait_for reads
kill -TERM "$tracer"
wait "$waiter"
is $? 1 "a report of many such events ends by a signal"
grep -q 'ended by a signal before the end of the input' "$TMP/err"
ok $? "and says so" || diag "$(cat "$TMP/err")"

# What was there first comes last in a pipe: three chunks were freed before they are known.
perl -e '
	my @free = (4, 8000 << 3, 2 | 4 | 0xc000000000, 1536);
	my @boot = ((-1 << 3) | 4, 1 << 3, 1 | 4 | 0xc000000000, 1536);
	binmode STDOUT;
	print pack("Q<*", @free, @boot);' >"$TMP/late.pt"
for from in file pipe; do
	if [ $from = file ]; then
		ends_with 0 "$O/ebtrace" pages --json "$TMP/late.pt" >"$TMP/json"
	else
		ends_with 0 "$O/ebtrace" pages --json - <"$TMP/late.pt" >"$TMP/json"
	fi
	is "$(jq -c '[.damage.double_frees, .damage.double_allocs, .damage.scavenged_unseen_pages]' "$TMP/json")" "[0,0,0]" "whole chunks that were freed before their allocation is read are no violation: from a $from" ||
		diag "$(jq -c . "$TMP/json")"
done
done_testing
