#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Probes go with the process that holds them. When that is killed they are attached again, and what happened
# meanwhile is a loss.
. tests/lib.sh
need_root
need_command jq
need_command pgrep
prog=$O/tests/prog/many_pauses
need_file "$prog"

keeper() { pgrep -P "$tracer" uprobe-links; }
holders() { pgrep -P "$1" uprobe-links; }
grows() {
	local bytes
	bytes=$(stat -c %s "$TMP/t")
	wait_for eval "[ \$(stat -c %s '$TMP/t') -gt $((bytes + 20000)) ]"
}
# begin OPTION...: a tracer of a program that runs.
begin() {
	"$prog" 1 100000 >/dev/null &
	traced=$!
	children+=($traced)
	"$O/ebtrace" trace -f ndjson --fail-on-loss -p $traced "$@" >"$TMP/t" 2>"$TMP/err" &
	tracer=$!
	children+=($tracer)
	wait_for test -s "$TMP/t" && grows
}
finish() {
	kill -INT $tracer
	wait $tracer
	status=$?
	kill $traced
	wait $traced 2>/dev/null
}
# again KILLED...: kills them, and waits until the probes are there again.
again() {
	kill -KILL "$@"
	# shellcheck disable=SC2016
	wait_for eval 'for k in $(keeper); do holders $k | grep -qvxF -e "$old" && break; done'
	grows && grows
}

begin --mode probes
old=$(holders "$(keeper)")
# What waits uninterruptibly counts as load of the machine.
states() { for p in $(keeper) $old; do sed 's/.*) \(.\) .*/\1/' "/proc/$p/task/"*/stat; done; }
rest() { ! states | grep -q D; }
[ -n "$old" ] && wait_for rest
ok $? "processes that hold probes are no load of the machine" || diag "$(states)"
# shellcheck disable=SC2086
again $old
finish
is "$status" 3 "with --fail-on-loss, that a holder was killed is the status" || diag "$(cat "$TMP/err")"
is "$(grep -c 'the process that held its probes was killed' "$TMP/err")" 1 "one line says so"
# A holder for each file: they may be noticed one after the other.
jq -es 'length >= 1 and all(.[]; (has("events") | not) and (.history | not) and .since < .ts)' \
	<(grep '"kind":"lost"' "$TMP/t" | grep -v history) >"$TMP/jq"
ok $? "it is a loss without a number" || diag "$(grep lost "$TMP/t")"
jq -es '(map(select(.kind == "lost" and (.history | not)))[0]) as $lost |
	map(select(.kind == "begin")) | any(.ts > $lost.ts) and all(.ts <= $lost.since or .ts >= $lost.since)' "$TMP/t" >"$TMP/jq"
ok $? "and behind it there are events again"

begin --mode probes
k=$(keeper)
old=$(holders "$k")
# shellcheck disable=SC2086
again $k $old
finish
is "$status $(grep -vcE 'have a link each|^ebtrace: removing ' "$TMP/err")" "3 1" "all are killed: another process holds them from then on" || diag "$(cat "$TMP/err")"
jq -es '(map(select(.kind == "lost" and (.history | not)))[0].ts) as $lost | map(select(.kind == "begin")) | any(.ts > $lost)' \
	"$TMP/t" >"$TMP/jq"
ok $? "and there are events again"

"$prog" 1 100000 >/dev/null &
traced=$!
children+=($traced)
: >"$TMP/err"
"$O/ebtrace" stat --mode probes --json -o "$TMP/stat" -p $traced 2>"$TMP/err" &
tracer=$!
children+=($tracer)
wait_for eval '[ -n "$(keeper)" ] && [ -n "$(holders $(keeper))" ]'
old=$(holders "$(keeper)")
# shellcheck disable=SC2086
kill -KILL $old
wait_for grep -q 'was killed' "$TMP/err"
finish
jq -e '.total.coverage_percent < 100 and .total.lost.events == null' "$TMP/stat" >"$TMP/jq"
ok $? "the coverage is less, and how many are lost is not known" || diag "$(jq -c '.total | [.coverage_percent, .lost]' "$TMP/stat")"
done_testing
