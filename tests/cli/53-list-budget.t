#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a process maps does not keep `ebtrace list` from listing the others.
. tests/lib.sh
need_command jq
need_file "$O/tests/attack/sparse_elf"

for times in 50 3000; do
	mkfifo "$TMP/in.$times"
	mkdir "$TMP/$times"
	"$O/tests/attack/sparse_elf" "$TMP/$times" $times <"$TMP/in.$times" >"$TMP/ready.$times" &
	children+=($!)
	pids+=($!)
	exec {hold}>"$TMP/in.$times"
done
for times in 50 3000; do wait_for grep -qs ready "$TMP/ready.$times"; done
mkfifo "$TMP/in"
EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q -w -n 1 -c /dev/null <"$TMP/in" >/dev/null 2>&1 &
program=$!
children+=("$program")
exec 9>"$TMP/in"
wait_for test -e "$TMP/$program.events"
timeout -k 1 300 "$O/ebtrace" list --json >"$TMP/json" 2>"$TMP/err"
is $? 0 "list ends, whatever is mapped however often" || diag "$(cat "$TMP/err")"
jq -es --argjson pid $program 'any(.[]; .pid == $pid and .ring and .markers > 0)' "$TMP/json" >/dev/null
ok $? "a program of ours is listed beside it"
jq -es --argjson pid "${pids[1]}" 'any(.[]; .pid == $pid and .incomplete)' "$TMP/json" >/dev/null
ok $? "what was not read for its size is reported" || diag "$(cat "$TMP/json")"
timeout -k 1 300 "$O/ebtrace" list >"$TMP/out" 2>"$TMP/err"
grep -q "^ *${pids[1]} .*not all of its files" "$TMP/out"
ok $? "in the list for people, too"
done_testing
