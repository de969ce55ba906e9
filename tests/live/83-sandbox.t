#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program enters a sandbox that kills it for any call but write and exit while it is traced: it
# ends as it does without us, all its events arrive, and its ring file is removed by somebody else.
. tests/lib.sh
need_root
need_command jq
program=$O/tests/prog/sandboxed
need_file "$program"
mkdir -m 700 "$TMP/rings"
export EBTRACE_DIR=$TMP/rings
unset EBTRACE_PRESERVE OCAML_RUNTIME_EVENTS_PRESERVE

# start NAME: a program that waits for its lines; sets pid and in
start() {
	mkfifo "$TMP/$1.in"
	"$program" 5000 <"$TMP/$1.in" >"$TMP/$1.out" 2>"$TMP/$1.err" &
	pid=$!
	children+=($pid)
	exec {in}>"$TMP/$1.in"
	wait_for grep -q ready "$TMP/$1.err"
}
# attach NAME OPTIONS...
attach() {
	local name=$1
	shift
	"$O/ebtrace" -v -f ndjson -o "$TMP/$name.ndjson" -p $pid "$@" 2>"$TMP/$name.log" {in}>&- &
	tracer=$!
	children+=($tracer)
	wait_for grep -qs 'attached to [1-9]' "$TMP/$name.log" || diag "$(cat "$TMP/$name.log")"
}
all_there() { # NAME
	is "$(jq -s 'map(select(.kind == "begin" or .kind == "end")) | length' "$TMP/$1.ndjson")" 20000 \
		"$1: all its events arrive" || diag "$(tail -3 "$TMP/$1.log")"
	is "$(cat "$TMP/$1.out")" 10000 "$1: it has printed all of its output"
	is "$(cat "$TMP/$1.err")" ready "$1: and nothing else"
}

start attached
attach attached
printf '\n\n' >&$in
wait $pid
is $? 42 "attached: the program ends with its own status"
wait $tracer
is $? 0 "attached: so does the tracer" || diag "$(cat "$TMP/attached.log")"
all_there attached
is "$(ls "$TMP/rings")" "" "attached: the tracer, which requested the ring, removes its file"
exec {in}>&-

printf "\n\n" | "$O/ebtrace" -q -f ndjson -o "$TMP/started.ndjson" -- "$program" 5000 \
	>"$TMP/started.out" 2>"$TMP/started.err"
is $? 42 "started: the program ends with its own status"
all_there started
is "$(ls "$TMP/rings")" "" "started: the tracer removes the file"

# The tracer is gone before the program's end.
start alone
attach alone
echo >&$in
wait_for test -e "$TMP/rings/$pid.events"
kill -INT $tracer
end_well $tracer
echo >&$in
wait $pid
is $? 42 "alone: the program ends with its own status when its tracer is gone"
is "$(ls "$TMP/rings")" "$pid.events" "alone: nobody has removed its file yet"
ends_with 0 "$O/ebtrace" list --prune >"$TMP/list" 2>&1
is "$(ls "$TMP/rings")" "" "alone: ebtrace list --prune does" || diag "$(cat "$TMP/list")"
done_testing
