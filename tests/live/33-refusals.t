#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What cannot be traced is refused with its own words and its own status.
. tests/lib.sh
need_root

# refused STATUS "words" "name" CMD...
refused() {
  local status=$1 words=$2 name=$3
  shift 3
  "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
  is $? "$status" "$name: status $status"
  grep -q -- "$words" "$TMP/err" && [ "$(grep -c . "$TMP/err")" -le 2 ]
  ok $? "$name: the message contains '$words'" || diag "$(cat "$TMP/err")"
}

sleep 1000 &
idle=$!
children+=("$idle")
refused 4 "nothing to trace" "a process without ring and markers" "$O/ebtrace" -p "$idle"
sleep 0 &
dead=$!
wait "$dead"
refused 5 "no process $dead" "a dead pid" "$O/ebtrace" -p "$dead"
refused 6 "kernel thread" "a kernel thread" "$O/ebtrace" -p "$(pgrep -o kthreadd)"
install -m 755 "$O/ebtrace" "$TMP/ebtrace"
chmod 755 "$TMP"
refused 7 "belongs to root" "somebody else's process" setpriv --reuid 65534 --regid 65534 --clear-groups \
  "$TMP/ebtrace" -p "$idle"

# In the place of a ring: everything that is not the process's own regular file.
mkdir -m 755 "$TMP/rings"
ring=$TMP/rings/$idle.events
place() { rm -rf "$ring"; "$@"; }
at() { refused "$1" "$2" "$3" "$O/ebtrace" --mode ring -p "$idle" --ring-dir "$TMP/rings"; }
place ln -s /etc/passwd "$ring"; at 1 "symbolic link" "a symbolic link"
place mkfifo "$ring"; at 1 "regular file" "a FIFO"
place mkdir "$ring"; at 1 "regular file" "a directory"
place truncate -s 1T "$ring"; at 1 "$idle.events" "a sparse file of 1 TiB"
place truncate -s 9447488 "$ring"; chown 65534 "$ring"; at 7 "own" "a ring that is another user's"

refused 2 "what to trace" "no target" "$O/ebtrace"
refused 2 "exclude" "two kinds of target" "$O/ebtrace" -p 1 -- true
refused 2 "not a time" "a bad duration" "$O/ebtrace" -d soon -p 1
refused 127 "cannot run" "a program that is not there" "$O/ebtrace" -- /nonexistent
done_testing
