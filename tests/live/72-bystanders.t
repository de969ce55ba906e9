#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A process that runs the same file as a traced one is none of our business: no event of it is shown, it
# gets no ring, and its semaphores stay at 0.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root
ocaml_build_here gcstat

"$EXE" 1 12000 >"$TMP/bystander" &
bystander=$!
"$O/ebtrace" -f ndjson -o "$TMP/t" -- sh -c "for i in 1 2 3; do env -i $EXE 1 200; done" >"$TMP/out" 2>"$TMP/err"
is $? 0 "three processes run a file that a bystander runs, too"
kill -0 $bystander 2>/dev/null
ok $? "all the while"
is "$(jq -s "map(select(.pid == $bystander)) | length" "$TMP/t")" 0 "nothing of the bystander is shown"
is "$(jq -r 'select(.kind == "begin" and .name == "minor").pid' "$TMP/t" | sort -u | wc -l)" 3 \
	"the three are seen" || diag "$(cat "$TMP/err")"
is "$(grep -c '\.events' /proc/$bystander/maps)" 0 "the bystander has no ring"
wait $bystander
is "$? $(grep -c ^minor "$TMP/bystander")" "0 2" "and runs to its end"

mkfifo "$TMP/in"
"$O/tests/prog/markers_x86_64" <"$TMP/in" >"$TMP/said" &
bystander=$!
children+=($bystander)
exec 7>"$TMP/in"
wait_for grep -q . "$TMP/said"
(sleep 1; echo q) | "$O/ebtrace" -f ndjson -o "$TMP/t" -- "$O/tests/prog/markers_x86_64" >"$TMP/out" 2>"$TMP/err" 7>&- &
tracer=$!
wait_for grep -qs . "$TMP/out"
echo s >&7
wait_for eval '[ $(wc -l <"$TMP/said") -ge 2 ]'
is "$(sed -n '2s/ .*//p' "$TMP/said")" 0 "semaphores of a bystander with the same markers stay at 0" ||
	diag "$(cat "$TMP/said")"
echo q >&7
exec 7>&-
wait $tracer
done_testing
