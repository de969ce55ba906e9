#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Lines of C end at 100 columns, comments too, tabs of 8.
. tests/lib.sh
git ls-files --cached --others --exclude-standard >"$TMP/files" 2>"$TMP/err" || find . -path "./${O%%/*}" -prune -o -type f -printf '%P\n' >"$TMP/files"
grep -E '^(user|usdt-probes|bpf|include|tests|tools)/.*\.([ch]|def)$' "$TMP/files" >"$TMP/c"
[ "$(wc -l <"$TMP/c")" -gt 700 ]
ok $? "the files in C are found"
xargs perl -CSD -ne 'chomp; 1 while s/\t/" " x (8 - length($`) % 8)/e; print "$ARGV:$.\n" if length > 100; close ARGV if eof' \
	<"$TMP/c" >"$TMP/long"
is "$(cat "$TMP/long")" "" "no line is longer"
done_testing
