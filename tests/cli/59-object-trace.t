#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A runtime with a garbage collector reports its objects: the trace has what the program counted.
. tests/lib.sh

# count KIND: the sum over the domains.
count() { awk -v kind="$1" '$2 == kind { n += $3 } END { print n + 0 }' "$TMP/counts"; }
events() { jq -r "select(.kind == \"$1\") | .obj" "$TMP/events"; }

outside=0
for seed in 1 2 3 4; do
	EBTRACE_MEMTRACE=$TMP/$seed.ctf EBTRACE_MEMTRACE_RATE=0.01 EBTRACE_MEMTRACE_SEED=$seed \
		"$O/tests/prog/minigc" -o -q -n 20000 -t 4 -S "$seed" -c "$TMP/counts" || break
	"$O/ebtrace" trace -f ndjson "$TMP/$seed.ctf" >"$TMP/events" || break
	# The estimate has the variance words * (1 - rate) / rate; five times its root is the interval.
	estimate=$(jq -n '[inputs | select(.kind == "alloc") | .samples] | add * 100' "$TMP/events")
	awk -v words="$(count words)" -v estimate="$estimate" 'BEGIN {
		sd = sqrt(words * 0.99 / 0.01)
		printf "# %d words, estimated %d: %+.2f standard deviations\n",
			words, estimate, (estimate - words) / sd
		exit !(estimate > words - 5 * sd && estimate < words + 5 * sd) }' || outside=1
done
is "$outside $seed" "0 4" "the words that a program allocated are estimated within the interval"
is "$(jq -n '[inputs | select(.kind == "alloc") | .samples] | add > 1000' "$TMP/events")" true \
	"of more than 1000 samples"
for kind in alloc promote collect; do
	is "$(events $kind | wc -l)" "$(count $kind)" "each $kind that the program reported is in the trace"
done
is "$(events alloc | sort | uniq -d | wc -l)" 0 "no number is used twice"
events alloc | sort >"$TMP/allocs"
is "$(cat <(events promote) <(events collect) | sort -u | comm -23 - "$TMP/allocs" | wc -l)" 0 \
	"objects are promoted and collected that were allocated"
is "$(events collect | sort | uniq -d | wc -l)" 0 "and collected once"
is "$(jq -n 'reduce (inputs | select(.kind == "alloc" or .kind == "collect" or .kind == "promote")) as $e
	({seen: {}, bad: 0}; if $e.kind == "alloc" then .seen["\($e.obj)"] = 1
	 elif .seen["\($e.obj)"] then . else .bad += 1 end) | .bad' "$TMP/events")" 0 \
	"the allocation of an object comes before all else of it"
jq -r 'select(.kind == "alloc") | .stack[]' "$TMP/events" | sort -u | grep -v libc.so >"$TMP/frames"
is "$(cut -d@ -f2- "$TMP/frames" | sort -u)" "$(realpath "$O/tests/prog/minigc"):0:0-0" \
	"frames have the file of their module"
called=$(cut -d@ -f1 "$TMP/frames" | addr2line -fie "$O/tests/prog/minigc" |
	grep -xE 'main|work_batch|heap_alloc|sampled_alloc' | sort -u)
is "$called" $'heap_alloc\nmain\nsampled_alloc\nwork_batch' "and the address of the call in it"
done_testing
