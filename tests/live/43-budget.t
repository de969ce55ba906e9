#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --cpu and --memory: a program of many events has less recorded of it, at once and in so many words, all of it
# is counted, and when it is quiet again all is recorded again.
. tests/lib.sh
need_root
need_command jq
prog=$O/tests/prog
gc=$(realpath "$prog/minigc")
export EBTRACE_DIR=$TMP

# emitted FILES...: what the programs say.
emitted() { awk '{ n += $3 } END { printf "%d", n }' "$@"; }
# recorded FILE: their events, of the kinds that they count.
recorded() { grep -cE '"kind":"(begin|end|counter|alloc_sizes|lifecycle)"' "$1"; }
# lost FILE: counted losses in the run.
lost() { grep '"kind":"lost"' "$1" | jq -s '[.[] | select(.history != true) | .events // 0] | add // 0'; }
steps() { grep -oE 'from now on [a-z ]*' "$TMP/err" | cut -d' ' -f4- | paste -sd'|'; }
follows_schema() { # REPORT FILE
	ends_with 0 "$O/ebtrace" "$1" --json-schema >"$TMP/schema"
	is "$(jq -r --slurpfile s "$TMP/schema" '$s[0] as $schema | '"$(grep -v '^#' tests/stat-schema.jq)" "$2" 2>&1)" '' \
		"$1: the JSON is valid by its schema"
}
# begin NAME ARGS...: a program that waits; go lets it begin.
begin() {
	local name=$1
	shift
	mkfifo "$TMP/$name.go" 2>/dev/null
	"$gc" -q -w -c "$TMP/$name" "$@" <"$TMP/$name.go" &
	PID=$!
	exec 8>"$TMP/$name.go"
}
go() {
	echo >&8
	exec 8>&-
}
rings='events of rings are read there alone'
counted='events are counted'
all='all events are recorded'

# A million a second, as far as the machine has it; then 200, which cost a slow machine less than the budget, too.
"$O/ebtrace" trace -vv --cpu 10% -f ndjson -o "$TMP/t" -- sh -c "
	EBTRACE_START=1 '$gc' -q -s $(lasting 5) -r 1000000 -c '$TMP/loud'
	EBTRACE_START=1 exec '$gc' -q -s $(lasting 18) -r 50 -c '$TMP/quiet'" 2>"$TMP/err"
is $? 0 'the program runs to its end'
first=$(grep -E 'budget:|from now' "$TMP/err" | grep -n 'from now' | head -1 | cut -d: -f1)
[ "$first" -le 4 ]
ok $? 'the first step down comes within three seconds' || diag "$(grep -E 'budget:|from now' "$TMP/err" | head -8)"
is "$(steps | grep -oE "^$rings\|$counted" | head -1)" "$rings|$counted" 'from all events to those of rings, and to counts'
like() { grep -qE "$1" "$TMP/err"; }
like '^ebtrace: --cpu 10%: ebtrace takes [0-9.]+ % of a CPU, and its probes take [0-9.]+ %; from now on'
ok $? 'a line says why, and what is recorded from now on'
is "$(steps | grep -oE "$rings\|$all" | head -1)" "$rings|$all" 'when the program is quiet all is recorded again' ||
	diag "$(grep -E 'budget:|from now' "$TMP/err")"
sum=$(($(recorded "$TMP/t") + $(lost "$TMP/t")))
unwatched=$(tail -1 "$TMP/t" | jq .unwatched_ns)
is "$sum" "$(emitted "$TMP/loud" "$TMP/quiet")" 'events in are events out and those that are lost' ||
	diag "unwatched: $unwatched ns; $(grep '"kind":"lost"' "$TMP/t" | tail -5)"
[ "$(lost "$TMP/t")" -gt 1000 ]
ok $? 'most of the loud part is counted alone'
# A slow machine loses words before the first step, too.
overwritten=$(grep -oP 'ring was overwritten before it was read \(\K\d+' "$TMP/err")
words=$(grep '"kind":"lost"' "$TMP/t" | jq -s '[.[] | select(.history != true) | .words // 0] | add // 0')
[ "${overwritten:-0}" -lt $((words / 10)) ]
ok $? 'no larger ring is advised for what was left out' || diag "${overwritten:-0} words of $words"
is "$(grep '"pid":' "$TMP/t" | jq -s 'last(.[] | select(.kind == "begin")) | has("tid")')" true \
	'the last events have their thread again'

[ "$(grep '"kind":"begin"' "$TMP/t" | grep -vc '"tid"')" -gt 1000 ]
ok $? 'events of rings alone have none'

# Of a program without a ring each event comes through a probe: what is not recorded is counted there.
begin ringless -s "$(lasting 4)"
"$O/ebtrace" trace --cpu 2% --ring-request never -f ndjson -o "$TMP/t" -p $PID 2>"$TMP/err" &
tracer=$!
wait_for took_signals $tracer
sleep "$(lasting 0.5)"
go
wait $PID
end_well $tracer
is "$(($(recorded "$TMP/t") + $(lost "$TMP/t")))" "$(emitted "$TMP/ringless")" 'without a ring: events in are events out and lost'
is "$(steps | grep -oE "$counted" | head -1)" "$counted" 'without a ring: it steps down to counts'
[ "$(grep -c '"kind":"lost"' "$TMP/t")" -lt $((16 + 4 * SLOWNESS)) ]
ok $? 'without a ring: losses are reported once a second' || diag "$(grep -c '"kind":"lost"' "$TMP/t")"

# stat reads rings on watermarks: below that there are counts alone, and the report says how much is missing.
ends_with 0 "$O/ebtrace" stat --json --cpu 1% -o "$TMP/stat.json" -- "$gc" -q -s "$(lasting 4)" -c "$TMP/stat" 2>"$TMP/err"
is "$(steps | cut -d'|' -f1 | grep -oE "$counted|$all|$rings")" "$counted" 'stat: from rings to counts'
is "$(jq '.total.lost.events > 1000' "$TMP/stat.json")" true 'stat: what is not recorded is lost in its report'

is "$(jq -c '.budget | [.level, .changes >= 1, .cpu_limit_percent, .tracer_cpu_percent >= 0,
	.probes_cpu_percent >= 0, .memory_limit_bytes, .memory_bytes]' "$TMP/stat.json")" \
	'["counts",true,1,true,true,null,null]' 'stat: its budget is in the report' || diag "$(jq -c .budget "$TMP/stat.json")"
follows_schema stat "$TMP/stat.json"
ends_with 0 "$O/ebtrace" stat --json --interval 1 --cpu 400% --memory 900M -o "$TMP/stat.json" -- "$gc" -q -s "$(lasting 3)" \
	-r 100 -c "$TMP/stat" 2>"$TMP/err"
is "$(jq -sc 'last.budget | [.changes, .cpu_limit_percent, .memory_limit_bytes, .memory_bytes > 1000000]' \
	"$TMP/stat.json")" '[0,400,943718400,true]' 'stat: a budget that is kept is in each of its reports, with what it costs'
is "$(jq -sc 'all(has("budget"))' "$TMP/stat.json")" true 'stat: from the first one on'
ends_with 0 "$O/ebtrace" top --once --json --mode ring --cpu 300% -o "$TMP/top.json" -- "$gc" -q -s "$(lasting 3)" -r 100 \
	-c "$TMP/top" 2>"$TMP/err"
is "$(jq -c '.budget | [.level, .changes, .cpu_limit_percent]' "$TMP/top.json")" '["rings",0,300]' \
	'top: a frame has it, too' || diag "$(<"$TMP/err")" "$(<"$TMP/top.json")"
follows_schema top "$TMP/top.json"
ends_with 0 "$O/ebtrace" stat --json --mode ring -o "$TMP/stat.json" -- "$gc" -q -s 0.2 -c "$TMP/stat" 2>"$TMP/err"
is "$(jq -c .budget "$TMP/stat.json")" null 'without a budget a report has none'

# Memory: what a budget of less than ebtrace takes brings is the last level, and it stays there.
ends_with 0 "$O/ebtrace" trace --memory 1M -f ndjson -o "$TMP/t" -- "$gc" -q -s "$(lasting 9)" -r 2000 -c "$TMP/memory" 2>"$TMP/err"
is "$(grep -cE '^ebtrace: --memory 1M: ebtrace takes [0-9.]+ MiB; from now on' "$TMP/err")" 2 \
	'--memory: a line for each step' || diag "$(<"$TMP/err")"
is "$(($(recorded "$TMP/t") + $(lost "$TMP/t")))" "$(emitted "$TMP/memory")" '--memory: events in are events out and lost'

# -a beside a neighbour that takes all it can, and children that come and go: in a namespace of its own.
cp "$prog/minigc" "$prog/brood" "$TMP"
chmod 755 "$TMP"
cat >"$TMP/run" <<END
cd "$TMP"
EBTRACE_START=1 ./minigc -q -s $(lasting 8) -c with & with=\$!
./minigc -q -s $(lasting 8) -c without & without=\$!
echo \$with >pid
until [ -s \$with.events ]; do sleep 0.01; done
"$(realpath "$O/ebtrace")" trace -v -a --cpu 10% -f ndjson -o all 2>err & tracer=\$!
until grep -q real-time err; do sleep 0.01; done
./brood 50 25 0 4
wait \$with \$without
kill \$tracer
wait \$tracer
END
timeout "$(lasting 60 | cut -d. -f1)" unshare -pf --mount-proc bash "$TMP/run" >"$TMP/out" 2>&1
is "$(steps | grep -oE "$counted" | head -1)" "$counted" '-a: it steps down to counts' || diag "$(<"$TMP/err")" "$(<"$TMP/out")"
# The ring counts what it had before the begin, too.
is "$(jq -s --argjson pid "$(<"$TMP/pid")" '[.[] | select(.pid == $pid)]
	| ([.[] | select(.kind | IN("begin", "end", "counter", "alloc_sizes", "lifecycle"))] | length)
	+ ([.[] | select(.kind == "lost") | .events // 0] | add // 0)' "$TMP/all")" "$(emitted "$TMP/with")" \
	'-a: of a program with a ring, events in are events out and lost'

for command in list info pages 'mem record'; do
	# shellcheck disable=SC2086
	"$O/ebtrace" $command --cpu 5% -p $$ >"$TMP/out" 2>&1
	is $? 2 "$command takes no budget"
done
done_testing
