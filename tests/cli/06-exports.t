#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What programs are built against: names of libraries, exported symbols and public headers are those of tests/freeze/exports.
# A symbol may come; none goes or changes, and a header's code is as it has been, whatever its comments say.
. tests/lib.sh
need_command nm
exports() {
	local library header
	for library in libebtrace libebtrace-probes libebtrace-preload; do
		echo "$library.so $(readelf -d "${O%/asan}/$library.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/soname \1/p')"
		nm -D --defined-only "${O%/asan}/$library.so" | awk -v l="$library.so" '{ print l, $2, $3 }' | LC_ALL=C sort
	done
	for header in include/ebtrace/*; do
		echo "$header $(gcc -fpreprocessed -dD -E -P -x c "$header" 2>/dev/null | tr -s ' \t\n' ' ' | sha256sum | cut -c1-64)"
	done
}
exports >"$TMP/now"
[ -z "${GOLDEN:-}" ] || cp "$TMP/now" tests/freeze/exports
same_file "$TMP/now" tests/freeze/exports "libraries and headers are those on record"
done_testing
