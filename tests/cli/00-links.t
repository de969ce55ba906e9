#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The order of the house as the linker sees it: each layer links against those below it alone, and no
# two files need each other in a circle. A library that programs link has all of what it needs.
. tests/lib.sh
. tests/layers.sh

tests/circles.sh >"$TMP/needs"
ok $(($(wc -l <"$TMP/needs") < 400)) "includes and calls of the whole tree are seen"
tsort "$TMP/needs" >"$TMP/order" 2>"$TMP/circles"
ok $? "no two files include or call each other in a circle" || diag "$(<"$TMP/circles")"
grep '^usdt-probes/' "$TMP/needs" | tsort >"$TMP/order" 2>&1
ok $? "and none at all in the library that runs in other people's programs"

san=()
nm "$O/user/base/buf.o" | grep -q ' __asan_' && san=(-fsanitize=address,undefined)
# links LIBRARIES ARCHIVE LOWER...: whether all of the archive needs nothing but those.
links() {
	local libraries=$1
	shift
	# shellcheck disable=SC2086
	gcc -shared -Wl,--no-undefined "${san[@]}" -Wl,--whole-archive "$1" -Wl,--no-whole-archive \
		"${@:2}" $libraries -o "$TMP/layer.so" 2>"$TMP/log"
}
archive() { # FILE OBJECT...
	rm -f "$1"
	ar rcs "$@"
}
# Of files that are named for a processor, those of all others are not built.
others=_aarch64; [ "$(uname -m)" = aarch64 ] && others=_x86_64
# What enters through this folder, from which all above it have it.
declare -A libraries=([base]="-lz -lzstd -liberty -lm -pthread" [elf]="-ldw -lelf" [source]="-lbpf" [cmd]="-lncursesw -ltinfo")

for layer in $layers; do
	# shellcheck disable=SC2046
	archive "$TMP/$layer.a" $(find user/"$layer" -name '*.c' | grep -v "$others" | sed "s|^|$O/|; s/c\$/o/")
	archives=() needed="${libraries[$layer]:-}"
	for l in ${below[$layer]}; do
		archives+=("$TMP/$l.a") needed+=" ${libraries[$l]:-}"
	done
	links "$needed" "$TMP/$layer.a" "${archives[@]}"
	ok $? "$layer links against: ${below[$layer]:-libc}" ||
		diag "$(grep -o 'in function.*\|undefined reference.*' "$TMP/log" | sort -u | head -20)"
done
for library in libebtrace libebtrace-probes libebtrace-preload; do
	is "$(nm -D --undefined-only "${O%/asan}/$library.so" | grep -vE '@| w ')" "" \
		"$library.so needs nothing but libc"
done
# The formats that both sides write, and what the preloaded library links, too.
lower=("$O"/usdt-probes/codec/{memtrace,pagetrace}/write.o)
archive "$TMP/shared.a" "$O"/usdt-probes/shared/*.o
links "-pthread" "$TMP/shared.a" "${lower[@]}"
ok $? "usdt-probes: shared links against the formats" || diag "$(<"$TMP/log")"
lower=("$TMP/shared.a" "${lower[@]}")
for layer in $probe_layers; do
	objects=()
	for file in ${probe_files[$layer]}; do
		[ -f "usdt-probes/$file.c" ] && objects+=("$O/usdt-probes/$file.o")
	done
	archive "$TMP/$layer.a" "${objects[@]}"
	links "-pthread" "$TMP/$layer.a" "${lower[@]}"
	ok $? "usdt-probes: $layer links against: ${lower[*]##*/}" || diag "$(<"$TMP/log")"
	lower=("$TMP/$layer.a" "${lower[@]}")
done
done_testing
