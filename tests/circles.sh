#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Which file of the tree needs which: prints "A B" for each module A (a .c with its .h) that includes
# or calls module B. What calls what is read from the objects built in $O: a symbol that one object
# leaves undefined and another defines. NAME_x86_64 is of the module NAME. What the preloaded library
# defines in place of libc's is no module's.
set -u
cd "$(dirname "$0")/.." || exit 1
O=${O:-build}
folders='include/ebtrace bpf usdt-probes user'
sources() { find $folders -name '*.[ch]' | sort; }

includes() {
	# shellcheck disable=SC2046
	awk 'match($0, /^#include [<"][^>"]+/) {
		name = substr($0, RSTART + 10, RLENGTH - 10)
		folder = FILENAME; sub(/[^\/]*$/, "", folder)
		own = $2 ~ /^"/ ? folder name : ""
		sub(/[^\/]+\/\.\.\//, "", own)
		print FILENAME, own, "include/" name, "user/" name, name
	}' $(sources) | while read -r file candidates; do
		for c in $candidates; do
			[ -f "$c" ] && { echo "${file%.[ch]} ${c%.[ch]}"; break; }
		done
	done
}
calls() {
	local objects=()
	for s in $(find usdt-probes user -name '*.c'); do
		[ -f "$O/${s%.c}.o" ] && objects+=("$O/${s%.c}.o")
	done
	nm -A --format=posix "${objects[@]}" | sed "s|^$O/||" | awk '{
		module = $1; sub(/\.o:$/, "", module)
		if ($3 == "U") wants[module " " $2]
		else if ($3 ~ /[A-Z]/ && module !~ /\/interpose/) owner[$2] = module
	} END {
		for (want in wants) {
			split(want, w, " ")
			if (w[2] in owner) print w[1], owner[w[2]]
		}
	}'
}
{ includes; calls; } | sed -E 's/_(x86_64|aarch64)( |$)/\2/g' | awk '$1 != $2' | sort -u
