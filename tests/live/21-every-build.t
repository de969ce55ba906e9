#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# However a program is linked with the probe library, the kernel must find the semaphores of its
# markers, and the program must read the same ones: PIE, non-PIE, static, static-PIE, shared.
. tests/lib.sh
need_root
lib=$(realpath "$O")
flags="-O2 -D_GNU_SOURCE -Iinclude"

build() { # name, options
	local name=$1
	shift
	# shellcheck disable=SC2086
	gcc $flags tests/prog/loop.c "$@" -o "$TMP/$name" 2>"$TMP/log"
	ok $? "$name: compiles" || { diag "$(head -5 "$TMP/log")"; return 1; }
}

# The marker `begin`'s semaphore lies in a writable section with contents.
check_gate() { # name, ELF file
	local at
	at=$(readelf -nW "$2" | awk '/Name: begin$/ { hit = 1 } hit && /Semaphore:/ { print $NF; exit }')
	readelf -SW "$2" | sed 's/^ *\[ *[0-9]*\] *//' |
		awk -v at="$at" 'function hex(s,  i, n) { n = 0; s = tolower(s); sub(/^0x/, "", s)
				for (i = 1; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
				return n }
			$2 == "PROGBITS" && $7 ~ /W/ && hex(at) >= hex($3) && hex(at) < hex($3) + hex($5) { found = 1 }
			END { exit !found }'
	ok $? "$1: the semaphores are in a writable section with contents"
}

check_trace() { # name
	local pid
	"$TMP/$1" 30 >/dev/null &
	pid=$!
	children+=("$pid")
	timeout 300 "$O/ebtrace" -q --mode stream -f ndjson -p "$pid" >"$TMP/$1.json" 2>"$TMP/$1.err" &
	local tracer=$!
	wait_for grep -q '"begin"' "$TMP/$1.json"
	kill "$pid"
	end_well "$tracer"
	jq -es --argjson pid "$pid" '[.[] | select(.kind == "begin")] |
		length > 0 and all(.[]; .tid == $pid and .name == "minor")' "$TMP/$1.json" >/dev/null
	ok $? "$1: its events arrive, with their thread" || diag "$(tail -3 "$TMP/$1.err")"
}

archive=$lib/libebtrace-probes.a
build pie -fPIE -pie "$archive" -pthread && check_gate pie "$TMP/pie" && check_trace pie
build non-pie -fno-pie -no-pie "$archive" -pthread && check_gate non-pie "$TMP/non-pie" && check_trace non-pie
build static -fno-pie -static "$archive" -pthread && check_gate static "$TMP/static" && check_trace static
build static-pie -fPIE -static-pie "$archive" -pthread && check_gate static-pie "$TMP/static-pie" &&
	check_trace static-pie
build shared -fno-pie -no-pie "$lib/libebtrace-probes.so" -Wl,-rpath,"$lib" -pthread &&
	check_gate shared "$lib/libebtrace-probes.so" && check_trace shared
done_testing
