#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# stat of many processes: put together by program, and the greatest alone.
. tests/lib.sh
need_command jq
for name in alpha beta gamma; do cp "$O/tests/prog/minigc" "$TMP/$name"; done
# run NAME ROUNDS TIMES: long enough to be seen while it lives
run() { for ((i = 0; i < $3; i++)); do echo "'$TMP/$1' -q -t 1 -n $2 -r $(($2 * 12)) -c /dev/null"; done; }
{
	run alpha 300 6
	run beta 3000 5
	run gamma 1000 1
	echo true
} >"$TMP/many"
"$O/ebtrace" -q --mode ring -o "$TMP/many.ebt" -- sh "$TMP/many" 2>"$TMP/err"
is $? 0 "twelve processes are recorded" || diag "$(cat "$TMP/err")"
"$O/ebtrace" stat --json "$TMP/many.ebt" >"$TMP/json"
is "$(jq -c '[.processes[].comm] | group_by(.) | map([.[0], length])' "$TMP/json")" '[["alpha",6],["beta",5],["gamma",1]]' \
	"JSON has each of them, by name"
stat() { "$O/ebtrace" stat "$@" >"$TMP/out" 2>"$TMP/err"; }
headings() { sed -n 's/^\(\(Program\|Process\|All\) .*\):$/\1/p' "$TMP/out" | sed 's/, ebtrace-probes [0-9.]*//'; }
ranking() { jq -r '.processes | group_by(.comm) | sort_by(-(map(.gc_ns) | add))[] |
	"Program \(.[0].comm), \(length) process\(if length == 1 then "" else "es" end)"' "$TMP/json"; }
all="All 12 processes (--by process shows each)"

stat "$TMP/many.ebt"
is "$? $(headings)" "0 $(ranking)
$all" "more than eight: a section for each program, the one with the most GC time first"
cp "$TMP/out" "$TMP/default"
stat --by program "$TMP/many.ebt"
same_file "$TMP/out" "$TMP/default" "--by program is that"
for name in alpha beta gamma; do
	is "$(awk -v n="$name," '/^Program/ { on = $2 == n } on && $1 == "minor" && $2 ~ /^[0-9]+$/ { print $2; exit }' "$TMP/out")" \
		"$(jq --arg n $name '[.processes[] | select(.comm == $n).phases[] | select(.name == "minor").count] | add' "$TMP/json")" \
		"the minor collections of $name are those of its processes together"
done
stat --by process "$TMP/many.ebt"
is "$(headings | grep -c '^Process [0-9]* (\(alpha\|beta\|gamma\))')" 12 "--by process: a section for each"
stat --top 1 "$TMP/many.ebt"
is "$(headings)" "$(ranking | head -1)
$all" "--top 1: the first alone, and all"
grep -qx '(2 more programs with less GC time; --top 3 shows them)' "$TMP/out"
ok $? "what is not shown is reported" || diag "$(cat "$TMP/out")"
stat --by process --top 2 "$TMP/many.ebt"
is "$(headings | sed -n 's/^Process \([0-9]*\).*/\1/p' | xargs)" \
	"$(jq -r '[.processes | sort_by(-.gc_ns)[:2][].pid] | map(tostring) | join(" ")' "$TMP/json")" \
	"--by process --top 2: the two that have collected longest"
stat --top 99 "$TMP/many.ebt"
same_file "$TMP/out" "$TMP/default" "--top of more than there are: all"

head -8 "$TMP/many" >"$TMP/few"
"$O/ebtrace" -q --mode ring -o "$TMP/few.ebt" -- sh "$TMP/few" 2>"$TMP/err"
stat "$TMP/few.ebt"
is "$(headings | grep -c '^Process')" 8 "eight: a section for each process"
for args in "--by family" "--top 0" "--top x" "--json --top 1" "--json --by program"; do
	# shellcheck disable=SC2086
	stat $args "$TMP/many.ebt"
	is $? 2 "stat $args is a usage error"
done
done_testing
