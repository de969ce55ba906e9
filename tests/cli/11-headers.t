#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every public header stands alone, for whatever compiler the runtime that includes it uses.
. tests/lib.sh
need_command clang
need_command g++
compiles() { # header, language, compiler with its options
	local header=$1 language=$2
	shift 2
	echo "#include <ebtrace/$header>" |
		"$@" -x "$language" -Wall -Wextra -pedantic -Werror -Iinclude -fsyntax-only - 2>"$TMP/log"
	ok $? "$header compiles alone: $*" || diag "$(head -5 "$TMP/log")"
}
for path in include/ebtrace/*.h; do
	header=${path##*/}
	compiles "$header" c gcc -std=gnu11
	compiles "$header" c clang -std=gnu11
	compiles "$header" c++ g++ -std=c++17
done
done_testing
