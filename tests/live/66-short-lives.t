#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Processes that came and went between two looks: their rings are all read, wherever they are, or told
# as lost; and in a directory that others use too, only ours are.
. tests/lib.sh
need_root
need_command jq
need_command xz
brood=$O/tests/prog/brood
gc=$O/tests/prog/minigc
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR
export XDG_RUNTIME_DIR=$TMP/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR" "$TMP/user"
# begins NAME: status, begins, losses
begins() { echo "$(cat "$TMP/$1.status") $(grep -c '"kind":"begin"' "$TMP/$1") $(tail -1 "$TMP/$1" | jq '.lost_events + .lost_words')"; }
run() { # NAME BROOD-ARGS...
	local name=$1
	shift
	"$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/$name" -- "$brood" "$@" 2>"$TMP/$name.err"
	echo $? >"$TMP/$name.status"
}
for i in 1 2 3 4 5; do run own.$i 60 20 0 8 & done
EBTRACE_DIR=$TMP/user run dir 300 20 0 8 &
(ulimit -n 64; run few 250 20 0 8) &
run execs 0 20 40 &
wait
for i in 1 2 3 4 5; do is "$(begins own.$i)" "0 1220 0" "60 short children, all there ($i)"; done
is "$(begins dir)" "0 6020 0" "300 short children, in a directory of the user's: all there"
is "$(ls "$TMP/user")" "" "and nothing is left in it"
is "$(begins few)" "0 5020 0" "250 short children, with 64 descriptors: all there"
is "$(begins execs)" "0 820 0" "a process that executes itself 40 times: all there"
is "$(ls -A "$XDG_RUNTIME_DIR")" "" "nothing is left of any of them"

# Their files hold what they were called.
ends_with 0 "$O/ebtrace" stat --json --mode ring -o "$TMP/stat.json" -- "$brood" 60 20 0 8 2>"$TMP/err"
is "$(jq -r '[.processes[].comm] | "\(length) \(unique | join(" "))"' "$TMP/stat.json")" "61 brood" \
	"each of 60 short children has its name"

# Rings for which there is no descriptor are read when others have ended: here 40 processes at a time, each of
# which begins as often as the one that is traced alone.
ends_with 0 "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/alone" -- "$gc" -q -t 1 -n 200 -r 100 -c /dev/null
(ulimit -n 40; "$O/ebtrace" --mode ring -f ndjson -o "$TMP/starved" -- sh -c "
	for i in \$(seq 40); do '$gc' -q -t 1 -n 200 -r 100 -c /dev/null & done; wait" 2>"$TMP/err")
is $? 0 "more processes at a time than there are descriptors: the program ends as it would"
grep -q 'Too many open files' "$TMP/err"
ok $? "for some of their rings there is no descriptor"
is "$(jq -r 'select(.kind == "begin").pid' "$TMP/starved" | sort | uniq -c | awk '{ print $1 }' | sort | uniq -c | xargs)" \
	"40 $(grep -c '"kind":"begin"' "$TMP/alone")" "all events of all rings are read" || diag "$(head -5 "$TMP/err")"
is "$(jq -c 'select(.kind == "lost")' "$TMP/starved" | wc -l) $(tail -1 "$TMP/starved" | jq -c '[.lost_events, .lost_words]')" \
	"0 [0,0]" "and nothing is reported as lost" || diag "$(grep -c 'ended before' "$TMP/err") ended before"
is "$(ls -A "$XDG_RUNTIME_DIR")" "" "nothing is left of them either"

# What others have in the user's directory.
sh -c 'exit 0' &
gone=$!
wait $gone
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/user/$gone.events"
mkfifo "$TMP/in"
: >"$TMP/err"
EBTRACE_START=1 EBTRACE_DIR=$TMP/user "$gc" -q -w -t 1 -n 200 -c /dev/null <"$TMP/in" 2>"$TMP/err" &
old=$!
children+=($old)
exec 7>"$TMP/in"
wait_for grep -qs ready "$TMP/err"
mkfifo "$TMP/in2"
# shellcheck disable=SC2016
EBTRACE_DIR=$TMP/user "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- sh -c '
	: >"$1/up"; while [ ! -e "$1/new" ]; do sleep 0.02; done; sleep 0.1; exec "$2" 20 20 0 4' sh "$TMP" "$brood" 7>&- &
tracer=$!
wait_for test -e "$TMP/up"
EBTRACE_START=1 EBTRACE_DIR=$TMP/user "$gc" -q -w -t 1 -n 200 -c /dev/null <"$TMP/in2" 2>"$TMP/err2" 7>&- &
new=$!
children+=($new)
exec 8>"$TMP/in2"
wait_for grep -qs ready "$TMP/err2"
: >"$TMP/new"
wait $tracer
is "$? $(grep -c '"kind":"begin"' "$TMP/t")" "0 420" "of a directory that others use too, all of ours is read"
is "$(jq -r .pid "$TMP/t" | grep -cx -e "$gone" -e "$old" -e "$new")" 0 "and nothing of theirs"
is "$(ls "$TMP/user" | sort | xargs)" "$(printf '%s.events\n' "$gone" "$old" "$new" | sort | xargs)" \
	"and theirs is left: what was there before us, and what has come since"

# A directory that all may enter: the files of other users are not ours.
mkdir -m 1777 "$TMP/open"
chmod 755 "$TMP"
install -o 65534 "$TMP/user/$gone.events" "$TMP/theirs"
# shellcheck disable=SC2016
EBTRACE_DIR=$TMP/open "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- sh -c '
	mv "$1" "$2/$3.events"; exec "$4" 5 20 0' sh "$TMP/theirs" "$TMP/open" "$gone" "$brood" 7>&- 8>&-
is "$? $(grep -c '"kind":"begin"' "$TMP/t") $(jq -r .pid "$TMP/t" | grep -cx "$gone")" "0 120 0" \
	"a file of a user whom no process of ours belongs to is not read"
is "$(ls "$TMP/open")" "$gone.events" "nor removed"
exec 7>&- 8>&-

# Children of a program that runs already, without BPF: each is read, or told as lost; and none of another
# program that has its rings in the same directory.
mkdir "$TMP/late"
for try in 1 2 3; do
	rm -f "$TMP/in"
	mkfifo "$TMP/in"
	EBTRACE_START=1 EBTRACE_DIR=$TMP/late "$brood" 100 20 0 1 wait "$TMP/ours" <"$TMP/in" &
	program=$!
	children+=($program)
	exec 7>"$TMP/in"
	wait_for test -s "$TMP/late/$program.events"
	: >"$TMP/err"
	"$O/ebtrace" -v --mode ring -f ndjson -o "$TMP/t" -p $program 2>"$TMP/err" 7>&- &
	tracer=$!
	children+=($tracer)
	wait_for grep -qs 'reading the ring' "$TMP/err"
	exec 7>&-
	EBTRACE_START=1 EBTRACE_DIR=$TMP/late "$brood" 20 7 0 1 wait "$TMP/others" </dev/null 7>&-
	wait $tracer
	is $? 0 "-p, try $try: the trace ends well"
	jq -r 'select(.kind == "begin").pid' "$TMP/t" | sort | uniq -c | awk '{ print $1 }' | sort | uniq -c >"$TMP/got"
	jq -r 'select(.kind == "lost").pid' "$TMP/t" | sort >"$TMP/lost"
	jq -r 'select(.kind == "begin" and .pid != '$program').pid' "$TMP/t" | sort -u >"$TMP/seen"
	sort -o "$TMP/ours" "$TMP/ours"
	sort -o "$TMP/others" "$TMP/others"
	is "$(awk '{ print $2 }' "$TMP/got")" 20 "-p, try $try: all of each child, and nothing of another program" || diag "$(cat "$TMP/got")"
	# Of a child that has ended nobody can tell whose it was: it is a loss, too.
	is "$(sort "$TMP/seen" <(comm -23 "$TMP/lost" "$TMP/others") | cmp - "$TMP/ours" && wc -l <"$TMP/ours")" 100 \
		"-p, try $try: each of 100 children is read, or is one loss" ||
		diag "$(wc -l <"$TMP/seen") read, $(wc -l <"$TMP/lost") lost" "$(tail -3 "$TMP/err")"
	wait $program
done
done_testing
