#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The process that reads symbols for root has no user of its own, whose processes could stop it, and no
# capability.
. tests/lib.sh
need_root
need_command setpriv

"$O/tests/prog/minigc" -q -t 1 -s 600 -r 2000 -c /dev/null &
program=$!
children+=("$program")
"$O/ebtrace" --stack=begin -o "$TMP/out" -p "$program" 2>"$TMP/err" &
tracer=$!
children+=("$tracer")
find_worker() {
	local pid
	for pid in $(pgrep -P "$tracer"); do
		grep -q '^Seccomp:.*2' "/proc/$pid/status" 2>/dev/null && worker=$pid && return
	done
	return 1
}
wait_for find_worker
ok $? "symbols are read by a process under a seccomp filter" || done_testing
status() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$worker/status"; }
is "$(status CapEff) $(status CapPrm)" "0000000000000000 0000000000000000" "it has no capabilities"
is "$(status Uid | tr -s '\t' ' ')" "0 0 0 0" "nor another user than its tracer"
for user in 65534 65533; do
	setpriv --reuid $user --regid $user --clear-groups kill -STOP "$worker" 2>"$TMP/kill.err"
	is $? 1 "a process of user $user cannot stop it"
done
kill -INT "$tracer"
wait "$tracer"
is $? 0 "the tracer ends well"
done_testing
