#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The directory of a run is made only where nobody else can put another in its place, and only what
# we made is emptied and removed, whatever has its name at the end.
. tests/lib.sh
need_root
gc=$O/tests/prog/minigc
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR
chmod 755 "$TMP"
mkdir "$TMP/victim"
: >"$TMP/victim/keep"
: >"$TMP/victim/1.events"

# swapped BASE: the program replaces the directory of its run, if that is in BASE, by a link.
# shellcheck disable=SC2016
swapped() {
	XDG_RUNTIME_DIR=$1 "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- sh -c '
		echo "$EBTRACE_DIR" >"$2/dir"
		for d in "$1"/ebtrace-run-*; do [ -d "$d" ] && mv "$d" "$1/aside" && ln -s "$2/victim" "$d"; done
		:' sh "$1" "$TMP" 2>"$TMP/err"
	is $? 0 "${2}: the program ends as it would" || diag "$(cat "$TMP/err")"
	is "$(ls "$TMP/victim" | xargs)" "1.events keep" "$2: the files behind a link are left alone"
}
not_in() {
	case $(cat "$TMP/dir") in "$1"/*) ok 1 "$2 is not used" ;; /*) ok 0 "$2 is not used" ;; *) ok 1 "$2: there is a directory" ;; esac
}

mkdir "$TMP/theirs" "$TMP/theirs/ours" "$TMP/open" "$TMP/group" "$TMP/mine"
chown 65534:65534 "$TMP/theirs"
chmod 777 "$TMP/open"
chmod 775 "$TMP/group"
chmod 700 "$TMP/mine"
ln -s "$TMP/mine" "$TMP/link"
swapped "$TMP/theirs" "another user's directory"
not_in "$TMP/theirs" "another user's directory"
swapped "$TMP/theirs/ours" "a directory of ours below another user's"
not_in "$TMP/theirs/ours" "a directory of ours below another user's"
swapped "$TMP/open" "a directory that all may write to"
not_in "$TMP/open" "a directory that all may write to"
swapped "$TMP/group" "a directory that a group may write to"
not_in "$TMP/group" "a directory that a group may write to"

# In a base of our own only the program could do it, with our rights.
swapped "$TMP/mine" "a directory of ours"
case $(cat "$TMP/dir") in "$TMP/mine"/ebtrace-run-*) ok 0 "a directory of ours is used" ;; *) ok 1 "a directory of ours is used" ;; esac
[ -L "$(cat "$TMP/dir")" ]
ok $? "what has the name of our directory by then is left"
is "$(ls -A "$TMP/mine/aside")" "" "ours is emptied, wherever it is"
rm -rf "$TMP"/mine/*
# shellcheck disable=SC2016
XDG_RUNTIME_DIR=$TMP/mine "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- sh -c 'mv "$EBTRACE_DIR" "$1" && mkdir "$EBTRACE_DIR"' \
	sh "$TMP/mine/aside" 2>/dev/null
is "$(ls "$TMP/mine" | grep -c '^ebtrace-run-')" 1 "a directory that is not ours, but has the name of ours, is left"
rm -rf "$TMP"/mine/*
swapped "$TMP/link" "a link to a directory of ours"
case $(cat "$TMP/dir") in "$TMP/mine"/*) ok 0 "the program gets the path of the directory itself, not of the link" ;; *) ok 1 "the program gets the path of the directory itself, not of the link" ;; esac
rm -rf "$TMP"/mine/*
chmod 1777 "$TMP/open"
XDG_RUNTIME_DIR=$TMP/open "$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- \
	sh -c "stat -c '%a %n' '$TMP'/open/ebtrace-run-* >'$TMP/mode'; exec $gc -q -t 1 -n 500 -c /dev/null"
is "$? $(cut -c-3 "$TMP/mode")" "0 700" "in a sticky directory of ours it is made, for us alone"
is "$(grep -c '"name":"ring_stop"' "$TMP/t")" 1 "and the ring in it is read"
is "$(ls -A "$TMP/open")" "" "and removed"
done_testing
