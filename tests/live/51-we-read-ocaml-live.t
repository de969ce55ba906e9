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
wait_for grep -qs 'reading the ring' "$TMP/log" || diag "$(cat "$TMP/log")"
echo go >&7
wait $pid
is $? 0 "the OCaml program ends well while it is traced"
wait $tracer
is $? 0 "ebtrace ends by itself when the program has ended"

need_file "$EXE_DIR/$pid.events"
ocaml_dump "$EXE_DIR/$pid.events" "$TMP/dump" gcwork.text
is "$(grep -c lost "$TMP/dump")" 0 "the ring held the whole run"

head -1 "$TMP/out" | jq -e '.producer | startswith("ocaml 5.3")' >/dev/null
ok $? "the release of OCaml is detected from the program"
jq -r 'select(.domain != null and .kind != "lost") | [.domain, .ts, .kind, .name // "",
	(.value // .data // (.values // [] | map(tostring) | join(",")) | tostring)] | @tsv' \
	"$TMP/out" >"$TMP/ours"
# Ring by ring: a domain that starts when another has ended gets its number, so that there may be two rings or three.
# The value of ring_stop and of a lifecycle without data is 0 or nothing, as the reader likes.
for f in dump ours; do
	awk -F'\t' -v OFS='\t' '{ if ($3 == "lifecycle" && $5 == "0") $5 = ""; print }' "$TMP/$f" |
		sort -s -n -k 1,1 >"$TMP/$f.rings"
done
same_file "$TMP/ours.rings" "$TMP/dump.rings" \
	"in each ring: the same events, times, names and values as OCaml's reader sees"
awk -F'\t' '$4 ~ /^gcwork/ { print $3, $4 }' "$TMP/ours" | sort | uniq -c |
	awk '{ print $2, $3, $1 }' >"$TMP/got"
same_file "$TMP/got" "$TMP/said" "as many user events of each type as the program printed that it wrote"
is "$(jq 'select(.kind == "summary") | .lost_events + .lost_words' "$TMP/out")" 0 "nothing is lost"

# The same in a mount namespace of its own, with the ring on a tmpfs that only it sees.
mkfifo "$TMP/in2"
: >"$TMP/err"
unshare --mount --propagation private sh -c 'mount -t tmpfs none "$1/mnt" && exec chroot "$1" \
	env OCAMLRUNPARAM=e=16 OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=/mnt \
	"$2" 2 5 wait' sh "$ROOT" "$EXE_IN" <"$TMP/in2" >"$TMP/said" 2>"$TMP/err" &
pid=$!
children+=($pid)
exec 6>"$TMP/in2"
wait_for grep -q ready "$TMP/err"
is "$(ls "$ROOT/mnt")" "" "the ring of the second program cannot be seen from outside"
rm "$TMP/log"
"$O/ebtrace" trace -v --mode ring -p $pid -f ndjson -o "$TMP/out" 2>"$TMP/log" &
tracer=$!
children+=($tracer)
wait_for grep -qs 'reading the ring' "$TMP/log"
echo go >&6
wait $pid
wait $tracer
is $? 0 "a program in another mount namespace is followed by its pid"
jq -r 'select(.domain != null and .name != null and (.name | startswith("gcwork"))) | [.kind, .name] | @tsv' "$TMP/out" |
	sort | uniq -c | awk '{ print $2, $3, $1 }' >"$TMP/got"
same_file "$TMP/got" "$TMP/said" "and all its user events arrive"
done_testing
