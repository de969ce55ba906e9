#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How a traced OCaml program and its tracer may end, in either order, and what is left then: the
# program's own status, all its events, its at_exit, and no file of ours.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root
ulimit -c 0
ocaml_build_here acts
export XDG_RUNTIME_DIR=$TMP/runtime
mkdir "$XDG_RUNTIME_DIR"

compare() { # NAME TRACE TRUTH
	user_events "$2" >"$TMP/got"
	sort -s -n -k1,1 "$3" >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "$1: all its user events"
	is "$(tail -1 "$2" | jq '.lost_events + .lost_words + .damaged')" 0 "$1: nothing is lost or damaged"
}
nothing_left() { is "$(ls -A "$XDG_RUNTIME_DIR")" "" "$1: no file and no directory is left"; }
# begin OPTIONS... -- ACTS...: ebtrace in the background, the program waits for `exec 7>&-`
begin() {
	local opts=()
	while [ "$1" != -- ]; do opts+=("$1"); shift; done
	shift
	rm -f "$TMP"/{in,err,t,truth}
	mkfifo "$TMP/in"
	: >"$TMP/err"
	"$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" "${opts[@]}" -- "$EXE" "$@" \
		<"$TMP/in" >"$TMP/truth" 2>"$TMP/err" &
	tracer=$!
	children+=($tracer)
	exec 7>"$TMP/in"
	wait_for grep -qs ready "$TMP/err" || diag "$(cat "$TMP/err")"
}

# The program ends.
while read -r name status acts; do
	# shellcheck disable=SC2086
	"$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- "$EXE" $acts >"$TMP/truth" 2>"$TMP/err"
	is $? "$status" "$name: its status is returned"
	compare "$name" "$TMP/t" "$TMP/truth"
	is "$(jq -rs '[.[] | select(.pos != null)][0] | "\(.name) \(.pos)"' "$TMP/t")" "ring_start 0" "$name: from its first event on"
	nothing_left "$name"
done <<-END
	end 0 users ints 10
	status 3 ints 100 exit 3
	exception 2 users ints 10 raise
	SIGKILL 137 ints 3000 minor 3 users kill 9
	SIGSEGV 139 ints 100 kill 11
END

# A signal to the tracer reaches the program, whose at_exit still runs and is seen.
for signal in TERM INT HUP; do
	begin -- signals ints 20 say ready wait wait
	kill -$signal $tracer
	wait $tracer
	is $? 5 "SIG$signal to ebtrace: the program ends as it likes, and its status is returned"
	exec 7>&-
	is "$(grep -c -e "got SIG$signal" -e goodbye "$TMP/err")" 2 "SIG$signal: the program's handler and its at_exit ran"
	compare "SIG$signal" "$TMP/t" "$TMP/truth"
	is "$(user_events "$TMP/t" | tail -1 | cut -f3)" acts.goodbye "SIG$signal: what at_exit writes is the last that is seen"
	nothing_left "SIG$signal"
done
# Without a handler the signal ends it.
begin -- ints 20 say ready wait
kill -TERM $tracer
wait $tracer
is $? 143 "SIGTERM, and no handler: 128 + 15"
exec 7>&-
compare "SIGTERM, and no handler" "$TMP/t" "$TMP/truth"
nothing_left "SIGTERM, and no handler"
# The tracer's time is over before the program: the program goes on, unharmed.
begin -d 0.1s -- ints 20 say ready wait sleep 0.5 ints 20 users exit 4
exec 7>&-
wait $tracer
is $? 4 "-d: the program goes on to its own end, and its status is returned"
is "$(wc -l <"$TMP/truth")" "$((20 + 20 + 25))" "-d: and did all that it was to do"
nothing_left "-d"

# A running program: the tracer ends first, by each way, then another takes over.
rm -f "$TMP"/{in,err,truth}
mkfifo "$TMP/in"
mkdir "$TMP/rings"
: >"$TMP/err"
OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=$TMP/rings "$EXE" ints 10 say ready wait ints 20 say second \
	wait users say third wait ints 30 <"$TMP/in" >"$TMP/truth" 2>"$TMP/err" &
program=$!
children+=($program)
exec 7>"$TMP/in"
wait_for grep -qs ready "$TMP/err"
step() { # NEXT: the program goes on to that word
	echo >&7
	wait_for grep -qs "$1" "$TMP/err"
}
follow() { # OPTIONS...
	rm -f "$TMP/t" "$TMP/log"
	"$O/ebtrace" -v --mode ring -f ndjson -o "$TMP/t" -p $program "$@" 2>"$TMP/log" 7>&- &
	tracer=$!
	children+=($tracer)
	wait_for grep -qs 'reading the ring' "$TMP/log"
}
alike() { # NAME: the trace is what the program has said so far, and the program still runs
	compare "$1" "$TMP/t" "$TMP/truth"
	kill -0 $program
	ok $? "$1: the program goes on"
	[ -s "$TMP/rings/$program.events" ]
	ok $? "$1: and keeps its ring"
}
follow
kill -INT $tracer
wait $tracer
is $? 0 "Ctrl-C ends a trace of a running program well"
alike "Ctrl-C"
follow -d 0.2s
step second
wait $tracer
is $? 0 "-d ends a trace of a running program well"
follow
kill -TERM $tracer
end_well $tracer
alike "SIGTERM"
follow
kill -KILL $tracer
wait $tracer 2>/dev/null
step third
"$O/ebtrace" -q --snapshot -f ndjson -p $program -o "$TMP/t"
is $? 0 "a tracer that is killed leaves a ring that can be read"
alike "SIGKILL"
# Two at a time.
follow
first=$tracer
"$O/ebtrace" -v --mode ring -f ndjson -o "$TMP/t2" -p $program 2>"$TMP/log2" 7>&- &
second=$!
children+=($second)
wait_for grep -qs 'reading the ring' "$TMP/log2"
exec 7>&-
wait $program
is $? 0 "the program ends well after all of them"
end_well $first $second
compare "the first of two tracers" "$TMP/t" "$TMP/truth"
compare "the second of two tracers" "$TMP/t2" "$TMP/truth"
is "$(ls -A "$TMP/rings")" "" "OCaml has removed its ring by itself"

# What the user has set stays as it is, and where the user said the rings are: none is left there.
mkdir "$TMP/own" "$TMP/own/below"
ends_with 0 env OCAMLRUNPARAM=e=14,s=4k OCAML_RUNTIME_EVENTS_DIR="$TMP/own" "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- \
	"$EXE" getenv OCAMLRUNPARAM getenv OCAML_RUNTIME_EVENTS_DIR getenv OCAML_RUNTIME_EVENTS_START users \
	>"$TMP/truth" 2>"$TMP/err"
is "$(xargs <"$TMP/err")" "OCAMLRUNPARAM=e=14,s=4k OCAML_RUNTIME_EVENTS_DIR=$TMP/own OCAML_RUNTIME_EVENTS_START=1" \
	"the program's environment is extended, not overwritten"
compare "the user's own directory" "$TMP/t" "$TMP/truth"
is "$(ls -A "$TMP/own")" below "the user's own directory is left as it was"
OCAML_RUNTIME_EVENTS_PRESERVE=1 OCAML_RUNTIME_EVENTS_DIR="$TMP/own" ends_with 0 "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- \
	"$EXE" getenv OCAML_RUNTIME_EVENTS_PRESERVE ints 3 >"$TMP/truth" 2>"$TMP/err"
is "$(cat "$TMP/err")" "OCAML_RUNTIME_EVENTS_PRESERVE=1" "the user's wish to keep the rings is passed on"
is "$(ls "$TMP/own" | grep -c events)" 1 "and heard"
rm -f "$TMP"/own/*.events
ebtrace=$(realpath "$O/ebtrace")
# A relative directory, and a program that goes elsewhere, where its child's ring then is.
mkdir "$TMP/own/below/own"
rm -f "$TMP"/{in,log}
mkfifo "$TMP/in"
(cd "$TMP" && OCAML_RUNTIME_EVENTS_DIR=own exec "$ebtrace" -v --mode ring -f ndjson -o "$TMP/t" -- \
	"$EXE" ints 4 chdir own/below fork ints 5 wait reap exit 6) <"$TMP/in" >"$TMP/truth" 2>"$TMP/log" &
tracer=$!
children+=($tracer)
exec 7>"$TMP/in"
wait_for eval '[ "$(grep -sc "reading the ring" "$TMP/log")" = 2 ]' || diag "$(cat "$TMP/log")"
exec 7>&-
wait $tracer
is $? 6 "a relative directory, and a program that goes elsewhere"
compare "chdir" "$TMP/t" "$TMP/truth"
is "$(find "$TMP/own" -type f)" "" "chdir: no ring is left, neither here nor there"
nothing_left "chdir"
# A program in a chroot: its directory is not ours, so it must live long enough to be looked at.
ocaml_build acts
mkdir "$EXE_DIR/rings"
OCAML_RUNTIME_EVENTS_DIR=${EXE_IN%/*}/rings "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- \
	chroot "$ROOT" "$EXE_IN" users ints 50 sleep 0.2 exit 8 >"$TMP/truth" 2>"$TMP/err"
is $? 8 "a program that is started in a chroot" || diag "$(cat "$TMP/err")"
compare "chroot" "$TMP/t" "$TMP/truth"
is "$(ls -A "$EXE_DIR/rings")" "" "chroot: no ring is left in there"
# OCaml ends a program that cannot make its ring: the directory that ebtrace chose is not in there.
"$O/ebtrace" --mode ring -- chroot "$ROOT" "$EXE_IN" ints 3 >"$TMP/t" 2>"$TMP/err"
is "$? $(grep -c 'in a chroot: set OCAML_RUNTIME_EVENTS_DIR' "$TMP/err")" "134 1" \
	"chroot: if the ring cannot be made, a message names what to do" || diag "$(cat "$TMP/err")"
nothing_left "chroot"
done_testing
