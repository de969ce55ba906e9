#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The words of the memory reports are those of the program that was recorded: C has no generations,
# and samples that stand for words are words. An empty recording names its rate and what to change.
. tests/lib.sh
need_command jq
need_command xz
ebt=$O/ebtrace
cat >"$TMP/heap.c" <<'END'
#include <stdlib.h>
#include <sys/mman.h>
int main(void)
{
	for (int i = 0; i < 1000; i++) {
		void *volatile p = malloc(100);
		if (i % 2)
			free(p);
	}
	return mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}
END
gcc -g "$TMP/heap.c" -o "$TMP/heap" && "$ebt" mem record -q --rate 1 -o "$TMP/heap.ctf" -- "$TMP/heap"
is $? 0 "a C program is recorded"
for report in summary hotspots live lifetimes flame timeline "diff $TMP/heap.ctf"; do
	# shellcheck disable=SC2086
	"$ebt" mem $report "$TMP/heap.ctf" >"$TMP/got" 2>&1
	is "$? $(grep -ciE '\<(major|minor|promoted)\>' "$TMP/got")" "0 0" \
		"mem ${report%% *} of a C program has no word of generations" || diag "$(<"$TMP/got")"
done
"$ebt" mem "$TMP/heap.ctf" >"$TMP/got"
is "$(grep -oE '^  (  heap|  external|allocated|alive) +[0-9.]+ [KM]iB' "$TMP/got" | tr -s ' ' | tr '\n' ',')" \
	" allocated 1.1 MiB, heap 97.7 KiB, external 1.0 MiB, alive 1.0 MiB," \
	"the summary has what is in the heap and outside of it" || diag "$(<"$TMP/got")"
"$ebt" -q -o "$TMP/heap.json" "$TMP/heap.ctf"
is "$(grep -c 'live bytes' "$TMP/heap.json" | sed 's/[1-9][0-9]*/some/') $(grep -c promoted "$TMP/heap.json")" "some 0" \
	"a timeline of it has a counter of live bytes, none of promoted ones"
is "$(grep -ohE '(objects?|process) .* in |each byte sampled|[0-9] sample|samples' "$TMP/got" | head -3)" "$(printf '%s\n' 'objects with 1148576 bytes in ' 'each byte sampled')" \
	"at rate 1 it counts bytes, not samples" || diag "$(<"$TMP/got")"
"$ebt" mem hotspots "$TMP/heap.ctf" >"$TMP/got"
is "$(grep -c sample "$TMP/got") $(grep -oE 'share +(bytes|samples)(: own)? ' "$TMP/got" | tr -s ' ' | tr '\n' ',')" "1 share bytes ,share bytes: own ," \
	"so do the columns of mem hotspots" || diag "$(<"$TMP/got")"
"$ebt" mem record -q --rate 0.5 -o "$TMP/half.ctf" -- "$TMP/heap" && "$ebt" mem "$TMP/half.ctf" | head -1 >"$TMP/got"
is "$(grep -cE 'objects with [0-9]+ samples in .*, 1 byte in [0-9]+ sampled' "$TMP/got")" 1 "at a lower rate it counts samples" || diag "$(<"$TMP/got")"
xz -dc tests/data/memtrace/single.ctf.xz >"$TMP/single.ctf"
is "$("$ebt" mem "$TMP/single.ctf" | grep -cE '^  (  minor|  major|promoted) ')" 3 "that of an OCaml program has them"

"$ebt" mem record -q --rate 1e-12 -o "$TMP/empty.ctf" -- "$TMP/heap" 2>"$TMP/log"
is "$? $(<"$TMP/log")" "0 " "an empty recording with -q is silent"
"$ebt" mem record --rate 1e-12 -o "$TMP/empty.ctf" -- "$TMP/heap" 2>"$TMP/log"
is "$(head -1 "$TMP/log")" \
	"ebtrace: no allocation of '$TMP/heap' was sampled, at --rate 1e-12; a higher one samples more, --children what its children allocate" \
	"an empty recording names the rate, --rate and --children"
for report in summary hotspots live lifetimes timeline; do
	is "$("$ebt" mem $report "$TMP/empty.ctf")" \
		"No allocation of this recording was sampled, as 1 byte in 8e+12 is. mem record with a higher --rate samples more, with --children also those of child processes." \
		"so does mem $report of it"
done
done_testing
