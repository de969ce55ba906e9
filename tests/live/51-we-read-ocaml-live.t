#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A real OCaml 5.3 program, followed by its pid alone; OCaml's own reader of the same ring decides.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root
ocaml_build reader
READER_DIR=$EXE_DIR
READER_IN=$EXE_IN
ocaml_build gcwork

# Large rings: then OCaml's reader finds the whole run in the file that is left.
mkfifo "$TMP/in"
chroot "$ROOT" env OCAMLRUNPARAM=e=20 OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_PRESERVE=1 \
	OCAML_RUNTIME_EVENTS_DIR="${EXE_IN%/*}" "$EXE_IN" 3 25 wait \
	<"$TMP/in" >"$TMP/said" 2>"$TMP/err" &
pid=$!
children+=($pid)
exec 7>"$TMP/in"
wait_for grep -q ready "$TMP/err"

"$O/ebtrace" trace -v --mode ring -p $pid -f ndjson -o "$TMP/out" 2>"$TMP/log" &
tracer=$!
children+=($tracer)
# Whether it attached before or after the work does not matter: the ring holds all of it.
wait_for test -s "$TMP/out" || diag "$(cat "$TMP/log")"
echo go >&7
wait $pid
is $? 0 "the OCaml program ends well while it is traced"
wait $tracer
is $? 0 "ebtrace ends by itself when the program has ended"

need_file "$EXE_DIR/$pid.events"
ocaml_dump "$EXE_DIR/$pid.events" "$TMP/dump" gcwork.text
is "$(grep -c lost "$TMP/dump")" 0 "the ring held the whole run"

jq -e 'select(.kind == "header") | .producer | startswith("ocaml 5.3")' "$TMP/out" >/dev/null
ok $? "the release of OCaml is told from the program"
jq -r 'select(.domain != null and .kind != "lost") | [.domain, .ts, .kind, .name // "",
	(.value // .data // (.values // [] | map(tostring) | join(",")) | tostring)] | @tsv' \
	"$TMP/out" >"$TMP/ours"
for ring in 0 1 2; do
	# The value of ring_stop and of a lifecycle without data is 0 or nothing, as the reader likes.
	for f in dump ours; do
		awk -F'\t' -v OFS='\t' -v r=$ring '$1 == r {
			if ($3 == "lifecycle" && $5 == "0") $5 = ""; print }' "$TMP/$f" >"$TMP/$f.$ring"
	done
	same_file "$TMP/ours.$ring" "$TMP/dump.$ring" \
		"ring $ring: the same events, times, names and values as OCaml's reader sees"
done
awk -F'\t' '$4 ~ /^gcwork/ { print $3, $4 }' "$TMP/ours" | sort | uniq -c |
	awk '{ print $2, $3, $1 }' >"$TMP/got"
same_file "$TMP/got" "$TMP/said" "as many user events of each type as the program says it wrote"
is "$(jq 'select(.kind == "summary") | .lost_events + .lost_words' "$TMP/out")" 0 "nothing is lost"
done_testing
