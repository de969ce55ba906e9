#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The share of samples whose stack is known down to the start of the program, in programs of OCaml that allocate,
# that recurse deeply, and that compare strings in C. PROGRAMS=1: also in coqc, in ocamlformat and in a server that uses Lwt.
. tests/lib.sh
need_root
need_command jq
ocaml_root
ebt=$O/ebtrace
# An emulated CPU is so slow that many samples are of a program that begins, whose stack is not in memory yet.
least=$((SLOWNESS > 1 ? 90 : 95))

# whole NAME COMMAND...: at least $least % of its samples have whole stacks; the others are counted by their reason.
whole() {
	local name=$1
	shift
	timeout 600 "$ebt" profile -F 999 --json -o "$TMP/run.json" -- "$@" >"$TMP/said" 2>"$TMP/err"
	is $? 0 "$name is profiled" || diag "$(cat "$TMP/err")"
	diag "$name: $(jq -c '[.samples, .stacks]' "$TMP/run.json")"
	ok "$(jq "if .samples > 300 and .stacks.whole >= $least / 100 * .samples then 0 else 1 end" "$TMP/run.json")" \
		"nearly all of its samples have a stack down to its start"
	is "$(jq '([.stacks[]] | add) == .samples' "$TMP/run.json")" true "all others have a reason"
}

OCAML_LINK=-g ocaml_build_here heavy
whole "a program that allocates" "$EXE" allocates 1
whole "one whose stack has 700 functions" "$EXE" deep 1
whole "one that compares strings" "$EXE" strings 1

if [ -n "${PROGRAMS:-}" ]; then
	programs=$(tests/root.sh ocaml-programs) || skip_all "no coqc, no ocamlformat and no Lwt"
	dir=$(mktemp -d "$programs/tmp/ebtrace.XXXXXX")
	at_end "rm -rf '$dir'"
	cp tests/ocaml/{proofs.v,lwt_echo.ml} "$dir"
	for i in {1..3}; do cat tests/ocaml/*.ml; done >"$dir/large.ml"
	chroot "$programs" sh -c "cd /tmp/${dir##*/} && ocamlfind ocamlopt -g -package lwt.unix -linkpkg lwt_echo.ml -o lwt_echo" \
		>"$TMP/build.log" 2>&1
	ok $? "a server that uses Lwt is compiled" || diag "$(cat "$TMP/build.log")"
	# Rings are where ebtrace wants them.
	inside() {
		unshare -m sh -c "mount --bind /dev/shm '$programs/dev/shm' && exec chroot '$programs' sh -c 'cd /tmp/${dir##*/} && exec $1'"
	}
	export -f inside
	export programs dir
	whole coqc bash -c 'inside "coqc proofs.v"'
	whole ocamlformat bash -c 'inside "ocamlformat --enable-outside-detected-project -o formatted.ml large.ml"'
	is "$(wc -l <"$dir/formatted.ml" | awk '{ print ($1 > 1000) }')" 1 "it has formatted a large file"
	whole "a server that uses Lwt" bash -c 'inside "./lwt_echo 20 8"'
fi
done_testing
