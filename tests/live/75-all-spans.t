#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ebtrace spans -a: spans of all processes, of rings that are on and of markers, by name, program or process; within a
# budget; no ring is switched on. Each run has a pid namespace of its own, in which nothing else is.
. tests/lib.sh
need_root
need_command jq
need_command setpriv
for name in requests spanned; do cp "$O/tests/prog/$name" "$TMP"; done
gc=$TMP/minigc
cp "$O/tests/prog/minigc" "$gc"
prog=$TMP/operands
[ ! -e "$O/tests/prog/operands_x86_64" ] || cp "$O/tests/prog/operands_x86_64" "$prog"
need_file "$prog"
ebtrace=$(realpath "$O/ebtrace")
install -m 755 "$ebtrace" "$TMP/ebtrace"
chmod 755 "$TMP"

# inside DIR ARGS COMMANDS...: ebtrace spans -a in a namespace, which obeys the commands when it has attached to what is
# there: a program with markers that obeys fd 3, and one that waits until `go` before it begins with its ring on.
inside() {
	local dir=$1 args=$2
	shift 2
	mkdir -p "$TMP/$dir/rings" && chmod 777 "$TMP/$dir" "$TMP/$dir/rings"
	cat >"$TMP/$dir/run" <<-END
		cd "$TMP/$dir"
		export EBTRACE_DIR=$TMP/$dir/rings
		mkfifo in go.in
		"$prog" <in >marked.out & marked=\$!
		exec 3>in
		(read -r _ <go.in; EBTRACE_START=1 exec "$TMP/requests" mixed nested >requests.out) & ring=\$!
		until grep -q ready marked.out; do sleep 0.01; done
		echo "\$marked \$ring" >pids
		go() { # it does not end before its ring is read
			echo >go.in
			until [ -e rings/\$ring.events ]; do sleep 0.01; done
			kill -STOP \$ring
			until grep -q "reading the ring .* of process \$ring\$" err; do sleep 0.01; done
			kill -CONT \$ring
			wait \$ring
		}
		$TMP/ebtrace spans -v -a $args 2>err & tracer=\$!
		until grep -q real-time err; do sleep 0.01; done
		$*
		sleep 0.3
		kill -INT \$tracer
		wait \$tracer
	END
	timeout $((60 * SLOWNESS)) unshare -pf --mount-proc ${as:-} bash "$TMP/$dir/run" >"$TMP/$dir/out" 2>"$TMP/$dir/messages"
	status=$?
	read -r marked ring <"$TMP/$dir/pids"
}
adds_up() {
	jq -c '(.spans[] | ., .slowest_hundredth | select(.total_ns != ([.parts[].ns] | add // 0))),
		(.slowest[] | select(.ns != ([.parts[].ns] | add // 0)))' "$1"
}
counts() { jq -c '[.spans[] | select(.count > 0) | [.name, .count]] | sort' "$TMP/$1/json"; }
pair='operands:outer_begin~operands:outer_end'

inside all "--json --top 50 -U '$pair' -o json" "go; echo t >&3; sleep 0.2; echo t | \"$prog\" >late.out"
is $status 0 "spans -a ends when asked, with a report" || diag "$(tail -3 "$TMP/all/err")"
is "$(adds_up "$TMP/all/json")" "" "parts add up to the nanosecond"
late=$(shares && echo 6 || echo 3) # without shared links the late one is found too late
counts all | jq -e --argjson n "$late" '(map(select(.[0] != "operands:outer_begin~operands:outer_end")) == [["inner",3],["outer",4],["request",10]]) and
	any(.[]; .[0] == "operands:outer_begin~operands:outer_end" and .[1] >= $n)' >/dev/null
ok $? "it has the spans of a ring that is on, and those of the markers of all programs, also of one that comes" || diag "$(counts all)"
jq -es '[.[0].slowest[] | select(.name == "request") | [.pid, .comm]] | unique == [[$ring, "requests"]]' --argjson ring "$ring" "$TMP/all/json" >/dev/null &&
	jq -es '[.[0].slowest[] | select(.name | test("^operands")) | .comm] | unique == ["operands"]' "$TMP/all/json" >/dev/null
ok $? "the slowest have the process and its program" || diag "$(jq -c '[.slowest[] | [.name, .pid, .comm]] | unique' "$TMP/all/json")"
jq -e '.threads_known and ([.spans[] | select(.name == "request").parts[] | select(.part == "blocked" and .of == "clock_nanosleep").ns] | add > 20000000)' "$TMP/all/json" >/dev/null
ok $? "threads are watched: it is blocked while it sleeps"
is "$(adds_up "$TMP/all/json")$("$O/ebtrace" spans --json-schema | jq -c '.["$defs"].span.required | index("comm") != null')" true "the schema has the program, too"

inside program "--json --by program -U '$pair' -o json" "go; echo t >&3; sleep 0.2; echo t | \"$prog\" >late.out"
counts program | jq -e 'map(select(.[0] | test("^operands") | not)) == [["inner of requests",3],["outer of requests",4],["request of requests",10]] and
	any(.[]; .[0] == "operands:outer_begin~operands:outer_end of operands")' >/dev/null
ok $? "--by program has a name for each program" || diag "$(counts program)" "$(cat "$TMP/program/err")"
inside process "--json --by process -U '$pair' -o json request 'operands*'" "go; echo t >&3"
is "$(counts process)" "[[\"$pair of operands ($marked)\",3],[\"request of requests ($ring)\",10]]" \
	"--by process one for each process; patterns match the name alone"

inside text "-U '$pair' -o text" "go; echo t >&3"
grep -qE "^    .* at .* s, request, process $ring \(requests\), " "$TMP/text/text" && grep -qE "^  request +10 " "$TMP/text/text"
ok $? "text has the process and its program where it lists the slowest" || diag "$(head -40 "$TMP/text/text")"

# What runs with its ring off is not asked for it, and nothing is stopped.
inside off "-o text" "\"$gc\" -q -n 100000 -r 2000 -c counts & off=\$!; sleep 0.5; ls rings >rings.list; grep State /proc/\$off/status >state; kill \$off"
is "$status $(cat "$TMP/off/rings.list")" "4 " "no ring is switched on; without spans the status is 4"
grep -q 'stop' "$TMP/off/state"
is $? 1 "no process is stopped"
grep -q '^ebtrace: there were no spans' "$TMP/off/err"
ok $? "which a message says" || diag "$(tail -2 "$TMP/off/err")"
inside glob "'zz*' -U '$pair' -o text" "go; echo t >&3"
is "$status $(grep -c "^ebtrace: no span has a name that matches; the names were: .*request" "$TMP/glob/err")" "4 1" \
	"where no pattern matches the names that were seen are listed" || diag "$(tail -2 "$TMP/glob/err")"

inside lines "--interval 200ms -U '$pair' -o text" "echo b >&3; sleep 0.8; echo x >&3"
grep -qE "^      hung for .*: $pair, process $marked, thread $marked" "$TMP/lines/text"
ok $? "--interval has what hangs, of any process" || diag "$(head "$TMP/lines/text")"

# A budget: a program that passes a marker all the time.
inside budget "--json --cpu 1% -U 'operands:outer_begin~operands:outer_end' -U operands:often -o json" \
	"for i in {1..400}; do echo mmmmmmmmmm; done >&3 & go; until grep -q 'events are counted' err; do sleep 0.1; done"
grep -q '^ebtrace: --cpu 1%: ebtrace takes .* from now on events are counted, not recorded: they are lost$' "$TMP/budget/err"
ok $? "--cpu steps down" || diag "$(tail -3 "$TMP/budget/err")"
is "$(jq -c '[.budget.level, .budget.cpu_limit] | map(tostring)' "$TMP/budget/json" 2>&1 | head -1 | cut -c1-9)" '["counts"' "the report has the level" ||
	diag "$(jq -c .budget "$TMP/budget/json")"

# Without privilege the rings of the user's own processes are read.
as="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all" inside user "--json -o json" "go"
is "$status $(counts user)" '0 [["inner",3],["outer",4],["request",10]]' "without privilege it has the rings that are on" || diag "$(tail -3 "$TMP/user/err")"
is "$(jq -c '[.spans[] | select(.name == "request").parts[].part] | unique' "$TMP/user/json")" '["collected","unknown"]' \
	"and what only the kernel knows is not known"
done_testing
