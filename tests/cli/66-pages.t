#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The reports of pages on real page traces: against the counts of an independent decoder, and against
# what the Go runtime itself measured while it was traced.
. tests/lib.sh
need_command jq
need_command xz
ebt=$O/ebtrace
data=tests/data/pagetrace
names=()
for path in "$data"/*.pt.xz; do
	name=$(basename "$path" .pt.xz)
	names+=("$name")
	xz -dc "$path" >"$TMP/$name.pt"
done
pages() { "$ebt" pages "$@" 2>"$TMP/log"; }
reports="summary totals fragmentation occupancy churn heat lifetimes owners damage"

# The counts of the manifest.
value() { # NAME COLUMN
	awk -F '\t' -v name="$1" -v column="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) c = i }
		$1 == name { print $c }' "$data/manifest.tsv"
}
for name in "${names[@]}"; do
	pages --json "$TMP/$name.pt" >"$TMP/$name.json"
	is "$(jq -c '.totals | [.end.allocated, .end.free, .end.scavenged, .peak_pages]' "$TMP/$name.json")" \
		"[$(value $name end_alloc_pages),$(value $name end_free_pages),$(value $name end_scav_pages),$(value $name peak_alloc_pages)]" \
		"$name: pages at the end and the peak are those of an independent decoder"
	is "$(command jq -c '.damage | {double_free: .double_frees, double_alloc: .double_allocs,
		scav_of_allocated: .scavenged_allocated, scav_unseen_pages: .scavenged_unseen_pages} |
		with_entries(select(.value > 0))' "$TMP/$name.json")" "$(value $name violations | tr -d ' ')" \
		"$name: so are the violations"
done
is "$(jq -r '.damage.has_boot' "$TMP"/{kill9,fsize,light}-go122.json | tr '\n' ' ')" "false false true " \
	"a trace without the block of P -1 is told from one with it"

# Blocks of a P in another order, which are 0, 1, 0, 1 and so on from P 1 on.
reordered() { # BLOCK...: how many of them go back in time
	for block; do dd if="$TMP/kill9-go122.pt" bs=32768 skip="$block" count=1 status=none; done >"$TMP/back.pt"
	pages damage --json "$TMP/back.pt" | jq .backwards
}
is "$(reordered 0 1 2 3 4 5 6 7 8)" 0 "blocks in order of time do not go back"
is "$(reordered 0 1 2 3 4 7 6 5 8)" 1 "a block of P 0 that is behind a later one goes back"
is "$(reordered 0 1 2 3 4 5 8 7 6)" 1 "so does one of P 1"
is "$(reordered 0 1 2 7 4 3 8 5 6)" 2 "each is counted"
pages damage "$TMP/back.pt" >"$TMP/got"
grep -q '2  blocks that go back in the time of their P' "$TMP/got"
ok $? "damage reports them" || diag "$(cat "$TMP/got")"

# What MemStats said at a moment between two times of the trace.
at() { # NAME NANOSECONDS: free, and allocated pages
	pages totals -q --json --at "$(($2 - $(value $1 t_first_ns)))ns" "$TMP/$1.pt" |
		jq -r '"\(.end.free) \(.end.allocated)"'
}
holds() { # NAME FREE INUSE NANOSECONDS: 4 pages are a buffer of the GC, one is taken before the trace
	local free allocated
	read -r free allocated <<<"$(at "$1" "$4")"
	[ "$free" = "$2" ] && [ $(((allocated - $3 + 1) % 4)) = 0 ]
}
for name in "${names[@]}"; do
	[ "$(value $name violations)$(value $name problems)" = "{}0" ] && [ -s "$TMP/$name.pt" ] || continue
	while read -r label free inuse from to; do
		found=1
		holds $name $free $inuse $to && found=0
		[ $found = 1 ] && for ns in $(xz -dc "$data/$name.merged.txt.xz" |
			awk -v from=$from -v to=$to '$1 >= from && $1 <= to { print $1 }' | sort -rnu); do
			holds $name $free $inuse $ns && found=0 && break
		done
		ok $found "$name: at its MemStats '$label' the pages are those that the runtime counted"
	done < <(jq -r 'select(.ev == "memstats") | [.label, (.HeapIdle - .HeapReleased) / 8192,
		(.HeapInuse + .StackInuse) / 8192, .t, .t1] | @tsv' "$data/$name.jsonl")
done

# Numbers that add up.
for name in gcbig-p2-go122 procs-go122 selfexec-go122; do
	for report in $reports; do
		pages $report --json "$TMP/$name.pt" >"$TMP/$report"
	done
	is "$(jq -s -c '.[0] as $t | .[1] as $f | [$f.all.pages == $t.end.free + $t.end.scavenged,
		$f.free.pages == $t.end.free, ([$f.all.sizes[].pages] | add) == $f.all.pages]' \
		"$TMP/totals" "$TMP/fragmentation")" "[true,true,true]" \
		"$name: the runs have all free pages"
	is "$(jq -s -c '.[0] as $t | .[1] | [.huge.empty + .huge.full + (.huge.tenths | add) == .huge.units,
		.huge.whole + .huge.mixed + .huge.returned == .huge.units,
		(.kept_by_few | length) == .huge.kept,
		([.kept_by_few[].allocated] | add // 0) == .huge.kept_allocated,
		([.kept_by_few[] | ([.holders[].pages] | add) == .allocated] | all)]' \
		"$TMP/totals" "$TMP/occupancy")" "[true,true,true,true,true]" \
		"$name: so have the huge pages, and few pages keep those that are listed"
	is "$(jq -s -c '.[0] as $t | .[1] as $o | [([$o.matrix[].pages] | add) == $o.freed, $o.freed == $t.freed_pages,
		([$o.matrix[] | select(.allocated_by != .freed_by).pages] | add) == $o.freed_by_another]' \
		"$TMP/totals" "$TMP/owners")" "[true,true,true]" "$name: the matrix of Ps has all freed pages"
	is "$(jq -s -c '.[0] as $t | .[1] as $c | .[2] as $h | [$c.returned_pages == $t.returned_pages,
		([$c.again[].pages] | add) == $c.again_pages,
		([$h.times[].allocations] | add) == $h.allocations]' \
		"$TMP/totals" "$TMP/churn" "$TMP/heat")" "[true,true,true]" "$name: churn and heat add up"
	is "$(jq -c '.end as $e | [([.timeline[].allocated_pages] | add) == .allocated_pages,
		([.timeline[].freed_pages] | add) == .freed_pages, .timeline[-1].end == .end,
		([.timeline[].most] | max) == .peak_pages]' "$TMP/totals")" "[true,true,true,true]" \
		"$name: the timeline ends at the totals and has the peak"
done

# Windows.
big=$TMP/gcbig-p2-go122.pt
pages totals --json "$big" >"$TMP/whole"
pages totals --json --to 300ms "$big" >"$TMP/first"
pages totals --json --from 300000001ns "$big" >"$TMP/second"
is "$(jq -s -c '[(.[1].allocated_pages + .[2].allocated_pages) == .[0].allocated_pages,
	.[1].end == .[2].start, .[2].end == .[0].end, .[1].events + .[2].events == .[0].events,
	([.[1].peak_pages, .[2].peak_pages] | max) == .[0].peak_pages]' "$TMP/whole" "$TMP/first" "$TMP/second")" \
	"[true,true,true,true,true]" "two windows are the whole"
pages totals --json --at 300ms "$big" >"$TMP/got"
same_file "$TMP/got" "$TMP/first" "--at is a window from the begin"
for time in 300000us 300000000ns 0.3s 0.3 0.005m; do
	pages totals --json --to "$time" "$big" >"$TMP/got"
	same_file "$TMP/got" "$TMP/first" "$time is 300ms"
done
pages totals --json --to 360ms "$big" >"$TMP/longer"
pages totals --json --to 0.0001h "$big" >"$TMP/got"
same_file "$TMP/got" "$TMP/longer" "a ten thousandth of an hour is 360ms"
! cmp -s "$TMP/first" "$TMP/longer"
ok $? "which is more"
is "$(pages totals --json --from 1h "$big" | jq -c '[.events, .allocated_pages, .end.allocated]')" "[0,0,800]" \
	"after the end nothing happens"
ok "$(pages totals --json --from 1s --to 1s "$big" >/dev/null 2>"$TMP/err"; echo $?)" "a time of no length is one" ||
	diag "$(cat "$TMP/err")"
for wrong in "--at 1s --to 2s" "--from 2s --to 1s" "-e alloc" "--top 0"; do
	# shellcheck disable=SC2086
	pages $wrong "$big" >"$TMP/got"
	is $? 2 "$wrong is a usage error"
done
pages </dev/null >"$TMP/got"
is $? 2 "so is no FILE"

# As text.
for report in $reports; do
	pages $report "$big" >"$TMP/got"
	[ $? = 0 ] && head -1 "$TMP/got" | grep -q '^125842 events of 2 Ps in 660.751 ms, pages of 8.0 KiB$' &&
		[ "$(wc -l <"$TMP/got")" -gt 2 ] && [ "$(wc -l <"$TMP/got")" -le 45 ]
	ok $? "$report has a text" || diag "$(cat "$TMP/got")"
done
pages "$big" >"$TMP/got"
pages summary "$big" >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "the summary is the default"
[ "$(wc -l <"$TMP/got")" -le 24 ] && grep -q '^  peak  *30739 .* 284.130 ms$' "$TMP/got" &&
	grep -q '^No violation and no damage' "$TMP/got"
ok $? "it is one screen" || diag "$(cat "$TMP/got")"
is "$(pages occupancy --top 3 "$big" | grep -c '^  0xc0')" 3 "--top limits the rows"
pages damage "$TMP/fsize-go122.pt" >"$TMP/got"
is $? 0 "a damaged trace has a report"
is "$(grep -cE '^ +621  allocations of allocated|^ +547  frees of pages|byte 100000: 3 bytes|missing  the block of P -1' \
	"$TMP/got")" 4 "which names the damage and the missing P -1" || diag "$(cat "$TMP/got")"
grep -q "damaged at byte 100000" "$TMP/log"
ok $? "a message does so too" || diag "$(cat "$TMP/log")"
pages --fail-on-loss "$TMP/fsize-go122.pt" >"$TMP/got"
is $? 3 "with --fail-on-loss it has a status of its own"
pages "$TMP/panic-go122.pt" >"$TMP/got"
is "$?$(wc -l <"$TMP/got")$(grep -c 'killed before it writes its first block' "$TMP/got")" 011 \
	"of an empty file one line says how a Go program leaves it"
pages "$TMP/none.pt" >"$TMP/got"
is $? 1 "a file that is missing is an error"
pages -o "$TMP/x.json" "$big"
pages --json "$big" >"$TMP/want"
same_file "$TMP/x.json" "$TMP/want" "a file with the suffix .json is JSON"
pages churn -f svg "$big" >"$TMP/got"
is $? 2 "a report refuses a format that it has not"
pages totals -o "$TMP/x.png" "$big"
is "$?$([ -e "$TMP/x.png" ] || grep -c "totals has no format '.png'" "$TMP/log")" 21 \
	"text is not written under a name that promises a picture"
pages "$big" "$TMP/exit0-go122.pt" >"$TMP/got"
is "$?$(wc -l <"$TMP/got")$(grep -c 'second page trace' "$TMP/log")" 201 "two heaps are not mixed"
pages -p 77 "$big" >"$TMP/got"
is "$(grep -c '125842 events of other processes are left out' "$TMP/got")$(grep -c 'killed' "$TMP/got")" 10 \
	"a page trace has no process that -p could select"
cp "$big" "$TMP/same.pt"
pages -o "$TMP/same.pt" "$TMP/same.pt"
is "$?$(cmp "$TMP/same.pt" "$big")" 2 "the input is not overwritten"

# JSON follows its schema.
"$ebt" pages --json-schema >"$TMP/schema"
for report in $reports; do
	for name in gc-p2-go122 panic-go122 selfexec-go122; do
		pages $report --json "$TMP/$name.pt" >"$TMP/got"
		is "$(jq -r .report "$TMP/got")$(jq -r --slurpfile s "$TMP/schema" '$s[0] as $schema | '"$(grep -v '^#' \
			tests/stat-schema.jq)" "$TMP/got" 2>&1)" "$report" "$report of $name follows the schema"
	done
done
done_testing
