#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Where processes live: other users, other namespaces, chroots, files and programs that are gone. A
# ring is found by what the process has mapped; what cannot be read is refused with its reason.
. tests/lib.sh
. tests/counts.sh
need_file "$O/ebtrace"
need_command jq
need_command setpriv
ocaml_root
ocaml_build_here acts
acts=$EXE
chmod 755 "$TMP"
mkdir -m 777 "$TMP/open" "$TMP/rings"
install -m 755 "$O/ebtrace" "$TMP/ebtrace"
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR

# as UID CMD...: without any capability; it replaces the shell that calls it
as() {
	local uid=$1
	shift
	exec setpriv --reuid "$uid" --regid "$uid" --clear-groups --inh-caps=-all --ambient-caps=-all \
		--bounding-set=-all "$@"
}
# start PREFIX... -- ACTS...: a program with a ring, which waits for `exec 7>&-`; its pid in $program
start() {
	local prefix=()
	while [ "$1" != -- ]; do prefix+=("$1"); shift; done
	shift
	rm -f "$TMP"/{in,err,truth,t,log}
	mkfifo -m 666 "$TMP/in"
	: >"$TMP/err"
	(cd "$TMP/open" && OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR="${dir-$TMP/rings}" \
		"${prefix[@]}" "${exe:-$acts}" "$@") <"$TMP/in" >"$TMP/truth" 2>"$TMP/err" &
	waiting=$!
	children+=($waiting)
	exec 7>"$TMP/in"
	wait_for grep -qs ready "$TMP/err" || diag "$(cat "$TMP/err")"
	program=$(deepest $waiting)
	children+=("$program")
}
deepest() { # the last of a line of children
	local child pid=$1
	while child=$(cut -d' ' -f1 "/proc/$pid/task/$pid/children") && [ -n "$child" ]; do pid=$child; done
	echo "$pid"
}
# trace OPTIONS...: of $program, to its end
trace() {
	"$O/ebtrace" -v --mode ring -f ndjson -o "$TMP/t" -p "$program" "$@" 2>"$TMP/log" 7>&- &
	tracer=$!
	children+=($tracer)
	wait_for grep -qs 'reading the ring' "$TMP/log" || diag "$(cat "$TMP/log")"
}
finish() { # NAME
	exec 7>&-
	wait $waiting
	is $? 0 "$1: the program ends well"
	wait $tracer
	is $? 0 "$1: ebtrace ends with it" || diag "$(cat "$TMP/log")"
	events_of "$1"
}
events_of() { # NAME: but for the pid, which is another one inside
	user_events "$TMP/t" | cut -f2- | sort >"$TMP/got"
	cut -f2- "$TMP/truth" | sort >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "$1: all its user events"
	is "$(head -1 "$TMP/t" | jq -r .producer)" "ocaml 5.3" "$1: the release is known"
}
# says STATUS "words" "name" CMD...: one line, or two
says() {
	local status=$1 words=$2 name=$3
	shift 3
	("$@") >"$TMP/out" 2>"$TMP/said" </dev/null 7>&-
	is $? "$status" "$name: status $status"
	grep -q -- "$words" "$TMP/said" && [ "$(grep -c . "$TMP/said")" -le 2 ]
	ok $? "$name: the message contains '$words'" || diag "$(cat "$TMP/said")"
}

# Users.
(as 65534 "$TMP/ebtrace" -f ndjson -o "$TMP/open/t" -- "$acts" users ints 10) >"$TMP/truth" 2>"$TMP/log"
is $? 0 "an ordinary user traces a program of his own"
mv "$TMP/open/t" "$TMP/t"
events_of "an ordinary user's program"
! grep -q 'CAP_BPF' "$TMP/log"
ok $? "and misses nothing that root would have of it" || diag "$(cat "$TMP/log")"
start as 65534 -- ints 10 say ready wait users
(as 65534 "$TMP/ebtrace" -v --mode ring -f ndjson -o "$TMP/open/t" -p "$program") 2>"$TMP/log" 7>&- &
tracer=$!
children+=($tracer)
wait_for grep -qs 'reading the ring' "$TMP/log" || diag "$(cat "$TMP/log")"
says 7 "belongs to nobody.*sudo" "another user's process" as 4242 "$TMP/ebtrace" -p "$program"
cp -p "$TMP/rings/$program.events" "$TMP/open/ring.events"
says 1 "ring.events.*Permission denied" "another user's ring file" as 4242 "$TMP/ebtrace" "$TMP/open/ring.events"
exec 7>&-
wait $waiting
wait $tracer
is $? 0 "an ordinary user follows a process of his own"
mv "$TMP/open/t" "$TMP/t"
events_of "an ordinary user's process"

# A directory that the process could use and the tracer's user cannot, any more.
mkdir -m 777 "$TMP/closed"
dir=$TMP/closed start as 65534 -- say ready wait ints 5
chmod 700 "$TMP/closed"
says 7 "process $program: ring '$TMP/closed/$program.events': Permission denied.*root" "an unreadable directory" \
	as 65534 "$TMP/ebtrace" --mode ring -p "$program"
trace
finish "an unreadable directory, as root"

# The ring file is deleted, while it is in use: the mapping is what counts.
start as 65534 -- ints 7 say ready wait users minor 1
rm "$TMP/rings/$program.events"
says 7 "deleted.*root" "a deleted ring, of an ordinary user" as 65534 "$TMP/ebtrace" --mode ring -p "$program"
trace
finish "a deleted ring, as root"

# The program file is deleted.
cp "$acts" "$TMP/gone"
exe=$TMP/gone start env -- ints 7 say ready wait users
rm "$TMP/gone"
[[ $(readlink "/proc/$program/exe") = *"(deleted)" ]]
ok $? "the program file is deleted"
trace
finish "a deleted program"
cp "$O/tests/prog/minigc" "$TMP/minigc"
rm "$TMP/in"
mkfifo "$TMP/in"
: >"$TMP/err"
"$TMP/minigc" -q -w -l -t 2 -n 2000 -c "$TMP/gone.counts" <"$TMP/in" 2>"$TMP/err" &
program=$!
children+=($program)
exec 7>"$TMP/in"
wait_for grep -qs ready "$TMP/err"
rm "$TMP/minigc"
"$O/ebtrace" -v --mode stream -f ndjson -o "$TMP/gone.ndjson" -p $program 2>"$TMP/log" 7>&- &
tracer=$!
children+=($tracer)
wait_for grep -qs 'attached to [1-9]' "$TMP/log" || diag "$(cat "$TMP/log")"
echo >&7
wait_for test -s "$TMP/gone.counts"
exec 7>&-
wait $tracer
is $? 0 "the markers of a deleted program"
"$O/tests/prog/tally" <"$TMP/gone.ndjson" >"$TMP/gone.tally"
whole gone
rm -rf /dev/shm/ebtrace-0/$program.events

# A relative directory, and a program that has gone elsewhere.
mkdir "$TMP/open/sub" "$TMP/open/sub/deeper"
dir=sub start env -- ints 3 chdir sub/deeper say ready wait users
[ -s "$TMP/open/sub/$program.events" ]
ok $? "a relative directory is relative to where the program was"
trace
finish "a relative directory"

# Mount and pid namespaces, the ring on a tmpfs that cannot be seen from outside.
# shellcheck disable=SC2016
own_tmpfs=(unshare -mpf --kill-child --mount-proc sh -c 'mount -t tmpfs none "$1" && shift && exec "$@"' sh "$TMP/rings")
start "${own_tmpfs[@]}" -- ints 3 say ready fork wait users reap
is "$(awk '/^NSpid/ { print $NF }' "/proc/$program/status")" 3 "inside, the child of the program is process 3, behind mount"
program=$(awk '/^PPid/ { print $2 }' "/proc/$program/status")
is "$(find "$TMP/rings" -newer "$TMP/in" -type f)" "" "the rings cannot be seen from outside"
trace
wait_for eval '[ "$(grep -sc "reading the ring" "$TMP/log")" = 2 ]' || diag "$(cat "$TMP/log")"
finish "other namespaces"
is "$(jq -r 'select(.name == "ring_start").value' "$TMP/t" | sort | xargs)" "1 3" "other namespaces: the rings hold the inner pids"
jq -es --argjson pid "$program" '[.[] | select(.pid).pid] | unique | length == 2 and index($pid) != null and
	all(.[]; . > 2)' "$TMP/t" >/dev/null
ok $? "other namespaces: the events carry the pids of our namespace"
# The same started by ebtrace: the file of process 1 is not that of the machine's process 1.
"$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- unshare -mpf --kill-child --mount-proc "$acts" users ints 3 sleep 0.1 exit 6 >"$TMP/truth" &
tracer=$!
children+=($tracer)
wait $tracer
is $? 6 "a program of ours in namespaces of its own: its status, at its end"
events_of "a program of ours in namespaces of its own"

# A chroot, of an ordinary user, who may read only what has a path.
ocaml_build acts
exe=$EXE_IN
mkdir -m 777 "$EXE_DIR/rings"
dir=$(dirname "$EXE_IN")/rings
start chroot --userspec=65534:65534 "$ROOT" -- ints 9 say ready wait users
rm -f "$TMP/open/t"
(as 65534 "$TMP/ebtrace" -v --mode ring -f ndjson -o "$TMP/open/t" -p "$program") 2>"$TMP/log" 7>&- &
tracer=$!
children+=($tracer)
wait_for grep -qs 'reading the ring' "$TMP/log" || diag "$(cat "$TMP/log")"
exec 7>&-
wait $waiting
wait $tracer
is $? 0 "a program in a chroot, without privilege" || diag "$(cat "$TMP/log")"
mv "$TMP/open/t" "$TMP/t"
events_of "a chroot, without privilege"
is "$(ls -A "$EXE_DIR/rings")" "" "a chroot: nothing is left in there"
done_testing
