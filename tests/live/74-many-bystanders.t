#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A file whose functions are probed in all processes, of which another process that is not traced makes
# much use: its breakpoints are taken out of that one, and each event of the traced process is seen once.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root
ocaml_build_here acts

# Bytes of the program's code that are not as in its file.
breakpoints() { # PID
	local range offset from
	read -r range _ offset _ < <(awk -v exe="$EXE" '$2 == "r-xp" && $NF == exe' "/proc/$1/maps")
	from=$((0x${range%-*}))
	cmp -l <(dd if="/proc/$1/mem" bs=4096 skip=$((from / 4096)) count=$(((0x${range#*-} - from) / 4096)) 2>/dev/null) \
		<(dd if="$EXE" bs=4096 skip=$((0x$offset / 4096)) 2>/dev/null) 2>/dev/null | wc -l
}
has_breakpoints() { [ "$(breakpoints "$1")" -gt 0 ]; }
has_none() { ! has_breakpoints "$1"; }
unwatched() { [ "$(grep -c "process .*: not watched for" "$TMP/err")" = "$1" ]; }
steady=() # some seconds
for ((i = 0; i < 6000; i++)); do steady+=(minor 1 sleep 0.001); done

mkfifo "$TMP/in" "$TMP/idle"
"$EXE" wait minor 100000000 <"$TMP/idle" >/dev/null &
bystander=$!
children+=($bystander)
exec 6>"$TMP/idle"
: >"$TMP/err"
"$O/ebtrace" -v -f ndjson -o "$TMP/t" -- env -i "$EXE" say ready wait minor 100 say shared wait \
	"${steady[@]}" say steady wait minor 100 <"$TMP/in" >/dev/null 2>"$TMP/err" 6>&- &
tracer=$!
exec 7>"$TMP/in"
wait_for grep -qs ready "$TMP/err"
wait_for has_breakpoints $bystander
ok $? "a bystander that runs the same file has the breakpoints, too"
echo >&7
wait_for grep -qs shared "$TMP/err"
unwatched 1
ok $? "the traced process was not watched in its first moment alone"
echo >&7
echo >&6
wait_for grep -qs 'each process is probed by itself' "$TMP/err"
ok $? "when the bystander calls the functions often, a message reports that sharing ends"
wait_for has_none $bystander
ok $? "and the bystander is rid of them" || diag "$(breakpoints $bystander) are left"
! grep -qs steady "$TMP/err"
ok $? "while the traced process is at work" # else it is too fast for what follows
kill $bystander
wait_for grep -qs steady "$TMP/err"
echo >&7
exec 6>&- 7>&-
wait $tracer
is $? 0 "it runs to its end" || diag "$(cat "$TMP/err")"
got=$(jq -cs 'map(select(.kind == "begin" and .name == "explicit_gc_minor")) as $minor |
	map(select(.kind == "lost" and .history and .since < .ts)) as $hole |
	[($hole | length), ($minor | length)]' "$TMP/t")
is "$got" "[1,6200]" "all that it does is seen, once"
is "$(jq -s "map(select(.pid == $bystander)) | length" "$TMP/t")" 0 "and nothing of the bystander"

# Of a process that is attached to the file is probed in all only where nobody else runs it.
# attached: a process that waits, and its tracer. ended NAME: both have ended.
attached() {
	mkfifo "$TMP/wait"
	"$EXE" wait minor 20 <"$TMP/wait" >/dev/null &
	pid=$!
	children+=($pid)
	exec 7>"$TMP/wait"
	: >"$TMP/err"
	"$O/ebtrace" -v -f ndjson -o "$TMP/t" -p $pid 2>"$TMP/err" 7>&- &
	tracer=$!
	wait_for grep -qs 'attached to' "$TMP/err"
}
ended() {
	echo >&7
	exec 7>&-
	end_well $tracer
	rm "$TMP/wait"
	is "$(jq -cs 'map(select(.kind == "begin" and .name == "explicit_gc_minor")) | length' "$TMP/t")" 20 \
		"$1: all that it does is seen" || diag "$(cat "$TMP/err")"
}
mkfifo "$TMP/idle2"
"$EXE" wait minor 1 <"$TMP/idle2" >/dev/null &
bystander=$!
children+=($bystander)
exec 6>"$TMP/idle2"
attached 6>&-
has_breakpoints $pid
ok $? "a process that is attached to has breakpoints"
has_none $bystander
ok $? "a bystander that runs the same file has none"
ended "attached to beside a bystander"
exec 6>&-
wait $bystander
attached
"$EXE" minor 20 >/dev/null
is $? 0 "one that comes later runs as it would"
ended "attached to alone"
is "$(jq -s 'map(.pid // empty) | unique | length' "$TMP/t")" 1 "and nothing is shown of the one that came later"
done_testing
