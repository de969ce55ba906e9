#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Reduces the text of `ebtrace mem hotspots --top 100000` on stdin to what memtrace's own hotspots
# tool prints of the trace. That tool rounds bytes to another unit, lists callers by the number of
# sampled objects instead of samples, and counts a recursive allocation twice in what it calls all of
# a function's allocations: what it allocates itself, plus what is allocated below it.
awk '
function bytes(samples,   n, i) {
	n = samples * words * 8
	if (n < 100)
		return sprintf("%4.0f B", n)
	for (i = 1; i < 4 && n >= 100 * 1024 ^ i; i++)
		;
	return sprintf("%4.1f %s", n / 1024 ^ i, substr("kBMBGBTB", 2 * i - 1, 2))
}
function name(from,   s, i) { # the rest of the line, from a field on
	s = $0
	for (i = 1; i < from; i++)
		sub(/^ *[^ ]+/, "", s)
	sub(/^ +/, "", s)
	return s
}
NR == 1 {
	for (i = 1; i < NF; i++) {
		if ($i == "objects")
			samples = $(i + 2)
		if ($i == "word")
			words = $(i + 2)
	}
	match($0, /\[[0-9]+\]: /)
	printf "Trace for %s:\n   %d samples of %s allocations\n\n", substr($0, 1, RSTART + RLENGTH - 3), samples, bytes(samples)
}
/ function$/ { functions = 1; next }
functions && NF {
	all[name(11)] = $9 + $10
	next
}
# bytes unit, low unit "to" high unit, share %, samples, objects
/ to .*%/ && !functions {
	if ($12 == "via") {
		s = name(13)
		sub(/ \([0-9]+ % of all it allocates\)$/, "", s)
		via[sites, ++vias[sites]] = s
		via_objects[sites, vias[sites]] = $11
	} else {
		site[++sites] = name(12)
		self[sites] = $10
	}
}
END {
	for (i = 1; i <= sites; i++) {
		share = self[i] / samples
		if (share <= 0.005)
			break
		printf "%s (%4.1f%%) at %s\n", bytes(self[i]), 100 * share, site[i]
		least = 1.2 * share > 0.1 ? 1.2 * share : 0.1
		first = 1
		for (k = 1; k <= vias[i]; k++) {
			n = via_objects[i, k]
			if (n / all[via[i, k]] <= least || n / samples <= 0.005)
				continue
			if (first)
				print "      including:"
			first = 0
			printf "    %s via %s (%.0f%% of this)\n", bytes(n), via[i, k], 100 * n / all[via[i, k]]
		}
		print ""
	}
}'
