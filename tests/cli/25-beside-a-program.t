#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Who has standard output beside -- PROGRAM: what the program prints and data are never mixed.
. tests/lib.sh
need_command jq
need_command script
need_command xz
gc="$O/tests/prog/minigc"
prog=(sh -c "echo printed; exec '$gc' -q -t 1 -n 300 -c /dev/null")
quoted=$(printf '%q ' "${prog[@]}")

for format in ndjson perfetto chrome fxt ebt memtrace pagetrace; do
	"$O/ebtrace" -f $format -- sh -c "touch '$TMP/ran'" >"$TMP/out" 2>"$TMP/err"
	is "$? $(wc -c <"$TMP/out") $(wc -l <"$TMP/err") $(grep -c -- 'try: -o FILE, or -o - ' "$TMP/err")" "2 0 1 1" \
		"-f $format beside a program needs -o, as the line on standard error says"
done
[ ! -e "$TMP/ran" ]
ok $? "and the program is not run"
"$O/ebtrace" --mode ring -- "${prog[@]}" >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -cx printed "$TMP/out") $(tail -1 "$TMP/out" | grep -c '^# [0-9]* events')" "0 1 1" "text stays beside what the program prints"
"$O/ebtrace" --mode ring -f text -o - -- "${prog[@]}" >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -cx printed "$TMP/out") $(grep -c '^# [0-9]* events' "$TMP/out")" "0 1 1" "also with -o -"

# What a user types. The program prints a line that is no JSON.
"$O/ebtrace" --mode ring -f ndjson -o - -- "${prog[@]}" 2>"$TMP/err" | jq -r 'select(.kind == "summary").events' >"$TMP/out"
is "${PIPESTATUS[*]} $(grep -c '^[1-9][0-9]*$' "$TMP/out") $(grep -cx printed "$TMP/err")" "0 0 1 1" \
	"-f ndjson -o - -- PROGRAM | jq: the program prints on standard error"
"$O/ebtrace" -q --mode ring -f ndjson -o /dev/stdout -- "${prog[@]}" 2>"$TMP/err" | jq -es 'length > 100' >"$TMP/out"
is "${PIPESTATUS[*]} $(cat "$TMP/out") $(cat "$TMP/err")" "0 0 true printed" "/dev/stdout is standard output by another name"
"$O/ebtrace" --mode ring -f ebt -o - -- "${prog[@]}" 2>/dev/null | "$O/ebtrace" -f ndjson - 2>"$TMP/err" | jq -es 'length > 100' >"$TMP/out"
is "${PIPESTATUS[*]} $(cat "$TMP/out") $(cat "$TMP/err")" "0 0 0 true " "a capture through a pipe is whole"
"$O/ebtrace" stat -q --json --mode ring -o - -- "${prog[@]}" 2>"$TMP/err" | jq .total.gc_ns >"$TMP/out"
is "${PIPESTATUS[*]} $(grep -c '^[1-9]' "$TMP/out") $(cat "$TMP/err")" "0 0 1 printed" "stat --json -o - -- PROGRAM | jq"
"$O/ebtrace" stat -v --json --mode ring -o - -- "${prog[@]}" 2>"$TMP/err" >/dev/null
is "$(grep -c "standard output has the data; that of 'sh' goes to standard error" "$TMP/err")" 1 "-v says where its standard output goes"
"$O/ebtrace" stat -q --mode ring -o - -- "${prog[@]}" >"$TMP/out" 2>"$TMP/err"
is "$(grep -cx printed "$TMP/out") $(grep -c "^  GC time" "$TMP/out") $(cat "$TMP/err")" "1 1 " "a report in text stays beside what the program prints"
"$O/ebtrace" -q --mode ring -f ndjson -o - -- "${prog[@]}" 2>&- | jq -es 'length > 100' >"$TMP/out"
is "$(cat "$TMP/out")" true "where standard error is closed, the program has no standard output"
"$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- "${prog[@]}" >"$TMP/out" 2>"$TMP/err"
is "$? $(cat "$TMP/out" "$TMP/err")" "0 printed" "with -o FILE the program keeps its standard output"

"$O/ebtrace" mem record -q --rate 1 -o - -- "${prog[@]}" 2>"$TMP/err" | "$O/ebtrace" info --json - | jq -r .format >"$TMP/out"
is "${PIPESTATUS[*]} $(cat "$TMP/out") $(cat "$TMP/err")" "0 0 0 memtrace printed" "mem record -o - -- PROGRAM | ebtrace ..."
"$O/ebtrace" mem record --children -o - -- true >"$TMP/out" 2>"$TMP/err"
is "$? $(cat "$TMP/out" "$TMP/err")" "2 ebtrace: --children writes a file for each process: -o FILE" "but not of several processes"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$TMP"
	cp "$O/ebtrace" "$O/libebtrace-preload.so" "$TMP"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/ebtrace" mem record -q --rate 1 -o - -- sh -c 'echo printed' 2>"$TMP/err" |
		"$O/ebtrace" info --json - | jq -r .format >"$TMP/out"
	is "${PIPESTATUS[*]} $(cat "$TMP/out") $(cat "$TMP/err")" "0 0 0 memtrace printed" "also into a pipe that another user has opened"
fi
script -qec "'$O/ebtrace' mem record -o - -- $quoted" /dev/null >"$TMP/tty" 2>&1
is "$? $(tr -d '\r' <"$TMP/tty")" "2 ebtrace: memtrace is not for a terminal; try: -o FILE" "but not to a terminal"

xz -dc tests/data/memtrace/single.ctf.xz >"$TMP/single.ctf"
for report in "mem -f pprof $TMP/single.ctf" "mem hotspots -f pprof -o - $TMP/single.ctf" \
	"pages map -f png -o - -- sh -c 'echo ran'" "pages -f pagetrace $TMP/none.pt"; do
	format=${report#*-f }
	script -qec "'$O/ebtrace' $report" /dev/null >"$TMP/tty" 2>&1
	is "$? $(tr -d '\r' <"$TMP/tty")" "2 ebtrace: ${format%% *} is not for a terminal; try: -o FILE" "${report%% /*}: not to a terminal"
done

# A binary report would be mixed with messages, and with what the program prints on standard error.
for report in "pages -f ebt" "mem -f pprof" "pages map -f png"; do
	want="2 ebtrace: on standard error ${report#*-f } would be mixed with what 'touch' prints; try: -o FILE, or -o - (what it prints goes to standard error)"
	# shellcheck disable=SC2086
	"$O/ebtrace" $report -- touch "$TMP/ran" >"$TMP/out" 2>"$TMP/err"
	is "$? $(cat "$TMP/out" "$TMP/err")" "$want" "$report beside a program needs -o, also where standard error is a file"
	script -qec "'$O/ebtrace' $report -- touch '$TMP/ran'" /dev/null >"$TMP/tty" 2>&1
	is "$? $(tr -d '\r' <"$TMP/tty")" "$want" "or a terminal"
done
[ ! -e "$TMP/ran" ]
ok $? "and the program is not run"

# Reports go to standard error, as those of perf stat, and an empty pipe gets a hint.
hint="ebtrace: the report is on standard error; the pipe got what 'sh' prints, and with -o - the report"
"$O/ebtrace" stat --mode ring -- "${prog[@]}" 2>"$TMP/err" | cat >"$TMP/out"
is "$(cat "$TMP/out") $(tail -1 "$TMP/err")" "printed $hint, too" "stat -- PROGRAM | ...: the last line on standard error names -o -"
"$O/ebtrace" stat -q --mode ring -- "${prog[@]}" 2>"$TMP/err" | cat >/dev/null
is "$(grep -c 'ebtrace: ' "$TMP/err")" 0 "-q: no hint"
"$O/ebtrace" stat --mode ring -- "${prog[@]}" >"$TMP/out" 2>"$TMP/err"
is "$(grep -c 'the report is on' "$TMP/err")" 0 "nor where standard output is no pipe"
"$O/ebtrace" stat --mode ring -- "${prog[@]}" 2>&1 | cat >"$TMP/out"
is "$(grep -c "^  GC time" "$TMP/out") $(grep -c 'the report is on' "$TMP/out")" "1 0" "nor where the pipe has standard error, too"
"$O/ebtrace" stat --json --mode ring -- "${prog[@]}" 2>"$TMP/err" | cat >/dev/null
jq -e .total.gc_ns "$TMP/err" >/dev/null
ok $? "stat --json 2>FILE -- PROGRAM | ...: the file is JSON alone"
script -qec "'$O/ebtrace' stat --json --mode ring -- $quoted | cat >'$TMP/out'" /dev/null >"$TMP/tty" 2>&1
is "$(tr -d '\r' <"$TMP/tty" | tail -1) $(cat "$TMP/out")" "$hint alone printed" "stat --json -- PROGRAM | jq on a terminal has the hint, too"
for command in stat mem pages; do
	"$O/ebtrace" $command --help | sed -n '/^  *or:/d; 1,8p' | tr '\n' ' ' | grep -q 'of a PROGRAM goes to stderr.* -o - '
	ok $? "$command --help says in its first lines where the report of a PROGRAM goes"
done
done_testing
