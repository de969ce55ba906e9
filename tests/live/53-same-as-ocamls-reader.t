#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The same run of a real OCaml 5.3 program as OCaml's own reader sees it and as ebtrace sees it:
# equal in each ring, event for event, and loss for loss where a ring has wrapped.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root
ocaml_build reader
READER_DIR=$EXE_DIR
READER_IN=$EXE_IN
ocaml_build_here gcwork
gcwork=$EXE
ocaml_build_here acts
names=(gcwork.text acts.bytes acts.été)

# Ours in the columns of reader.ml; the value 0 of a lifecycle is none.
ours() {
	jq -r 'select(.domain != null) | if .kind == "lost" then [.domain, 0, "lost", "", .words]
		else [.domain, .ts, .kind, .name // "", (.value // .data // (.values // [] | map(tostring) |
			join(",")) | tostring)] end | @tsv' "$1" | plain
}
plain() { awk -F'\t' -v OFS='\t' '$3 == "lifecycle" && $5 == "0" { $5 = "" } { print }'; }
rings() { cut -f1 "$1" | sort -un; }
# differ NAME OURS DUMP: ring by ring
differ() {
	local ring
	diag "$1: $(wc -l <"$3") events"
	is "$(rings "$2" | xargs)" "$(rings "$3" | xargs)" "$1: the same rings"
	for ring in $(rings "$3"); do
		awk -F'\t' -v r="$ring" '$1 == r' "$2" >"$TMP/got"
		awk -F'\t' -v r="$ring" '$1 == r' "$3" >"$TMP/want"
		same_file "$TMP/got" "$TMP/want" "$1: ring $ring is the same, event for event"
	done
}
total_lost() { awk -F'\t' '$3 == "lost" { n += $5 } END { print n + 0 }' "$1"; }

# A run that was followed live, and what is left of it; each event once, whoever reads. OCaml's
# rings do not tell that a writer stands between an event's time and its words: where the CPU is
# taken from it just there for longer than ebtrace waits, the event comes late, is counted so, and
# has the time at which it came. Then there is nothing to compare, and another try.
live() { # NAME ENV... -- PROGRAM...
	local name=$1 env=() try
	shift
	while [ "$1" != -- ]; do env+=("$1"); shift; done
	for try in 1 2 3; do
		rm -rf "$TMP/rings.$name"
		mkdir "$TMP/rings.$name"
		env OCAML_RUNTIME_EVENTS_DIR="$TMP/rings.$name" OCAML_RUNTIME_EVENTS_PRESERVE=1 "${env[@]}" \
			"$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/$name.live" "$@" >/dev/null
		is $? 0 "$name: it runs"
		[ "$(tail -1 "$TMP/$name.live" | jq .late)" = 0 ] && break
		diag "try $try: $(tail -1 "$TMP/$name.live")"
	done
	ring=$(ls "$TMP/rings.$name"/*.events)
	ocaml_dump "$ring" "$TMP/dump" "${names[@]}"
	plain <"$TMP/dump" >"$TMP/$name.dump"
}
live whole OCAMLRUNPARAM=e=20 -- "$gcwork" 4 60
is "$(total_lost "$TMP/whole.dump")" 0 "whole: the rings hold the whole run"
ours "$TMP/whole.live" >"$TMP/ours"
differ "whole, live" "$TMP/ours" "$TMP/whole.dump"
ends_with 0 "$O/ebtrace" -q -f ndjson --ocaml-version 5.3 "$ring" >"$TMP/out"
ours "$TMP/out" >"$TMP/ours"
differ "whole, the file" "$TMP/ours" "$TMP/whole.dump"

live users OCAMLRUNPARAM=e=18 -- "$EXE" users domains 4 3 users minor 5
ours "$TMP/users.live" >"$TMP/ours"
differ "user events, live" "$TMP/ours" "$TMP/users.dump"

# Rings that wrapped: what is left of them, and the words that are not, are the same for both.
for size in 9 10 12; do
	live wrapped$size OCAMLRUNPARAM=e=$size -- "$gcwork" 3 120
	[ "$(total_lost "$TMP/wrapped$size.dump")" -gt 0 ]
	ok $? "wrapped, e=$size: the rings did wrap"
	ends_with 0 "$O/ebtrace" -q -f ndjson --ocaml-version 5.3 "$ring" >"$TMP/out"
	ours "$TMP/out" >"$TMP/ours"
	differ "wrapped, e=$size" "$TMP/ours" "$TMP/wrapped$size.dump"
	# What was read live is what the dump has, and perhaps more before it.
	ours "$TMP/wrapped$size.live" >"$TMP/ours"
	for r in $(rings "$TMP/wrapped$size.dump"); do
		awk -F'\t' -v r="$r" '$1 == r && $3 != "lost"' "$TMP/wrapped$size.dump" >"$TMP/want"
		awk -F'\t' -v r="$r" '$1 == r && $3 != "lost"' "$TMP/ours" | tail -n "$(wc -l <"$TMP/want")" >"$TMP/got"
		same_file "$TMP/got" "$TMP/want" "wrapped, e=$size, live: ring $r ends with the same events as in OCaml's reader"
	done
done

# Both at once on a program that waits, through two cursors on one ring.
mkfifo "$TMP/in"
mkdir "$TMP/rings.both"
OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=$TMP/rings.both "$EXE" users minor 9 domains 3 2 say ready \
	wait <"$TMP/in" >/dev/null 2>"$TMP/err" &
program=$!
children+=($program)
exec 7>"$TMP/in"
wait_for grep -q ready "$TMP/err"
ocaml_dump "$TMP/rings.both/$program.events" "$TMP/dump" "${names[@]}"
plain <"$TMP/dump" >"$TMP/want.all"
"$O/ebtrace" -q --snapshot -p $program -f ndjson >"$TMP/out"
is $? 0 "a snapshot of a running program"
ours "$TMP/out" >"$TMP/ours"
differ "snapshot" "$TMP/ours" "$TMP/want.all"
ends_with 0 "$O/ebtrace" info --json -p $program >"$TMP/info"
is "$(jq .events "$TMP/info")" "$(grep -vc lost "$TMP/want.all")" "info counts as many events in the running program"
exec 7>&-
wait $program
done_testing
