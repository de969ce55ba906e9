#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A process that runs the same file as a traced one is none of our business: no event of it is shown, it
# gets no ring, and its semaphores stay at 0.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
need_command python3
ocaml_root
ocaml_build_here gcstat

"$EXE" 1 12000 >"$TMP/bystander" &
bystander=$!
"$O/ebtrace" -f ndjson -o "$TMP/t" -- sh -c "for i in 1 2 3; do env -i $EXE 1 200; done" >"$TMP/out" 2>"$TMP/err"
is $? 0 "three processes run a file that a bystander runs, too"
kill -0 $bystander 2>/dev/null
ok $? "all the while"
is "$(jq -s "map(select(.pid == $bystander)) | length" "$TMP/t")" 0 "nothing of the bystander is shown"
is "$(jq -r 'select(.kind == "begin" and .name == "minor").pid' "$TMP/t" | sort -u | wc -l)" 3 \
	"the three are seen" || diag "$(cat "$TMP/err")"
is "$(grep -c '\.events' /proc/$bystander/maps)" 0 "the bystander has no ring"
wait $bystander
is "$? $(grep -c ^minor "$TMP/bystander")" "0 2" "and runs to its end"

mkfifo "$TMP/in"
"$O/tests/prog/markers_x86_64" <"$TMP/in" >"$TMP/said" &
bystander=$!
children+=($bystander)
exec 7>"$TMP/in"
wait_for grep -q . "$TMP/said"
(sleep 1; echo q) | "$O/ebtrace" -f ndjson -o "$TMP/t" -- "$O/tests/prog/markers_x86_64" >"$TMP/out" 2>"$TMP/err" 7>&- &
tracer=$!
wait_for grep -qs . "$TMP/out"
echo s >&7
wait_for eval '[ $(wc -l <"$TMP/said") -ge 2 ]'
is "$(sed -n '2s/ .*//p' "$TMP/said")" 0 "semaphores of a bystander with the same markers stay at 0" ||
	diag "$(cat "$TMP/said")"
echo q >&7
exec 7>&-
end_well $tracer
# A program that ebtrace starts is probed in all that run its file, where no other process does.
mkfifo "$TMP/ours" "$TMP/theirs"
"$O/ebtrace" -v -f ndjson -o "$TMP/t" -- "$O/tests/prog/markers_x86_64" <"$TMP/ours" >"$TMP/out" 2>"$TMP/err" &
tracer=$!
exec 7>"$TMP/ours"
wait_for grep -qs . "$TMP/out"
ask() { # DESCRIPTOR FILE LETTER: the answer
	local lines file=$2
	lines=$(wc -l <"$file")
	echo "$3" >&"$1"
	wait_for eval '[ $(wc -l <"$file") -gt $lines ]'
	sed -n "$((lines + 1))p" "$file"
}
ask 7 "$TMP/out" f >/dev/null
child=$(ask 7 "$TMP/out" c)
kill -USR1 "$child"
wait_for grep -qs '^State:.Z' "/proc/$child/status"
"$O/tests/prog/markers_x86_64" <"$TMP/theirs" >"$TMP/said" 7>&- &
bystander=$!
children+=($bystander)
exec 6>"$TMP/theirs"
wait_for grep -q . "$TMP/said"
ask 6 "$TMP/said" f >/dev/null
# Before Linux 6.10 each process has its own probes from the begin.
grep -q 'no usable uprobe_multi links' "$TMP/err" || wait_for grep -q 'from now on each process is probed by itself' "$TMP/err"
wait_for eval '[ "$(ask 6 "$TMP/said" s | cut -d" " -f1)" = 0 ]'
is "$(ask 6 "$TMP/said" s | cut -d" " -f1)" 0 "one that comes later is rid of the probes when it first passes one" || diag "$(cat "$TMP/err")"
ask 7 "$TMP/out" f >/dev/null
late=$(ask 7 "$TMP/out" c)
kill -USR1 "$late"
wait_for grep -qs '^State:.Z' "/proc/$late/status"
echo q >&6
echo q >&7
exec 6>&- 7>&-
wait $tracer
is $? 0 "the program runs to its end" || diag "$(cat "$TMP/err")"
is "$(jq -s -c --argjson child "$child" --argjson late "$late" --argjson other "$bystander" \
	'map(select(.kind == "begin").pid) | [length, (map(select(. == $child)) | length), (map(select(. == $late)) | length), (map(select(. == $other)) | length)]' "$TMP/t")" \
	'[4000,1000,1000,0]' "before and after, it and its children are seen, each event once" || diag "$(cat "$TMP/err")"

# Where a marker asks for a ring, one that comes later would be asked, too: each process has its own probes then.
"$O/ebtrace" -v --ring-request always -f ndjson -o "$TMP/t" -- "$O/tests/prog/markers_x86_64" <"$TMP/ours" >"$TMP/out" 2>"$TMP/err" &
tracer=$!
exec 7>"$TMP/ours"
wait_for grep -qs 'attached to' "$TMP/err"
wait_for grep -qs . "$TMP/out"
"$O/tests/prog/markers_x86_64" <"$TMP/theirs" >"$TMP/said" 7>&- &
children+=($!)
exec 6>"$TMP/theirs"
wait_for grep -q . "$TMP/said"
mine=$(ask 7 "$TMP/out" s | cut -d" " -f1)
[ "${mine:-0}" -gt 0 ] && [ "$(ask 6 "$TMP/said" s | cut -d" " -f1)" = 0 ]
ok $? "where programs are asked for rings, one that comes later has no probe" || diag "$mine" "$(cat "$TMP/err")"
echo q >&6
echo q >&7
exec 6>&- 7>&-
wait $tracer
# So it is where they are in a library, which others may have mapped.
cat >"$TMP/emits.py" <<-END
	import ctypes, sys, time
	probes = ctypes.CDLL(sys.argv[1])
	for i in range(int(sys.argv[2])):
	    probes.ebt_emit_begin(11)
	    probes.ebt_emit_end(11)
	    time.sleep(0.002)
END
library=$(realpath "$O/libebtrace-probes.so")
"$O/ebtrace" -v --mode probes -f ndjson -o "$TMP/t" -- python3 "$TMP/emits.py" "$library" 1000 >"$TMP/out" 2>"$TMP/err" &
tracer=$!
wait_for grep -qs 'attached to' "$TMP/err"
python3 "$TMP/emits.py" "$library" 300
wait $tracer
is "$? $(grep -c 'probed by itself' "$TMP/err") $(jq -s 'map(select(.kind == "begin")) | length > 500' "$TMP/t")" "0 0 true" \
	"markers of a library are probed in the traced process alone" || diag "$(cat "$TMP/err")"
done_testing
