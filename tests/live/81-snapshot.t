#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --snapshot: what the rings of a process hold now, and what they hold no more.
. tests/lib.sh
need_command jq

# start NAME ROUNDS: a program that has emitted so much and stays. Its pid is in $program.
start() {
	mkfifo "$TMP/$1.in"
	EBTRACE_START=1 EBTRACE_LOG_WSIZE=10 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q -l -t 1 -n "$2" \
		-c "$TMP/$1.counts" <"$TMP/$1.in" >/dev/null 2>&1 &
	program=$!
	children+=("$program")
	exec 9>"$TMP/$1.in"
	wait_for test -s "$TMP/$1.counts"
}
start small 20
"$O/ebtrace" -q -f ndjson --snapshot --fail-on-loss -p $program >"$TMP/out"
is $? 0 "--snapshot --fail-on-loss of a ring that holds everything: status 0"
is "$(grep -c '"kind":"begin"' "$TMP/out")" "$(awk '$2 == "begin" { n += $3 } END { print n }' "$TMP/small.counts")" \
	"--snapshot shows all that it holds"
exec 9>&-
start large 5000
for command in trace stat; do
	"$O/ebtrace" $command -q --snapshot --fail-on-loss -p $program >"$TMP/out" 2>"$TMP/err"
	is $? 3 "$command --snapshot --fail-on-loss of a ring that has wrapped: status 3" || diag "$(cat "$TMP/err")"
	"$O/ebtrace" $command -q --snapshot -p $program >"$TMP/out" 2>"$TMP/err"
	is $? 0 "$command --snapshot alone: status 0"
done
ends_with 0 "$O/ebtrace" -q -f ndjson --snapshot -p $program >"$TMP/out"
jq -es '(map(select(.kind == "lost").words) | length > 0 and add > 0) and (.[-1] | .lost_words == 0 and .history_words > 0)' "$TMP/out" >/dev/null
ok $? "what was overwritten is reported, and counted as of before"
"$O/ebtrace" info -q --fail-on-loss -p $program >"$TMP/out"
is $? 3 "info --fail-on-loss -p of it: status 3"
timeout 300 "$O/ebtrace" -q --fail-on-loss -d 0.2 -p $program >"$TMP/out" 2>"$TMP/err"
is $? 0 "a trace that begins now has lost nothing: status 0" || diag "$(tail -2 "$TMP/out")"
exec 9>&-
done_testing
