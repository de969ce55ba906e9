#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is shown and how: the names that -e may match, one thread's events, times in text.
. tests/lib.sh
need_command jq
need_command xz
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/1.events"
ring="--ocaml-version 5.3 $TMP/1.events"
# shellcheck disable=SC2086
"$O/ebtrace" -f ndjson $ring >"$TMP/all"

# Names.
"$O/ebtrace" list --events --json >"$TMP/events"
is $? 0 "list --events --json succeeds"
jq -es 'length > 90 and all(.[]; (.family | IN("kind", "phase", "counter", "lifecycle")) and .name != "" and .help != "")' \
	"$TMP/events" >/dev/null
ok $? "every event has a family, a name and what it means"
is "$("$O/ebtrace" list --events | awk '{ print $1, $2 }' | cksum)" \
	"$(jq -r '.family + " " + .name' "$TMP/events" | cksum)" "the list for people has the same"
is "$(jq -r '.name' "$TMP/events" | sort | uniq -d)" "" "no name stands for two things"
is "$(jq -r 'select(.ts != null) | if .kind | IN("begin", "end", "counter", "lifecycle") then .name else .kind end' "$TMP/all" |
	sort -u | comm -13 <(jq -r .name "$TMP/events" | sort) -)" "" "what a program shows is in the list"
is "$(sed -n 's/^EBT_\(PHASE\|COUNTER_ID\|LIFECYCLE_ID\)([0-9]*, \([a-z_]*\).*/\2/p' include/ebtrace/events.def | sort | cksum)" \
	"$(jq -r 'select(.family != "kind").name' "$TMP/events" | sort | cksum)" "and all that there is"
while read -r name; do
	# shellcheck disable=SC2086
	is "$("$O/ebtrace" -f ndjson -e "$name" $ring | jq -c 'select(.ts != null)' | cksum)" \
		"$(jq -c --arg n "$name" 'select(.ts != null and (.kind == $n or (.kind | IN("begin", "end", "counter", "lifecycle")) and .name == $n))' "$TMP/all" | cksum)" \
		"-e $name selects what the list names"
done < <(printf '%s\n' minor begin int ring_start minor_promoted)

# Times.
# shellcheck disable=SC2086
times() { "$O/ebtrace" "$@" | sed -n 's/^\[ *\([0-9:.]*\)\].*/\1/p'; }
jq -r 'select(.ts != null).ts' "$TMP/all" >"$TMP/ts"
# shellcheck disable=SC2086
times $ring >"$TMP/got"
awk 'NR == 1 { first = $1 } { printf "%.9f\n", ($1 - first) / 1e9 }' "$TMP/ts" >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "times of text are those since the first event"
# shellcheck disable=SC2086
times --time start $ring >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "--time start is that"
# shellcheck disable=SC2086
times --time delta $ring >"$TMP/got"
awk '{ printf "%.9f\n", NR == 1 ? 0 : ($1 - last) / 1e9; last = $1 }' "$TMP/ts" >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "--time delta: since the event before"
# shellcheck disable=SC2086
times --time wall $ring >"$TMP/got" 2>"$TMP/err"
# shellcheck disable=SC2086
times $ring >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "--time wall of a ring file, which does not record it: since the first event"
is "$(wc -l <"$TMP/err")" 1 "and that is reported"
"$O/ebtrace" --mode ring -q -o "$TMP/run.ebt" -- "$O/tests/prog/minigc" -q -t 1 -n 200 -c /dev/null
TZ=UTC times --time wall "$TMP/run.ebt" >"$TMP/got"
# jq would round them.
"$O/ebtrace" -f chrome "$TMP/run.ebt" |
	sed -n 's/.*"monotonic_ns":\([0-9]*\),"realtime_ns":\([0-9]*\).*/\1 \2/p' >"$TMP/clock"
read -r monotonic realtime <"$TMP/clock"
"$O/ebtrace" -f ndjson "$TMP/run.ebt" | sed -n 's/.*"ts":\([0-9]*\),.*/\1/p' | while read -r ts; do
	ns=$((realtime + ts - monotonic))
	printf '%02d:%02d:%02d.%09d\n' $((ns / 3600000000000 % 24)) $((ns / 60000000000 % 60)) \
		$((ns / 1000000000 % 60)) $((ns % 1000000000))
done >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "--time wall of a run: the time of day of each event"
TZ=XYZ-5:30 times --time wall "$TMP/run.ebt" | head -1 >"$TMP/india"
is "$(($(date -ud "1970-01-01 $(cat "$TMP/india")" +%s) % 86400))" \
	"$((($(date -ud "1970-01-01 $(head -1 "$TMP/got")" +%s) + 19800) % 86400))" "in the time zone of the reader"
"$O/ebtrace" --mode ring -q --time delta --max-size 200K --rotate 9 -o "$TMP/part.txt" -- \
	"$O/tests/prog/minigc" -q -t 1 -n 20000 -r 15000 -c /dev/null
ls "$TMP"/part.[1-9].txt >/dev/null 2>&1 && awk -F'[][]' 'NF > 1 && FNR > 9 && $2 >= 0.5 { bad = 1 } END { exit bad }' "$TMP"/part*.txt
ok $? "--time holds for each file of several"
"$O/ebtrace" --time sideways "$TMP/1.events" >"$TMP/out" 2>&1
is $? 2 "an unknown time is a usage error"
"$O/ebtrace" --time wall -f ndjson "$TMP/1.events" >"$TMP/out" 2>&1
is "$? $(cat "$TMP/out")" "2 ebtrace: --time applies to text; ndjson has its own times" "so is one for another format"

# Threads.
# shellcheck disable=SC2086
"$O/ebtrace" -f ndjson -t 4711 $ring >"$TMP/got" 2>"$TMP/err"
is "$? $(jq -s 'map(select(.ts != null)) | length' "$TMP/got")" "0 0" "-t: events without a thread are left out"
is "$(cut -d' ' -f2-5 "$TMP/err")" "253 events are left" "and counted in a line"
"$O/ebtrace" -t no "$TMP/1.events" >"$TMP/out" 2>&1
is $? 2 "a thread that is no number is a usage error"
done_testing
