#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Whose a ring is: the process's that writes it and whose number it bears. A reader of rings has
# those of others mapped; they are not its, and are not ours to remove.
. tests/lib.sh
need_root
need_command jq
need_command xz
gc=$O/tests/prog/minigc
reader=$O/tests/attack/maps_a_ring
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR
export XDG_RUNTIME_DIR=$TMP/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$TMP/service"

mkfifo "$TMP/in"
EBTRACE_START=1 EBTRACE_DIR=$TMP/service "$gc" -q -w -t 1 -n 3000 -c /dev/null <"$TMP/in" 2>"$TMP/err" &
service=$!
children+=($service)
exec 7>"$TMP/in"
wait_for grep -qs ready "$TMP/err"
ring=$TMP/service/$service.events
[ -s "$ring" ]
ok $? "a service has a ring"
events() { jq -s '[.[] | select(.pos != null)] | length' "$1"; }

for mode in ring stream; do
	for access in r rw; do
		what="$mode, a reader that maps it $access"
		"$O/ebtrace" -q --mode $mode -f ndjson -o "$TMP/t" -- "$reader" "$ring" $access 0.3 2>"$TMP/err" 7>&-
		is "$? $(events "$TMP/t")" "0 0" "$what: no event is credited to it" || diag "$(cat "$TMP/err")"
		[ -s "$ring" ]
		ok $? "$what: the service's ring is left alone"
	done
done
# The same where the directory is the user's, and both have it.
EBTRACE_DIR=$TMP/service "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- \
	sh -c "'$reader' '$ring' r 0.3 & '$gc' -q -t 1 -n 500 -c /dev/null; wait" 7>&-
is "$? $(jq -s '[.[] | select(.name == "ring_start")] | length' "$TMP/t")" "0 1" \
	"in one directory with the service: the program's ring alone is read"
is "$(ls "$TMP/service")" "$service.events" "and the program's ring alone is removed"
# A service that is started in the middle, beside us.
"$O/ebtrace" -q --mode ring -f ndjson -p $service -d 0.1s -o "$TMP/t" 7>&-
is "$? $(jq -s '[.[] | select(.name == "ring_start")] | length' "$TMP/t")" "0 1" "the service itself is read as its own"

"$reader" "$ring" r 30 7>&- &
reading=$!
children+=($reading)
wait_for grep -qs "$ring" "/proc/$reading/maps"
"$O/ebtrace" --mode ring -p $reading 2>"$TMP/err" >"$TMP/out" 7>&-
is "$?" 4 "-p of a reader: it has nothing to trace" || diag "$(cat "$TMP/err")"
is "$("$O/ebtrace" list --json | jq -s "map(select(.pid == $reading)) | length")" 0 "list does not show it either"

# A program that has set a directory of its own, and wants its rings to be kept.
mkdir "$TMP/kept"
"$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- env EBTRACE_PRESERVE=1 EBTRACE_DIR="$TMP/kept" \
	"$gc" -q -t 1 -n 20000 -r 50000 -c /dev/null 7>&-
is "$? $(jq -s '[.[] | select(.name == "ring_stop")] | length' "$TMP/t")" "0 1" "a program with a directory of its own is traced"
is "$(ls "$TMP/kept" | wc -l)" 1 "and its ring is left to it"

# A ring that was there before us, of a service that writes on and ends during our run.
mkdir "$TMP/shared"
rm "$TMP/in"
mkfifo "$TMP/in"
: >"$TMP/err"
EBTRACE_START=1 EBTRACE_PRESERVE=1 EBTRACE_DIR=$TMP/shared "$gc" -q -w -t 1 -n 700 -c /dev/null <"$TMP/in" 2>"$TMP/err" 7>&- &
earlier=$!
children+=($earlier)
exec 8>"$TMP/in"
wait_for grep -qs ready "$TMP/err"
EBTRACE_DIR=$TMP/shared "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- \
	sh -c "touch '$TMP/begun'; while [ ! -e '$TMP/ended' ]; do sleep 0.02; done; '$gc' -q -t 1 -n 500 -c /dev/null" 7>&- 8>&- &
tracer=$!
wait_for test -e "$TMP/begun"
echo >&8
exec 8>&-
wait $earlier
chmod 600 "$TMP/shared/$earlier.events" # a file system may set its times as it likes
touch "$TMP/ended"
wait $tracer
is "$? $(jq -s '[.[] | select(.name == "ring_start")] | length' "$TMP/t")" "0 1" \
	"a ring from before the run is not ours when its process has ended"
is "$(ls "$TMP/shared")" "$earlier.events" "and stays"

# A file system may give a new ring the number of one that has been removed.
mkdir "$TMP/again"
"$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- sh -c "for i in 1 2 3 4 5 6; do
	env -u EBTRACE_PRESERVE -u OCAML_RUNTIME_EVENTS_PRESERVE EBTRACE_DIR='$TMP/again' '$gc' -q -t 1 -n 500 -r 10000 -c /dev/null
	sleep 0.1; done" 7>&-
is "$? $(jq -s '[.[] | select(.name == "ring_start")] | length' "$TMP/t")" "0 6" \
	"rings of one place that are removed one after the other are read, each of them"

# What a program of ours writes may have the name of a ring.
mkdir "$TMP/data"
EBTRACE_DIR=$TMP/data "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- \
	sh -c "seq 20000 >'$TMP/data/20240611.events'; sleep 0.1; '$gc' -q -t 1 -n 500 -c /dev/null; true" 7>&- 2>"$TMP/err"
is "$? $(cksum <"$TMP/data/20240611.events")" "0 $(seq 20000 | cksum)" "a file that is no ring is not removed for its name"
is "$(ls "$TMP/data")" "20240611.events" "and the ring beside it is"

# A daemon that goes on after the run keeps its ring; what has ended is removed.
mkdir "$TMP/daemon"
rm "$TMP/in"
mkfifo "$TMP/in"
: >"$TMP/err"
EBTRACE_DIR=$TMP/daemon "$O/ebtrace" -q --mode ring -f ndjson -d 1.5s -o "$TMP/t" -- \
	sh -c "'$gc' -q -t 1 -n 500 -c /dev/null; setsid '$gc' -q -w -t 1 -n 700 -c '$TMP/counts' <'$TMP/in' 2>'$TMP/err' & sleep 0.5" &
tracer=$!
exec 8>"$TMP/in"
wait_for grep -qs ready "$TMP/err"
wait $tracer
is $? 0 "a run that ends while its daemon still records"
daemon=$(basename "$(ls "$TMP/daemon")" .events)
kill -0 "$daemon" && grep -q "$TMP/daemon/$daemon.events" "/proc/$daemon/maps"
ok $? "the daemon's ring is still there, and that of the other process is not" || diag "$(ls "$TMP/daemon")"
"$O/ebtrace" -q --mode ring -f ndjson -p "$daemon" -o "$TMP/t" 7>&- 8>&- &
tracer=$!
wait_for rests $tracer
echo >&8
exec 8>&-
wait $tracer
is "$? $(jq -s '[.[] | select(.name == "ring_stop")] | length' "$TMP/t")" "0 1" "and the next run reads it to its end"
exec 7>&-

# A daemon of root's that has made its ring, and has dropped its privileges since.
mkdir "$TMP/dropped"
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/ring"
# shellcheck disable=SC2016
sh -c 'cp "$1" "$2/$$.events" && exec "$3" "$2/$$.events" drop 60' sh "$TMP/ring" "$TMP/dropped" \
	"$(realpath "$reader")" &
daemon=$!
children+=($daemon)
wait_for eval '[ "$(stat -c %u /proc/$daemon)" = 65534 ]'
for options in "--snapshot" "--mode ring -d 0.1s"; do
	# shellcheck disable=SC2086
	"$O/ebtrace" -q $options --ocaml-version 5.3 -f ndjson -o "$TMP/t" -p $daemon 2>"$TMP/err"
	is "$? $(tail -1 "$TMP/t" | jq .events)" "0 253" "$options: the ring of a daemon that has dropped its privileges is read" ||
		diag "$(cat "$TMP/err")"
done
chown 4711 "$TMP/dropped/$daemon.events"
"$O/ebtrace" -q --snapshot --ocaml-version 5.3 -f ndjson -o "$TMP/t" -p $daemon 2>"$TMP/err"
[ $? != 0 ] && grep -q "belongs neither to the owner of the process nor to us" "$TMP/err"
ok $? "that of a third user is not" || diag "$(cat "$TMP/err")"
kill -9 $daemon
wait $daemon 2>/dev/null

# A process may map any number of files that are named like its rings.
for count in 40 80; do
	rm -f "$TMP"/{in,out,log}
	mkfifo "$TMP/in"
	EBTRACE_DIR=$TMP/service EBTRACE_LOG_WSIZE=8 "$O/tests/prog/many_rings" $count <"$TMP/in" >"$TMP/out" &
	program=$!
	children+=($program)
	exec 7>"$TMP/in"
	wait_for grep -qs ready "$TMP/out"
	"$O/ebtrace" -v --mode ring -f ndjson -o "$TMP/t" -p $program 2>"$TMP/log" 7>&- &
	tracer=$!
	children+=($tracer)
	rings=$((count < 64 ? count + 1 : 64))
	wait_for eval '[ "$(grep -sc "reading the ring" "$TMP/log")" = '$rings' ]'
	ok $? "$count rings beside the first: $rings are read" || diag "$(tail -3 "$TMP/log")"
	sleep 0.1 # further scans report nothing new
	exec 7>&-
	wait $program
	wait $tracer
	is $? 0 "and the trace ends well"
	is "$(grep -c 'has 64 rings: others that it may have are not read' "$TMP/log")" $((count > 64)) \
		"that there may be more is reported once, if so"
	rm -f "$TMP/service/$program"*
done
done_testing
