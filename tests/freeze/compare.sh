# SPDX-License-Identifier: BSD-2-Clause
# Compares what tests/freeze/runs.sh prints with what it printed once; sourced behind tests/lib.sh.

# frozen_are PART FILE SENTENCE: a test for each fixture or command line of the part, of all its runs.
frozen_are() {
	local frozen=tests/freeze/$2 names name wrong
	tests/freeze/runs.sh "$1" >"$TMP/now"
	ok $? "all are made"
	[ -z "${GOLDEN:-}" ] || cp "$TMP/now" "$frozen"
	is "$(cut -f2 "$TMP/now" | sort | uniq -d)" "" "each has a name of its own"
	[ "$1" = quick ] || [ "$1" = some-refusals ] || is "$(cut -f2 "$TMP/now" | sort | diff - <(cut -f2 "$frozen" | sort))" "" "they are those that have been"
	awk -F'\t' 'NR == FNR { was[$2] = $1; next }
		{ split($2, w, " "); name = w[1]; seen[name]
		  if (was[$2] != $1) wrong[name] = wrong[name] "\\n" $2 }
		END { for (name in seen) print name "\t" wrong[name] }' "$frozen" "$TMP/now" | sort >"$TMP/names"
	while IFS=$'\t' read -r name wrong; do
		is "$wrong" "" "$name: $3"
	done <"$TMP/names"
}
