#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that goes on after the trace: the rings of its children that have ended do not pile up,
# those of processes that run are left, and so is all that the user wants to keep.
. tests/lib.sh
need_root
gc=$O/tests/prog/minigc
cat >"$TMP/program" <<'END'
sleep 0.6 # the trace is over
"$1" -q -t 1 -s 300 -r 100 -c /dev/null &
for i in 1 2 3 4 5 6 7 8; do "$1" -q -t 1 -n 100 -c /dev/null; done
sleep 4 # more than a sweep takes, which a busy machine may put off
files() { ls "$EBTRACE_DIR" | grep -c events; }
for i in $(seq 100); do [ "$(files)" -le "$2" ] && break; sleep 0.2; done
files >"$0.files"
[ -e "$EBTRACE_DIR/$!.events" ] && echo kept >"$0.live"
kill $! # long before it would end
exit 5
END
cp "$TMP/program" "$TMP/preserved"
"$O/ebtrace" -q --mode ring -d 300ms -o "$TMP/out" -- sh "$TMP/program" "$gc" 1 &
one=$!
mkdir "$TMP/run"
EBTRACE_PRESERVE=1 XDG_RUNTIME_DIR=$TMP/run "$O/ebtrace" -q --mode ring -d 300ms -o "$TMP/out2" -- \
	sh "$TMP/preserved" "$gc" 9
is $? 5 "a program that goes on after -d is waited for"
wait $one
is $? 5 "and its status is that of ebtrace"
is "$(cat "$TMP/program.files") $(cat "$TMP/program.live")" "1 kept" \
	"rings of children that have ended are removed, that of one that runs is left"
is "$(cat "$TMP/preserved.files")" 9 "with EBTRACE_PRESERVE all are left"
done_testing
