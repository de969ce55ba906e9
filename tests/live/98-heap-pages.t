#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Pages of the heap of a C program: what it writes to a page trace, and what its markers report through
# BPF, is what it counted.
. tests/lib.sh
need_root
need_file "$O/tests/prog/minigc"
need_file "$O/tests/unit/usdt-probes/test_page_trace"
minigc="$O/tests/prog/minigc"

# counted FILE KIND: over all domains.
counted() { awk -v what="$2" '$2 == what { n += $3 } END { print n }' "$1"; }

EBTRACE_PAGETRACE="$TMP/heap.pt" "$minigc" -p -q -t 3 -n 1000000 -N 2048 -M 400000 -c "$TMP/counts"
ok $? "a program writes a page trace of its heap"
is "$(stat -c %a "$TMP/heap.pt")" 600 "for its user alone"
ends_with 0 "$O/ebtrace" info "$TMP/heap.pt" >"$TMP/info"
grep -q "^$TMP/heap.pt: .*page trace" "$TMP/info"
ok $? "info names the format" || diag "$(<"$TMP/info")"
runs="$(counted "$TMP/counts" page_alloc) page_alloc, $(counted "$TMP/counts" page_free) page_free"
grep -q ": $runs, $(counted "$TMP/counts" page_scavenge) page_scavenge\$" "$TMP/info"
ok $? "with every event that the program counted" || diag "$(<"$TMP/info")" "$runs"
[ "$(counted "$TMP/counts" page_scavenge)" -gt 20 ]
ok $? "which are more than a few"
ends_with 0 "$O/ebtrace" pages damage --json "$TMP/heap.pt" >"$TMP/damage"
is "$(jq -r '[.double_allocs, .double_frees, .scavenged_allocated, .untracked, .damages, .has_boot] | join(" ")' \
	"$TMP/damage")" "0 0 0 0 0 true" "the reports find no violation, and the end"
is "$("$O/ebtrace" pages --json "$TMP/heap.pt" | jq -r '.totals.end | "\(.allocated) \(.free) \(.scavenged)"')" \
	"$(counted "$TMP/counts" pages_allocated) $(counted "$TMP/counts" pages_free) $(counted "$TMP/counts" pages_scavenged)" \
	"allocated, free and scavenged pages at the end are the program's own"

# A disk of three blocks and a bit, for a program that writes more.
mkdir "$TMP/small"
if mount -t tmpfs -o size=112k none "$TMP/small" 2>"$TMP/err"; then
	at_end "umount '$TMP/small'"
	EBTRACE_PAGETRACE="$TMP/small/full.pt" "$O/tests/unit/usdt-probes/test_page_trace" exit >"$TMP/out"
	is $? 0 "a program whose disk is full runs to its end"
	is "$(stat -c %s "$TMP/small/full.pt")" $((3 * 32768)) "its trace ends with the last whole block"
	is "$("$O/ebtrace" info "$TMP/small/full.pt" | sed -n 's/^  damage *//p')" none "and is not damaged"
fi

# ---- the markers ----

# traced NAME OPTIONS...: traces a program that writes a page trace as well; its counts are those of
# NAME, its events in NAME.ndjson.
traced() {
	local name=$1
	shift
	mkfifo "$TMP/$name.go"
	EBTRACE_PAGETRACE="$TMP/$name.pt" "$minigc" -p -q -t 3 -n 300000 -N 2048 -M 400000 -w -c "$TMP/$name.counts" \
		<"$TMP/$name.go" 2>"$TMP/$name.ready" &
	local program=$!
	children+=($program)
	exec 5>"$TMP/$name.go"
	timeout 300 "$O/ebtrace" trace -v "$@" -e 'page_*' -p $program -f ndjson -o "$TMP/$name.ndjson" 2>"$TMP/$name.err" &
	local tracer=$!
	wait_for grep -q 'attached to' "$TMP/$name.err"
	echo >&5
	exec 5>&-
	wait $tracer
	ok $? "$name: the program is traced" || diag "$(tail -3 "$TMP/$name.err")"
}
runs_of() { jq -r 'select(.kind | startswith("page_")) | "\(.kind) \(.addr) \(.pages)"' "$1" | sort; }

for mode in stream probes; do
	traced $mode --mode $mode
	ends_with 0 "$O/ebtrace" trace -f ndjson -o "$TMP/$mode.file" "$TMP/$mode.pt"
	runs_of "$TMP/$mode.file" >"$TMP/$mode.expected"
	runs_of "$TMP/$mode.ndjson" | diff - "$TMP/$mode.expected" >"$TMP/diff"
	ok $? "$mode: the markers have the events of the file" || diag "$(head -5 "$TMP/diff")"
	is "$(wc -l <"$TMP/$mode.expected")" \
		$(($(counted "$TMP/$mode.counts" page_alloc) + $(counted "$TMP/$mode.counts" page_free) + $(counted "$TMP/$mode.counts" page_scavenge))) \
		"$mode: all that the program counted"
	is "$(jq -s '[.[] | select(.kind | startswith("page_")) | select(.tid == null or .cpu == null)] | length' \
		"$TMP/$mode.ndjson")" 0 "$mode: each with its thread and its CPU"
	# One that is not scheduled may find no work left.
	[ "$(jq -s '[.[] | select(.kind == "page_alloc") | .tid] | unique | length' "$TMP/$mode.ndjson")" -gt 1 ]
	ok $? "$mode: of several threads"
	is "$(jq -r 'select(.kind == "summary") | .lost_events' "$TMP/$mode.ndjson")" 0 "$mode: nothing is lost"
done

# What is left at the end, of a capture and of the page trace that is made of it.
ends_with 0 timeout 300 "$O/ebtrace" trace -e 'page_*' -o "$TMP/markers.ebt" -- \
	"$minigc" -p -q -t 3 -n 300000 -N 2048 -M 400000 -c "$TMP/counts" 2>"$TMP/err"
ends_with 0 "$O/ebtrace" trace -f pagetrace -o "$TMP/markers.pt" "$TMP/markers.ebt" 2>"$TMP/err"
for file in markers.ebt markers.pt; do
	is "$("$O/ebtrace" pages --json "$TMP/$file" |
		jq -r '"\(.of) \(.totals.end.allocated) \(.totals.end.free) \(.totals.end.scavenged)"')" \
		"heap $(counted "$TMP/counts" pages_allocated) $(counted "$TMP/counts" pages_free) $(counted "$TMP/counts" pages_scavenged)" \
		"$file: the markers are of a heap, with the program's own totals"
	ends_with 0 "$O/ebtrace" pages damage --json "$TMP/$file" >"$TMP/damage"
	is "$(jq -r '[.double_allocs, .double_frees, .scavenged_allocated] | join(" ")' "$TMP/damage")" \
		"0 0 0" "$file: without a violation"
done
"$O/ebtrace" pages damage "$TMP/markers.ebt" | grep -q 'the trace is complete'
ok $? "the capture is complete"
is "$("$O/ebtrace" pages --json "$TMP/markers.ebt" | jq .page_bytes)" 8192 "its pages have 8 KiB"

ends_with 0 "$O/ebtrace" list "$minigc" >"$TMP/list"
is "$(grep -c '^ebtrace:page_\(alloc\|free\|scavenge\) .*semaphore' "$TMP/list")" 3 "list shows the markers"

if command -v bpftrace >"$TMP/which"; then
	[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing
	minigc=$(realpath "$minigc")
	bpftrace -e "usdt:$minigc:ebtrace:page_alloc { @taken = sum(arg1); @odd = sum(arg0 % 8192); }
		usdt:$minigc:ebtrace:page_free { @freed = sum(arg1); }" \
		-c "$minigc -p -q -t 3 -n 300000 -N 2048 -M 400000 -c $TMP/counts" >"$TMP/out" 2>"$TMP/log"
	value() { awk -v m="@$1:" '$1 == m { print $2 }' "$TMP/out"; }
	is "$(value taken) $(value odd)" "$(($(counted "$TMP/counts" page_alloc) * 8)) 0" \
		"a one-liner of bpftrace adds up the pages that were allocated" || diag "$(tail -3 "$TMP/log")"
	is "$(($(value taken) - $(value freed)))" "$(counted "$TMP/counts" pages_allocated)" \
		"and those that are left are the program's own"
fi
done_testing
