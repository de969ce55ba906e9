#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Stacks of events of OCaml 5 native code that was not prepared: where it collects, as the runtime itself
# has it, in functions that were inlined, in fibers and in other domains, also without symbols.
. tests/lib.sh
need_command jq
ocaml_root

OCAML_LINK=-g ocaml_build calls

# run NAME EXE ARGS...: the program in the root, with ebtrace ARGS; its lines in NAME.printed.
run() {
	local name=$1 exe=$2
	shift 2
	{ echo; sleep 1; } | timeout 60 "$O/ebtrace" -q -o "$TMP/$name.ndjson" "$@" -- chroot "$ROOT" "$exe" >"$TMP/$name.printed" 2>"$TMP/err"
}
# collections NAME: the stacks of explicit collections, of the innermost frame the line alone.
collections() {
	jq -r 'select(.kind == "begin" and .name == "explicit_gc_full_major") | .stack // [] |
		map(select(startswith("[") | not)) | .[-1] |= sub("(?<l>:[0-9]+):.*"; "\(.l)") | join(" ")' "$TMP/$1.ndjson"
}

run all "$EXE_IN" --stack
is $? 0 "a program is traced with stacks" || diag "$(cat "$TMP/err")"
sed 's/:[0-9]*-[0-9]*$//' "$TMP/all.printed" >"$TMP/wanted"
is "$(wc -l <"$TMP/wanted")" 5 "it collects at five places"
collections all >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "the begin of each collection has the stack that the program has printed"
is "$(jq -r 'select(.stack) | .stack | join(" ")' "$TMP/all.ndjson" | grep -c -e ' caml_' -e '\$[0-9]')" 0 \
	"no stack has functions that the compiler has made, or addresses"

run some "$EXE_IN" --stack='explicit_*'
is "$(jq -r 'select(.stack) | .name' "$TMP/some.ndjson" | sort -u)" explicit_gc_full_major \
	"--stack=GLOB: by the numbers of the release, events of this name alone"
collections some >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "with the same stacks"

strip "$EXE" -o "$EXE_DIR/stripped"
run stripped "${EXE_IN%/*}/stripped" --stack='explicit_*'
collections stripped >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "a program without symbols has them, too" || diag "$(cat "$TMP/err")"

OCAML_LINK=-g ocaml_build sites tests/ocaml/sites_stubs.c
timeout 120 "$O/ebtrace" -q --stack=minor -e minor -o "$TMP/sites.ndjson" -- chroot "$ROOT" "$EXE_IN" stacks 0 >"$TMP/sites.printed" 2>"$TMP/err"
jq -r 'select(.kind == "begin") | [.stack // [] | .[] | select(startswith("[") | not)] |
	select(.[-1] // "" | startswith("Sites.allocate")) | .[:-1] | join(" ")' "$TMP/sites.ndjson" | sort -u >"$TMP/got"
sort -u "$TMP/sites.printed" >"$TMP/wanted"
same_file "$TMP/got" "$TMP/wanted" "minor collections by allocations, from C, in callbacks from C and in effect handlers"
is "$(jq -r '.stack // [] | select(.[0] == "[stack not whole]") | .[1]' "$TMP/sites.ndjson" | cut -d: -f1 | sort -u)" \
	"Sites.from_c.(fun)@sites.ml" "what the runtime itself cuts is marked"

done_testing
