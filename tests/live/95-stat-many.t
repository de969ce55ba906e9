#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# stat of more processes than keep numbers of their own: the others are added to their programs, and
# nothing is missing from the sums.
. tests/lib.sh
need_command jq
for name in alpha beta; do cp "$O/tests/prog/minigc" "$TMP/$name"; done
cat >"$TMP/many" <<END
for i in \$(seq 50); do
	"$TMP/alpha" -q -t 1 -n 200 -r 3000 -c /dev/null
	"$TMP/beta" -q -t 1 -n 100 -r 2000 -c /dev/null
done
"$TMP/alpha" -q -t 1 -s 9 -r 1000 -c /dev/null
END
run() { ends_with 0 "$O/ebtrace" stat --mode ring -o "$TMP/$1" "${@:2}" -- sh "$TMP/many" 2>"$TMP/err"; }
run text &
ends_with 0 "$O/ebtrace" stat --mode ring --by process -o "$TMP/each" -- sh "$TMP/many" 2>"$TMP/err.each" &
run json --json
is $? 0 "a hundred programs that end, and one that outlives them" || diag "$(cat "$TMP/err")"
wait

ends_with 0 "$O/ebtrace" stat --json-schema >"$TMP/schema"
is "$(jq -r --slurpfile s "$TMP/schema" '$s[0] as $schema | '"$(grep -v '^#' tests/stat-schema.jq)" "$TMP/json" 2>&1)" "" \
	"the JSON is valid by its schema"
jq -e '.processes | length >= 65 and length < 101' "$TMP/json" >/dev/null
ok $? "64 that have ended have numbers of their own, and each that lives" || diag "$(jq '.processes | length' "$TMP/json")"
jq -e '[.programs[].gc_ns / 1] | length > 0' "$TMP/json" >/dev/null
ok $? "the others are added up by program" || diag "$(jq -c '.programs' "$TMP/json")"
is "$(jq -c '(.processes | length) + ([.programs[].processes] | add)' "$TMP/json")" 101 "each process is in one of them"
is "$(jq -r '.programs[].comm' "$TMP/json" | sort | uniq -d)" "" "and a program is there once"
is "$(jq -c '[.total.collections.minor, .total.pauses.count, .total.gc_ns]' "$TMP/json")" \
	"$(jq -c '.processes + .programs | [([.[].collections.minor] | add), ([.[].pauses.count] | add), ([.[].gc_ns] | add)]' "$TMP/json")" \
	"and the total has all collections, pauses and GC time of both"

is "$(sed -n 's/^Program .*, \([0-9]*\) process.*/\1/p' "$TMP/text" | awk '{ n += $1 } END { print n }')" 101 \
	"as text: sections of programs that have all processes"
grep -qx 'All 101 processes (--by process shows those with the most GC time):' "$TMP/text"
ok $? "whose line names what --by process shows"
is "$(grep -c '^Process ' "$TMP/each") $(grep -c '^Program .* process' "$TMP/each") $(grep -c '^All 101 processes:' "$TMP/each")" \
	"$(grep -c '^Process ' "$TMP/each") $(grep '^Program' "$TMP/each" | sed 's/,.*//' | sort -u | wc -l) 1" \
	"--by process: sections of processes, then one for the others of each program"
[ "$(grep -c '^Process ' "$TMP/each")" -ge 65 ]
ok $? "as many as have numbers of their own" || diag "$(grep -E '^(Process|Program|All)' "$TMP/each")"
done_testing
