#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# usage: tests/ran.sh DIR [write]. Compares the TAP that `make check` has left in DIR, a folder a part, with tests/ran: each
# line a part, a test and its assertions, separated by tabs. It fails if a test on record did not run, if one that ran is
# not on record, or, with CI set, if there are fewer than 98 of 100 assertions: some depend on the machine. A test that says why it
# skips has run. `write` puts on record what is there.
set -u
cd "$(dirname "$0")/.." || exit 1
taps=$1
# A part has no slash in its title; the name of a unit test identifies it, whatever folder it is in.
ran() {
	find "$taps" -mindepth 2 -type f -printf '%P\n' | while read -r file; do
		name=${file#*/}
		case $name in
		*tests/unit/*) name=tests/unit/${name##*/} ;;
		*tests/*) name=tests/${name##*tests/} ;;
		esac
		printf '%s\t%s\t%s\n' "${file%%/*}" "$name" "$(grep -cE '^(not )?ok' "$taps/$file")"
	done | LC_ALL=C sort
}
if [ "${2:-}" = write ]; then
	ran >tests/ran
	exit
fi
ran | awk -F'\t' -v machine="$(uname -m)" '
	$2 ~ /_(x86_64|aarch64)$/ && $2 !~ machine "$" { next } # another processor has others
	FILENAME != "-" { wanted[$1 ": " $2] = $3; least += $3; next }
	{ name = $1 ": " $2; seen[name]; tests++; assertions += $3 }
	!(name in wanted) { print name ": is not on record; TAPS=DIR make check, then: tests/ran.sh DIR write"; bad = 1 }
	END {
		for (name in wanted)
			if (!(name in seen)) { print name ": did not run"; bad = 1 }
		print tests " tests, " assertions " assertions, " least " on record"
		exit bad || (ENVIRON["CI"] != "" && assertions < 0.98 * least)
	}' tests/ran -
