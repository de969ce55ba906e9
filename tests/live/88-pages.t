#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The pages of an address space, watched through the kernel: the changes that a program makes, no more
# and no less, and at any time the pages that the kernel's page tables have.
. tests/lib.sh
need_root
need_command jq
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing ||
	skip_all "tracefs cannot be mounted"

walk=$O/tests/prog/pagewalk

# trace NAME STEPS...: the program's steps, from its first instruction.
trace() {
	local name=$1 wanted=0
	shift
	[ "${*: -1}" = kill ] && wanted=137
	ends_with $wanted timeout 300 "$O/ebtrace" trace --pages -f ndjson -o "$TMP/$name.ndjson" -- "$walk" "$@" \
		>"$TMP/$name.said" 2>"$TMP/$name.err"
}

changes_of() {
	local sentence=$1
	shift
	trace steps "$@"
	local got
	got=$(perl tests/live/pages.pl "$TMP/steps.said" "$TMP/steps.ndjson")
	[ "${got#ok}" != "$got" ]
	ok $? "$sentence" || diag "$got"
}

changes_of "pages that are touched are allocated, once" touch
changes_of "munmap frees those that were touched" unmap
changes_of "MADV_DONTNEED and MADV_FREE return them, and they may be allocated again" drop
changes_of "mremap frees what is cut off, and moves the rest" move
changes_of "brk frees the end of the heap" brk
changes_of "a mapping over another frees what was there" over
changes_of "what is populated without a fault is found" populate rest
changes_of "a page that two threads touch is allocated once" threads
changes_of "copies of pages after a fork are no allocations" fork
changes_of "exec frees all, and the next program is seen from its begin" touch exec touch drop
changes_of "a killed process frees all" touch kill
trace killed touch kill
is $? 137 "the exit status is the program's"
grep -q 'watching pages: .* other programs' "$TMP/killed.err"
ok $? "what others pay is told"
trace populated populate rest
jq -e -s '[.[] | select(.cause == "populated").pages] | add >= 64' "$TMP/populated.ndjson" >"$TMP/jq"
ok $? "pages that no fault stands for say so"
grep -q 'appeared without a fault' "$TMP/populated.err" && grep -q 'populated [0-9]' "$TMP/populated.err"
ok $? "they are summed up at the end"

trace forked fork
child=$(jq -r 'select(.change == "fork").child' "$TMP/forked.ndjson")
at=$(jq -r --argjson child "$child" 'select(.pid == $child and .cause == "fork").pages' "$TMP/forked.ndjson" | awk '{ n += $1 } END { print (n > 20) }')
is "$at" 1 "a child begins with its parent's pages"
left=$(perl tests/live/pages.pl --left "$child" "$TMP/forked.ndjson")
is "$left" 0 "and frees them at its end"
ends_with 0 timeout 300 "$O/ebtrace" trace --pages --no-follow -f ndjson -o "$TMP/alone.ndjson" -- "$walk" fork >"$TMP/out" 2>&1
is "$(jq -r 'select(.pid).pid' "$TMP/alone.ndjson" | sort -u | wc -l)" 1 \
	"with --no-follow it is not traced" || head -3 "$TMP/alone.ndjson"

ends_with 0 timeout 300 "$O/ebtrace" trace --pages -o "$TMP/walk.ebt" -- "$walk" touch drop >"$TMP/steps.said" 2>"$TMP/err"
ends_with 0 timeout 300 "$O/ebtrace" "$TMP/walk.ebt" -o "$TMP/capture.ndjson" 2>"$TMP/err"
got=$(perl tests/live/pages.pl "$TMP/steps.said" "$TMP/capture.ndjson")
[ "${got#ok}" != "$got" ]
ok $? "a capture has the same changes" || diag "$got"

# ---- running processes ----

rss() { awk '/^Rss:/ { n += $2 } END { print n / 4 }' "/proc/$1/smaps"; }
stopped() { grep -q '^State:.*T' "/proc/$1/status"; }

# attach NAME STEPS...: traces the rest of the steps from the first `stop` to the second.
attach() {
	local name=$1
	shift
	"$walk" "$@" >"$TMP/$name.said" &
	program=$!
	children+=($program)
	wait_for stopped $program
	timeout 300 "$O/ebtrace" trace --pages $options -v -f ndjson -o "$TMP/$name.ndjson" -p $program 2>"$TMP/$name.err" &
	tracer=$!
	wait_for grep -q 'attached to' "$TMP/$name.err"
	kill -CONT $program
	sleep 0.1
	wait_for stopped $program
	has=$(rss $program)
	kill -INT $tracer
	wait $tracer
	status=$?
	kill -KILL $program; wait $program 2>/dev/null
	left=$(perl tests/live/pages.pl --left $program "$TMP/$name.ndjson")
}

options=
attach running touch stop touch unmap move brk over threads stop
is $status 0 "Ctrl-C ends the trace of a running process"
is "$left" "$has" "its pages are those of smaps"
attach many many stop touch stop
is "$left" "$has" "also with 60,000 mappings"
attach churn touch stop churn churn stop
is "$left" "$has" "also when threads take what others give back, while page tables are read"
options="--bpf-buffer 4K"
attach loss touch stop churn touch stop
lost=$(jq -s '[.[] | select(.kind == "lost").events] | add' "$TMP/loss.ndjson")
[ "${lost:-0}" -gt 0 ]
ok $? "a ring buffer that is too small loses events, and says how many" || diag "$lost"
is "$left" "$has" "what was lost is reconciled"
options=

cat >"$TMP/real.pl" <<'END_PERL'
my @kept;
kill 'STOP', $$;
for my $round (1 .. 20) {
	my @list = map { "x" x (100 + $_ % 5000) } 1 .. 3000;
	push @kept, $list[rand @list] for 1 .. 200;
	my %h = map { $_ => [$_] } 1 .. 5000;
	system 'true';
}
kill 'STOP', $$;
END_PERL
walk=/usr/bin/perl
attach real "$TMP/real.pl"
is "$left" "$has" "a real program's pages are those of smaps"
grep -q 'reconciled with the page tables: [0-9]' "$TMP/real.err"
ok $? "and what was reconciled is told" || cat "$TMP/real.err"

sh -c 'kill -STOP $$; exec sleep 0.2' &
program=$!
wait_for stopped $program
timeout 300 "$O/ebtrace" trace --pages -v -f ndjson -o "$TMP/dying.ndjson" -p $program 2>"$TMP/dying.err" &
tracer=$!
wait_for grep -q 'attached to' "$TMP/dying.err"
kill -CONT $program
wait $tracer
is $? 0 "the trace ends with its process"
is "$(perl tests/live/pages.pl --left $program "$TMP/dying.ndjson")" 0 "of which no page is left"

# Behind the end of a run: the kernel waits for each of the tracepoints.
removed() { ! pgrep -x close-links >"$TMP/closing" && ! bpftool prog show | grep -q 'name ebt_enter_munma'; }
timeout 300 "$O/ebtrace" pages -q -o "$TMP/short.txt" -- true
is $? 0 "a short program"
wait_for removed
ok $? "the tracepoints are removed by a process that outlives the run, and ends"
done_testing
