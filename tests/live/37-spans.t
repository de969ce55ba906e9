#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What spans of programs that run were made of, for causes made on purpose: against the kernel's own counters, the
# thread's clock and the program's own account; live and of a capture; spans of markers; without privilege.
. tests/lib.sh
need_root
need_command jq
need_command setpriv
steps=$O/tests/prog/spanned
prog=$O/tests/prog/requests
marked=$(realpath "$O/tests/prog/operands_x86_64")

adds_up() {
	jq -c '(.spans[] | ., .slowest_hundredth | select(.total_ns != ([.parts[].ns] | add // 0))),
		(.slowest[] | select(.ns != ([.parts[].ns] | add // 0) or
			(.in_order_more == 0 and .ns != ([.in_order[].ns] | add // 0))))' "$1"
}

# said: step tid begin end switches wait off syscall waker
record() {
	stolen=$(stolen_ns)
	ends_with 0 timeout 300 "$O/ebtrace" spans --json -o "$TMP/$1.json" -- "$steps" "$TMP/file" "$1" >"$TMP/$1.said" 2>"$TMP/$1.err"
}
# share_is STEP PART TRUTH STOLEN: as in 37-blame.t: within 1 % of the span, and 50 us a switch where it is blocked.
share_is() {
	awk -v step="$1" '$1 == step { print $2, $3, $4, $5, $6, $7 }' "$TMP/$1.said" | {
		read -r tid begin end switches wait off
		jq -r --arg part "$2" --arg truth "$3" --argjson tid "$tid" --argjson wait "$wait" --argjson off "$off" \
			--argjson n "$switches" --argjson around $((end - begin)) --argjson stolen "$4" \
			'def of($p): [.parts[] | select(.part == $p).ns] | add // 0;
			.slowest[] | select(.tid == $tid) | of($part) as $got
			| ($got + of("run_queue") - $off) as $over
			| (if $truth == "wait" then $got - $wait | fabs else [$over, -$over - $stolen, $got - ($off - $wait)] | max end) as $wrong
			| if $wrong <= .ns / 100 + ($around - .ns) + (if $truth == "wait" then 0 else ([$n, 100] | min) * 50000 end) and
				$got > .ns / 50 then "right" else "\(.parts) of \(.ns), off \($off) wait \($wait)" end' "$TMP/$1.json"
	}
}
# Where the host takes something the program runs once more.
share_of() {
	local got
	for _ in 1 2 3; do
		record "$1"
		got=$(share_is "$1" "$2" "$3" 0)
		[ "$got" = right ] && break
		got=$(share_is "$1" "$2" "$3" "$(stolen_since "$stolen")")
		[ "$got" = right ] && break
	done
	is "$got" right "$4"
	is "$(adds_up "$TMP/$1.json")" "" "$1: parts add up to the nanosecond"
}
of_step() { jq -r "[.spans[] | select(.name == \"step\").parts[] | select(.part == \"$2\")] | max_by(.ns) | \"\(.of) \(.reason)\"" "$TMP/$1.json"; }
share_of sleep blocked off "a span that sleeps is blocked as long as it does"
is "$(of_step sleep blocked)" "clock_nanosleep sleep" "in that system call"
share_of futex blocked off "one that waits for a futex is blocked as long as it does"
is "$(of_step futex blocked)" "futex futex" "in that system call"
share_of preempt run_queue wait "one with a hog on its CPU waits for a CPU as long as the kernel counts"
jq -e '[.spans[] | select(.name == "step").parts[] | select(.part == "run_queue" and .of == "hog").ns] | add > 0' "$TMP/preempt.json" >/dev/null
ok $? "behind the hog" || diag "$(jq -c '.spans[].parts' "$TMP/preempt.json")"
share_of fault page_fault off "one that reads pages from a disk is faulting as long as they take"

# What the program measures itself.
timeout 300 "$O/ebtrace" spans --json --top 100 -o "$TMP/own.json" -- "$prog" mixed nested lost inside threads >"$TMP/own.said" 2>"$TMP/own.err"
is $? 0 "the program and the report end well" || diag "$(cat "$TMP/own.err")"
is "$(adds_up "$TMP/own.json")" "" "parts add up to the nanosecond"
said() { awk -v what="$1" '$1 == what { print $2 }' "$TMP/own.said"; }
part() { jq "[.spans[] | select(.name == \"request\").parts[] | select(.part == \"$1\" and (\"$2\" == \"\" or .of == \"$2\")).ns] | add // 0" "$TMP/own.json"; }
# The program's clock is around what is recorded, and may be preempted there: its account is the most.
near() { # GOT MOST SENTENCE
	[ "$1" -le "$2" ] && [ "$1" -ge $(($2 * 99 / 100 - 400000 * SLOWNESS)) ]
	ok $? "$3" || diag "$1 of $2"
}
near "$(part collected major)" "$(said major)" "time in its major collections is collected: major"
near "$(part collected minor)" "$(said minor)" "time in its minor collections is collected: minor"
near "$(jq '.spans[] | select(.name == "request").total_ns' "$TMP/own.json")" "$(said all)" "spans are as long as it says"
asleep=$(part blocked clock_nanosleep)
[ "$asleep" -ge 30000000 ] && [ "$asleep" -le "$(said asleep)" ]
ok $? "it is blocked while it sleeps" || diag "$asleep of $(said asleep)"
is "$(jq -c '.slowest[] | select(.name == "request") | [.in_order[] | select(.part == "blocked" or .part == "collected") | .of]' "$TMP/own.json" | sort -u)" \
	'["clock_nanosleep","major","minor"]' "the parts of a span come in their order"
is "$(jq -r '[.slowest[] | select(.name == "request")] | (map(.ns) | . == (sort | reverse)) and
	(.[0].ns > 20000000)' "$TMP/own.json")" true "the slowest is the slow one"
counted() { jq -c ".spans[] | select(.name == \"$1\") | [.count, .not_ended, .open_at_end]" "$TMP/own.json"; }
is "$(counted outer) $(counted inner)" "[4,0,0] [3,0,0]" "spans in each other count each"
is "$(counted query)" "[5,1,0]" "one whose end never came is not ended, those behind it are whole"
jq -e '.spans[] | select(.name == "query") | .max_ns < 1000000000 and .total_ns >= 5000000' "$TMP/own.json" >/dev/null
ok $? "they have their own lengths"
is "$(counted last)" "[0,1,0]" "one that was open when the program ended is not ended"
is "$(jq -c '.spans[] | select(.name == "finaliser") | [.parts[] | [.part, .of]]' "$TMP/own.json")" '[["collected","major"]]' \
	"a span within a pause is collected"
is "$(counted work) $(jq '[.slowest[] | select(.name == "work").tid] | unique | length' "$TMP/own.json")" "[200,0,0] 4" \
	"four threads have their spans each"
jq -e '.spans[] | select(.name == "work") | ([.parts[] | select(.part == "blocked").ns] | add) as $b | $b >= 50000000 and $b < .total_ns' "$TMP/own.json" >/dev/null
ok $? "which sleep as long as they were told, at least"

# A recording, twice, and a run that is recorded and reported at once.
ends_with 0 "$O/ebtrace" --blame -q -o "$TMP/run.ebt" -- "$prog" mixed threads >"$TMP/run.said" 2>"$TMP/err"
for i in 1 2; do "$O/ebtrace" spans --json --top 20 "$TMP/run.ebt" >"$TMP/run.$i"; done
same_file "$TMP/run.1" "$TMP/run.2" "the same capture gives the same report"
is "$(adds_up "$TMP/run.1")" "" "parts of a capture add up"
jq -e '.threads_known and ([.spans[].parts[] | select(.part == "blocked" and .of == "clock_nanosleep").ns] | add > 60000000)' "$TMP/run.1" >/dev/null
ok $? "with --blame it has what threads did"
mkfifo "$TMP/go"
sh -c 'read -r _ <"$1"; exec "$2" mixed threads' - "$TMP/go" "$prog" >"$TMP/both.said" &
pid=$!
children+=("$pid")
"$O/ebtrace" -v --blame -o "$TMP/both.ebt" -p $pid 2>"$TMP/both.log" &
tracer=$!
children+=("$tracer")
"$O/ebtrace" spans -v --json --top 20 -o "$TMP/both.json" -p $pid 2>"$TMP/live.log" &
report=$!
children+=("$report")
sleep 2
echo >"$TMP/go"
end_well $tracer
wait $report
is $? 0 "a process is reported live" || diag "$(cat "$TMP/live.log")"
ends_with 0 "$O/ebtrace" spans --json --top 20 "$TMP/both.ebt" >"$TMP/both.again"
# When threads ran each of the two tracers records itself.
of_ring() { jq -c '[.spans[] | [.name, .count, .total_ns, .p50_ns, .p99_ns, .max_ns, [.parts[] | select(.part == "collected") | [.of, .ns]],
	.not_ended, .open_at_end]] , [.slowest[] | [.name, .begin_ns, .ns, .tid]]' "$1"; }
is "$(of_ring "$TMP/both.json")" "$(of_ring "$TMP/both.again")" "live the report is that of a capture of the same run"
is "$(adds_up "$TMP/both.json")" "" "live parts add up, too"

# Markers of any program.
if [ -e "$marked" ]; then
	mkfifo "$TMP/in"
	"$marked" <"$TMP/in" >"$TMP/marked.out" &
	pid=$!
	children+=("$pid")
	exec {in}>"$TMP/in"
	wait_for grep -q ready "$TMP/marked.out"
	(eval "exec $in>&-" && exec "$O/ebtrace" spans -v --json --top 20 -o "$TMP/marked.json" -p $pid -U 'operands:outer_begin~operands:outer_end' \
		-U 'operands:key_begin#1~operands:key_end#0' 2>"$TMP/marked.log") &
	report=$!
	children+=("$report")
	wait_for grep -qs 'attached to [1-9]' "$TMP/marked.log"
	for c in t k; do
		echo $c >&$in
		sleep 0.5
	done
	exec {in}>&-
	wait $report
	is $? 0 "pairs of markers are reported" || diag "$(cat "$TMP/marked.log")"
	is "$(jq -c '.spans | map([.name, .count]) | sort' "$TMP/marked.json")" \
		'[["operands:key_begin~operands:key_end",3],["operands:outer_begin~operands:outer_end",3]]' "each span of them is one"
	is "$(jq -c '[.spans[] | select(.name | test("key")).parts[].part] | unique' "$TMP/marked.json")" '["across_threads"]' \
		"what lies between two threads is neither's"
	is "$(jq -c '.spans[] | select(.name | test("key")).open_at_begin' "$TMP/marked.json")" 1 "an end without a begin is counted"
	is "$(adds_up "$TMP/marked.json")" "" "their parts add up"
	(sleep 1; printf 'k\n'; sleep 1) | "$O/ebtrace" spans --json --by '#1' -o "$TMP/by.json" -U 'operands:key_begin#1~operands:key_end#0' -- "$marked" >"$TMP/said" 2>"$TMP/err"
	is "$(jq -c '.spans | map([.name, .count]) | sort' "$TMP/by.json")" '[["operands:key_begin~operands:key_end",0],["operands:key_begin~operands:key_end #1=100",1],["operands:key_begin~operands:key_end #1=200",1],["operands:key_begin~operands:key_end #1=300",1]]' \
		"--by an argument makes a name of each of its values" || diag "$(cat "$TMP/err")"
fi

# Without privilege.
chmod 755 "$TMP"
install -m 755 "$O/ebtrace" "$prog" "$TMP"
mkdir -m 777 "$TMP/out"
as() { (cd "$TMP/out" && exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"); }
as "$TMP/ebtrace" spans --json -o "$TMP/out/plain.json" -- "$TMP/requests" mixed >"$TMP/said" 2>"$TMP/err"
is $? 0 "without privilege it is a report of the rings" || diag "$(cat "$TMP/err")"
is "$(adds_up "$TMP/out/plain.json")" "" "parts add up"
is "$(jq -c '[.spans[] | select(.name == "request").parts[].part] | unique' "$TMP/out/plain.json")" '["collected","unknown"]' \
	"what only the kernel knows is one part, not known"
as "$TMP/ebtrace" spans 're*' -- "$TMP/requests" mixed 2>&1 >"$TMP/said" | grep -q 'with privilege it is recorded: sudo ebtrace spans'
ok $? "a line says what would record it"

# As typed in the manual.
(
	ebt=$(realpath "$O/ebtrace") req=$(realpath "$prog")
	cd "$TMP" && "$ebt" spans -- "$req" mixed 2>"$TMP/typed" >"$TMP/said"
)
grep -q '^  request  *10 ' "$TMP/typed" && grep -q '^    blocked in clock_nanosleep ' "$TMP/typed"
ok $? "spans of a program, as text" || diag "$(cat "$TMP/typed")"
# shellcheck disable=SC2046
"$prog" threads $(yes mixed | head -n $((3 * SLOWNESS))) &
children+=($!)
ends_with 0 "$O/ebtrace" spans 'req*' -p $! -d 10s >"$TMP/typed" 2>"$TMP/err"
grep -q '^  request ' "$TMP/typed" && ! grep -q '^  work ' "$TMP/typed"
ok $? "spans of a name of a process, for a time" || diag "$(cat "$TMP/typed" "$TMP/err")"
mkfifo "$TMP/hangs.in"
"$O/tests/prog/operands_x86_64" <"$TMP/hangs.in" >"$TMP/hangs.out" &
hangs=$!
children+=($hangs)
exec {to}>"$TMP/hangs.in"
"$O/ebtrace" spans 'operands:outer*' -v -U 'operands:outer_begin~operands:outer_end' -U 'operands:query_begin~operands:query_end' \
	-p $hangs --interval 200ms >"$TMP/hangs" 2>"$TMP/err" {to}>&- &
tracer=$!
children+=($tracer)
wait_for grep -qs 'attached to [1-9]' "$TMP/err"
echo 't t t b l' >&"$to"
wait_for grep -qs "^      hung for .*: operands:outer_begin~operands:outer_end (p99 .*), process $hangs, thread $hangs\$" "$TMP/hangs"
ok $? "a span that hangs is in the lines of an interval as long as it does" || diag "$(cat "$TMP/hangs")"
echo x >&"$to"
wait_for eval "tail -1 '$TMP/hangs' | grep -q ' 0 open, 0 hung\$'"
ok $? "and no more when it has ended" || diag "$(tail -5 "$TMP/hangs")"
exec {to}>&-
end_well $tracer
is "$(grep -c 'operands:query' "$TMP/hangs")" 0 "names that no pattern matches are in none"
ends_with 0 "$O/ebtrace" spans --top 20 "$TMP/run.ebt" >"$TMP/typed" 2>"$TMP/err"
is "$(grep -c '^    .* at .* s, .*, process ' "$TMP/typed")" 20 "the 20 slowest of a recording"
done_testing
