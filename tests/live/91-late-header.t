#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A ring whose header is still being written is read when it is whole, and is not taken for damaged.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
need_command xz
mkdir -m 700 "$TMP/rings"
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/ring.events"
ends_with 0 "$O/ebtrace" -q --ocaml-version 5.3 -f ndjson "$TMP/ring.events" | jq -r 'select(.pos != null) | [.pos, .kind, .name] | @tsv' >"$TMP/want"
mkfifo "$TMP/in"
"$O/tests/prog/late_header" "$TMP/ring.events" "$TMP/rings" <"$TMP/in" >"$TMP/pid" &
children+=($!)
exec 7>"$TMP/in"
wait_for test -s "$TMP/pid"
pid=$(<"$TMP/pid")
"$O/ebtrace" --wait --mode ring --ocaml-version 5.3 -f ndjson -o "$TMP/t" -p "$pid" 2>"$TMP/err" 7>&- &
tracer=$!
children+=($tracer)
wait_for rests $tracer
kill -0 $tracer 2>/dev/null
ok $? "a header in parts: it is waited for" || diag "$(cat "$TMP/err")"
kill -USR1 "$pid"
wait_for rests $tracer
exec 7>&-
wait $tracer
is $? 0 "the trace ends when the program does" || diag "$(cat "$TMP/err")"
jq -r 'select(.pos != null) | [.pos, .kind, .name] | @tsv' "$TMP/t" >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "every event of the ring is there, with its name"
is "$(tail -1 "$TMP/t" | jq .damaged)" 0 "and nothing is damaged"
done_testing
