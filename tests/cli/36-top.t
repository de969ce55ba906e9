#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# top without a screen: --once and --json of recordings, whose numbers are those of stat, its schema, and what it
# refuses. tests/live/43-top.t has the screen.
. tests/lib.sh
need_command jq
need_command xz
ebt=$O/ebtrace
export LC_ALL=C.UTF-8
unset COLUMNS NO_COLOR

"$ebt" top --json-schema >"$TMP/schema"
is $? 0 "the schema is printed"
wrong() {
	jq -r --slurpfile s "$TMP/schema" '$s[0] as $schema | '"$(grep -v '^#' tests/stat-schema.jq)" "$@" 2>&1
}
stat='[.processes[] | [.pid, .comm, .gc_ns, .elapsed_ns, .gc_percent, .pauses.count, .pauses.percentiles_ns."99", .pauses.max_ns,
	(.words.heap_last | if . then . * 8 else . end), .lost.events, .lost.words,
	(if .wall_ns > 0 and .words.minor_allocated then (.words.minor_allocated * 8e9 / .wall_ns | round) else null end)]] | sort'
top='[.rows[] | [.pid, .program, .gc_ns, .elapsed_ns, .gc_percent, .pauses, .p99_ns, .max_ns, .heap_bytes, .lost.events, .lost.words,
	(.alloc_bytes_per_s | if . then round else . end)]] | sort'
for version in $RELEASES; do
	for name in a-gcchurn b-domains4 c-user; do
		xz -dc "tests/data/ocaml-$version/$name.events.xz" >"$TMP/ring"
		"$ebt" -q --ocaml-version "$version" -o "$TMP/run.ebt" "$TMP/ring"
		"$ebt" stat -q --json "$TMP/run.ebt" >"$TMP/stat"
		"$ebt" top --json "$TMP/run.ebt" >"$TMP/top" 2>"$TMP/err"
		is "$? $(<"$TMP/err")" "0 " "$version/$name: a frame as JSON"
		is "$(wrong "$TMP/top")" "" "$version/$name: it is as its schema says"
		is "$(jq -c "$top" "$TMP/top")" "$(jq -c "$stat" "$TMP/stat")" "$version/$name: its numbers are those of stat"
		is "$(jq -c '[.total | .gc_percent, .pauses, .p99_ns, .max_ns, .lost.words]' "$TMP/top")" \
			"$(jq -c '[.total | .gc_percent, .pauses.count, .pauses.percentiles_ns."99", .pauses.max_ns, .lost.words]' "$TMP/stat")" \
			"$version/$name: so is the total"
	done
done
# A key that is missing is noticed.
jq -c 'del(.rows[0].p99_ns)' "$TMP/top" >"$TMP/less"
[ -n "$(wrong "$TMP/less")" ]
ok $? "a row without one of its keys is not as the schema says"

# A capture of several processes.
capture=$TMP/several.ebt
mkdir "$TMP/rings"
i=0
for name in b-domains4 c-user d-wrapped h-reuse; do
	i=$((i + 1))
	xz -dc "tests/data/ocaml-5.3.0/$name.events.xz" >"$TMP/rings/$i.events"
done
"$ebt" -q --ocaml-version 5.3 -o "$capture" "$TMP"/rings/*.events
"$ebt" top --json "$capture" >"$TMP/top"
is "$(jq -c '[.running + .ended, (.rows | length), .group, .sort]' "$TMP/top")" '[4,4,"process","gc"]' "four processes, by their share"
jq -e '[.rows[].gc_percent] | . == (sort | reverse)' "$TMP/top" >/dev/null
ok $? "the largest is the first"
for column in p99:p99_ns max:max_ns alloc:alloc_bytes_per_s heap:heap_bytes; do
	"$ebt" top --json --sort "${column%:*}" "$capture" |
		jq -e --arg key "${column#*:}" '[.rows[][$key]] | . == (sort | reverse)' >/dev/null
	ok $? "--sort ${column%:*}"
done
"$ebt" top --json --sort pid "$capture" | jq -e '[.rows[].pid] | length == 4 and . == sort' >/dev/null
ok $? "--sort pid: the smallest is the first"
is "$("$ebt" top --json --top 2 --sort pid "$capture" | jq -c '[.rows[].pid]')" \
	"$("$ebt" top --json --sort pid "$capture" | jq -c '[.rows[:2][].pid]')" "--top 2"
"$ebt" top --json --group program "$capture" >"$TMP/top"
is "$(wrong "$TMP/top")" "" "--group program: as the schema says"
is "$(jq -c '[.rows | length, .[0].processes, .[0].gc_ns]' "$TMP/top")" "[1,4,$(jq .total.gc_ns "$TMP/top")]" \
	"--group program: one row of four processes"
for group in container unit; do
	"$ebt" top --json --group $group "$capture" >"$TMP/top"
	is "$(wrong "$TMP/top")" "" "--group $group: as the schema says"
	is "$(jq -c --arg g $group '[.rows[] | .[$g]]' "$TMP/top")" '["-"]' "--group $group: of a recording none is known"
done

# The text, byte for byte; GOLDEN=rewrite (make golden) writes it anew.
golden() { # NAME COLUMNS LOCALE OPTIONS...
	local file=tests/golden/top-$1.txt
	COLUMNS=$2 LC_ALL=$3 "$ebt" top --once "${@:4}" "$capture" >"$TMP/text" 2>"$TMP/err"
	is "$? $(<"$TMP/err")" "0 " "$1: one frame"
	[ "${GOLDEN:-}" = rewrite ] && cp "$TMP/text" "$file"
	same_file "$TMP/text" "$file" "$1: it is as it has been"
}
golden 80 80 C.UTF-8
golden 132 132 C.UTF-8
golden ascii-132 132 C --tree
golden narrow 44 C.UTF-8 --sort max --top 2
golden group 80 C.UTF-8 --group program
is "$(LC_ALL=C "$ebt" top --once "$capture" | LC_ALL=C grep -c '[^ -~]')" 0 "without UTF-8 all of it is ASCII"
"$ebt" top --once -o "$TMP/file" "$capture"
"$ebt" top --once "$capture" >"$TMP/text"
same_file "$TMP/file" "$TMP/text" "-o FILE has the same"
"$ebt" top -f json "$capture" >"$TMP/text"
"$ebt" top --json "$capture" >"$TMP/top"
same_file "$TMP/text" "$TMP/top" "-f json is --json"

# A process that runs, by its ring alone, and a PROGRAM.
EBTRACE_START=1 EBTRACE_DIR=$TMP/rings "$O/tests/prog/minigc" -q -s 60 -r 2000 -t 2 -c /dev/null &
program=$!
children+=("$program")
wait_for test -e "$TMP/rings/$program.events"
"$ebt" top --json --mode ring --interval 300ms -p "$program" >"$TMP/top" 2>"$TMP/err"
is "$? $(<"$TMP/err")" "0 " "a process that runs: a frame of an interval"
is "$(wrong "$TMP/top")" "" "as the schema says"
is "$(jq -c '.rows | [length, .[0].pid, .[0].program, .[0].parent, .[0].ended]' "$TMP/top")" \
	"[1,$program,\"minigc\",$$,false]" "of that process"
jq -e '(.at_ns - .begin_ns) as $ns | $ns >= 3e8 and $ns < 6e9 and .rows[0].pauses > 50 and .rows[0].alloc_bytes_per_s > 1000' \
	"$TMP/top" >/dev/null
ok $? "with pauses and allocation of that time" || diag "$(<"$TMP/top")"
"$ebt" top --once -- "$O/tests/prog/minigc" -q -n 500 -c /dev/stdout >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -c minigc "$TMP/err") $(grep -c '^0 begin [1-9][0-9]*$' "$TMP/out")" "0 1 1" "a PROGRAM prints where it does, and the frame is on standard error" ||
	diag "$(<"$TMP/err")" "$(<"$TMP/out")"

# What is refused.
refuses() { # STATUS MESSAGE WORDS...
	"$ebt" top "${@:3}" >"$TMP/out" 2>"$TMP/err" </dev/null
	is "$? $(head -1 "$TMP/err")" "$1 ebtrace: $2" "refused: top ${*:3}"
}
refuses 2 "standard output is no terminal; --once prints one frame, --json prints one as JSON"
refuses 2 "-a traces children, too, and switches no ring on: it takes no --no-follow or --ring-request" --no-follow --once
refuses 2 "standard output is no terminal; --once prints one frame, --json prints one as JSON" "$capture"
refuses 2 "-o FILE is for one frame: --once, or --json" -o x "$capture"
refuses 2 "--top N is for one frame: --once, or --json; the screen has keys to scroll" --top 3 "$capture"
refuses 2 "--interval of top must be 50ms or more" --once --interval 49.9ms -p 1
refuses 5 "no process 999999999; 'ebtrace list' shows what can be traced" --once --interval 50ms -p 999999999
refuses 2 "top has no format 'svg'; it has: text, json" -f svg "$capture"
refuses 5 "no process 999999999; 'ebtrace list' shows what can be traced" --once -p 999999999
done_testing
