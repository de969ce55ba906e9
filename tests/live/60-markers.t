#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Markers of any program as events (-U): arguments of each form, texts only where they are asked for, spans by thread and
# by argument, children, other processes of the same program, and what is refused. bpftrace reads the same markers.
. tests/lib.sh
need_root
need_command jq
need_file "$O/tests/prog/operands_x86_64"
prog=$(realpath "$O/tests/prog/operands_x86_64")
sites=$(realpath "$O/tests/prog/sites_x86_64")

# Runs in the background, without our ends of the programs' pipes.
alone() {
	local f
	for f in "${fd[@]}"; do eval "exec $f>&-"; done
	exec "$@"
}
declare -A pid fd tracer
start() { # NAME PROGRAM: waits for commands
	local in
	mkfifo "$TMP/$1.in"
	alone "$2" <"$TMP/$1.in" >"$TMP/$1.out" &
	pid[$1]=$!
	children+=($!)
	exec {in}>"$TMP/$1.in"
	fd[$1]=$in
	wait_for grep -q ready "$TMP/$1.out"
}
say() { # NAME LETTER...: each is obeyed before the next
	local name=$1 c n
	shift
	for c in "$@"; do
		n=$(grep -cE '^(done|fired|[0-9]+ [0-9]+ [0-9]+)$' "$TMP/$name.out")
		echo "$c" >&"${fd[$name]}"
		wait_for eval "[ \"\$(grep -cE '^(done|fired|[0-9]+ [0-9]+ [0-9]+)\$' '$TMP/$name.out')\" -gt $n ]"
	done
}
leave() {
	eval "exec ${fd[$1]}>&-"
	unset "fd[$1]"
}
attach() { # NAME ARGS...: a tracer of the process that has attached; its events to NAME.ndjson
	local name=$1
	shift
	alone "$O/ebtrace" -v -f ndjson -o "$TMP/$name.ndjson" -p "${pid[$name]}" "$@" 2>"$TMP/$name.log" &
	tracer[$name]=$!
	children+=($!)
	wait_for grep -qs 'attached to [1-9]' "$TMP/$name.log" || diag "$(cat "$TMP/$name.log")"
}
finish() { # NAME: the program ends, and the tracer with it
	leave "$1"
	wait "${tracer[$1]}"
	is $? 0 "$1: the tracer ends with the program" || diag "$(cat "$TMP/$1.log")"
}
# "name arg0 arg1 ...": events of markers as the program prints what it passed.
passed() {
	jq -r 'select(.kind == "marker") | . as $e | [.name[9:]] + [range(12) | "arg\(.)" | . as $a |
		select($e | has($a)) | $e[$a] // "-" | tostring] | join(" ")' "$@"
}
# The byte at an offset of the program's file, in the memory of a process.
byte_of() { # PID OFFSET
	local start off
	while read -r range perms off _ _ path; do
		[ "$path" = "$prog" ] && [ "${perms:2:1}" = x ] || continue
		start=$((0x${range%-*} - 0x$off + $2))
		dd if="/proc/$1/mem" bs=1 skip=$start count=1 2>/dev/null | od -An -tx1 | tr -d ' '
	done <"/proc/$1/maps"
}
armed() { # PID: the names of markers whose instruction is a breakpoint
	local name offset
	ends_with 0 "$O/ebtrace" list --json "$prog" | jq -r '.markers[] | "\(.name) \(.offset)"' | while read -r name offset; do
		[ "$(byte_of "$1" "$offset")" != cc ] || echo "$name"
	done | sort | tr '\n' ' '
}
forms="unsigned signed second constants memory index symbol nowhere twelve none"
asked() { printf -- '-U operands:%s ' "$@"; }

# Every form of an argument, by both kinds of links.
for how in auto perf; do
	start $how "$prog"
	# shellcheck disable=SC2046
	attach $how --attach $how $(asked $forms float half unknown)
	say $how f
	finish $how
	passed "$TMP/$how.ndjson" >"$TMP/$how.passed"
	grep -E "^(${forms// /|})( |\$)" "$TMP/$how.out" >"$TMP/$how.expected"
	same_file "$TMP/$how.passed" "$TMP/$how.expected" "--attach $how: each argument has the value that it has in the program"
	grep -qF "marker operands:float of $prog is not probed: its argument 1, '8f@%xmm0', is a floating-point number" "$TMP/$how.log" &&
		grep -qF "marker operands:half of $prog is not probed: its argument 0, '4f@8(%rsi)', is a floating-point number" "$TMP/$how.log"
	ok $? "--attach $how: floating-point arguments are refused by the marker's name" || diag "$(cat "$TMP/$how.log")"
	grep -qF "marker operands:unknown of $prog is not probed: its argument 0, '8@no_such_symbol(%rip)', cannot be read" "$TMP/$how.log"
	ok $? "--attach $how: so is a symbol that the program does not have"
done

# A symbol in .dynsym alone.
if command -v cc >/dev/null && cc -O2 -rdynamic -pthread tests/prog/operands_x86_64.c -o "$TMP/stripped" && strip "$TMP/stripped"; then
	start stripped "$TMP/stripped"
	attach stripped -U operands:symbol
	say stripped f
	finish stripped
	is "$(passed "$TMP/stripped.ndjson")" "symbol 4711 -8 -7" "of a stripped program the exported symbols are found"
else
	skip_all "no compiler"
fi

# What is not asked for is neither attached nor recorded.
start asked "$prog"
start other "$prog"
attach asked -U operands:text -U operands:memory
is "$(armed "${pid[asked]}")" "memory text " "exactly the markers that were asked for are attached"
is "$(armed "${pid[other]}")" "" "another process of the program has none"
say asked s f
say other s f
is "$(grep -xE '[0-9]+' "$TMP/asked.out"),$(grep -xE '[0-9]+' "$TMP/other.out")" 2,0 \
	"the semaphore is set once for each of them, and in the other process not at all"
finish asked
is "$(passed "$TMP/asked.ndjson" | cut -d' ' -f1 | sort | uniq -c | tr -s ' \n' ' ')" " 1 memory 4 text " \
	"events of these markers are all that is recorded"
! grep -q 'select\|xxxx' "$TMP/asked.ndjson"
ok $? "no text of an argument is recorded that was not asked for"
jq -es 'map(select(.name == "operands:text").arg0) | .[0] > 4096 and .[2] == 0 and .[3] == 8' "$TMP/asked.ndjson" >/dev/null
ok $? "its address is"
leave other

# Texts: of a marker by name, escaped and cut.
start text "$prog"
attach text -U 'operands:text#0:str'
say text f
finish text
jq -es '[.[] | select(.kind == "marker")] |
	(.[0] | .arg0 == "select \"a\\b\"\n\tfrom t -- \u001b[31m\ufffd" and .arg1 == 42 and .cut == null) and
	(.[1] | .cut and (.arg0 | length == 255 and test("^x*$"))) and .[2].arg0 == 0 and .[3].arg0 == null' "$TMP/text.ndjson" >/dev/null
ok $? "a text that is asked for comes whole, or cut; of no address it is 0, of a wrong one null" || diag "$(cat "$TMP/text.ndjson")"
jq -c 'select(.kind == "marker")' "$TMP/text.ndjson" | iconv -f utf-8 -t utf-8 >/dev/null
ok $? "the output is UTF-8"
start terminal "$prog"
alone timeout $((60 + 60 * SLOWNESS)) "$O/ebtrace" -p "${pid[terminal]}" -U 'operands:text#0:str' >"$TMP/terminal.text" 2>"$TMP/terminal.log" &
tracer[terminal]=$!
wait_for eval '[ -n "$(armed "${pid[terminal]}")" ]'
say terminal f
finish terminal
grep -qF 'marker operands:text arg0="select \"a\\b\"\n\tfrom t -- ?[31m?" arg1=42' "$TMP/terminal.text" &&
	! LC_ALL=C grep -q "$(printf '[\033\377]')" "$TMP/terminal.text"
ok $? "nothing in it reaches the terminal as a control character" || diag "$(cat "$TMP/terminal.text")"

# Spans, in a capture and in what is made of it.
start span "$prog"
alone "$O/ebtrace" -v -o "$TMP/span.ebt" -p "${pid[span]}" -U 'operands:outer_begin~operands:outer_end' \
	-U 'operands:key_begin#1~operands:key_end#0' -U 'operands:often' 2>"$TMP/span.log" &
tracer[span]=$!
wait_for grep -qs 'attached to [1-9]' "$TMP/span.log"
say span t k m
finish span
for f in ndjson chrome perfetto fxt; do
	"$O/ebtrace" -q "$TMP/span.ebt" -o "$TMP/span.$f" -f $f
	ok $? "a capture with them becomes $f"
done
# For each end the begin of the same id, in its thread if it is by thread: how many nest.
is "$(jq -r 'select(.name == "operands:outer_begin~operands:outer_end") | "\(.tid == .pid) \(.kind) \(.arg0)"' "$TMP/span.ndjson" |
	tr '\n' ,)" "true span_begin 1,false span_begin 1,false span_begin 1,false span_end 2,false span_end 2,true span_end 2," \
	"a span by thread has the arguments of its begin and of its end"
jq -es 'map(select(.name == "operands:key_begin~operands:key_end")) | [.[] | select(.kind == "span_begin")] as $b |
	($b | map(.id) | unique | length) == 3 and ($b | map(.arg1)) == [100, 200, 300] and
	([.[] | select(.kind == "span_end")] | length == 4 and
		all(.[0:3][]; . as $e | $b[] | select(.id == $e.id) | .arg1 == $e.arg0) and
		(.[3].id as $id | all($b[]; .id != $id)))' "$TMP/span.ndjson" >/dev/null
ok $? "a span by argument has one number for its begin and its end, in any thread" || diag "$(grep key_ "$TMP/span.ndjson")"
is "$(jq -r '.[] | select(.cat == "user" and (.ph == "b" or .ph == "e")) | "\(.name[9:12]) \(.ph) \(.id)"' "$TMP/span.chrome" |
	tr '\n' ,)" "out b 1,out b 2,out b 2,out e 2,out e 2,out e 1,key b 3,key b 4,key b 5,key e 4,key e 3,key e 5," \
	"a timeline has them as spans, and no end without a begin"
is "$("$O/ebtrace" "$TMP/span.ebt" --min-duration 1000s -q | grep -c span_begin)" 0 "--min-duration leaves out those that are short"
is "$(jq -s 'map(select(.name == "operands:often").arg0) == [range(1000)]' "$TMP/span.ndjson")" true \
	"a marker that is passed often is recorded each time"

# Spans whose ends do not come, as an error leaves their functions.
start left "$prog"
alone "$O/ebtrace" -v -o "$TMP/left.ebt" -p "${pid[left]}" -U 'operands:query_begin~operands:query_end' \
	-U 'operands:deep_begin~operands:deep_end' -U 'operands:outer_begin~operands:outer_end' 2>"$TMP/left.log" &
tracer[left]=$!
wait_for grep -qs 'attached to [1-9]' "$TMP/left.log"
say left l n
finish left
ends_with 0 "$O/ebtrace" spans -q --json "$TMP/left.ebt" >"$TMP/left.json"
left() { jq -c ".spans[] | select(.name | startswith(\"operands:$1_\")) | [.count, .not_ended, .open_at_begin, .open_at_end]" "$TMP/left.json"; }
is "$(left query)" "[3,3,0,0]" "a span that an error leaves is not ended, those behind it are whole"
is "$(left deep)" "[4,7,0,0]" "so are all that it leaves, up to the frame that goes on"
is "$("$O/ebtrace" -q -f ndjson "$TMP/left.ebt" | jq -r 'select(.name | . and startswith("operands:query")) | .kind' | tr '\n' ,)" \
	"$(printf 'span_begin,span_begin,span_end,%.0s' 1 2 3)" "each hit is one event, and no other is made up"
ends_with 0 "$O/ebtrace" -q -f chrome "$TMP/left.ebt" | jq -r '.[] | select(.cat == "user" and (.name | startswith("operands:query"))) | "\(.ph)\(.args.cut // "")"' |
	tr '\n' , >"$TMP/left.chrome"
is "$(cat "$TMP/left.chrome")" "b,b,e,enot_ended,b,enot_ended,b,e,b,enot_ended,b,e," \
	"a timeline ends them where the next begins, and says why, once it is known that they are of one function"
is "$(left outer)" "[6,0,0,0]" "spans that one call in a loop begins, and another ends, nest"

# A span that hangs is found while it is open.
mkdir "$TMP/hung"
start hung "$prog"
alone "$O/ebtrace" -v -o "$TMP/hung/run.ebt" -p "${pid[hung]}" -U 'operands:outer_begin~operands:outer_end' --trigger 'operands:outer*>50ms' \
	--after 100ms --max 0 2>"$TMP/hung.log" &
tracer[hung]=$!
wait_for grep -qs 'attached to [1-9]' "$TMP/hung.log"
say hung t b
wait_for grep -qs "open operands:outer_begin~operands:outer_end of 150.000 ms in process ${pid[hung]}, " "$TMP/hung.log"
ok $? "a span that is open for longer than --trigger and --after have is captured while it is open"
is "$("$O/ebtrace" -q -f ndjson "$TMP/hung/run.1.ebt" | jq -c 'select(.kind | . and startswith("span")) | [.kind, .arg0]' | tail -1)" '["span_begin",1]' \
	"its begin is in the capture"
say hung x
sleep 0.3
finish hung
is "$(cd "$TMP/hung" && echo *)" "run.1.ebt run.2.ebt" "when it has ended there is another one, and of short spans there is none"
is "$("$O/ebtrace" info --json "$TMP/hung/run.2.ebt" | jq '.trigger | .end_ns - .begin_ns > 200000000')" true "with its length"

# Children: of before, of later, of an exec; those that no probe sees in time are reported.
start family "$prog"
say family d
attach family $(asked signed unsigned)
say family d
sleep 1
for p in $(sed -n 's/^child //p' "$TMP/family.out"); do kill -USR1 "$p"; done
wait_for eval "[ \"\$(grep -c '^signed' '$TMP/family.out')\" = 2 ]"
say family f
echo e >&"${fd[family]}"
wait_for eval "[ \"\$(grep -c ready '$TMP/family.out')\" = 2 ]"
sleep 1
say family f c
finish family
for p in $(sed -n 's/^child //p' "$TMP/family.out") "${pid[family]}"; do
	is "$(jq -r "select(.pid == $p and .kind == \"marker\").name" "$TMP/family.ndjson" | sort | uniq -c | tr -s ' \n' ' ')" \
		"$([ "$p" = "${pid[family]}" ] && echo " 2 operands:signed 2 operands:unsigned " || echo " 1 operands:signed 1 operands:unsigned ")" \
		"process $p: what it passed is recorded, whether it began before or later, and behind an exec"
done
jq -es '([.[] | select(.kind == "process" and .child).child] | last) as $short |
	map(select(.pid == $short)) | (map(select(.kind == "marker")) | length) == 2 or any(.[]; .kind == "lost")' "$TMP/family.ndjson" >/dev/null
ok $? "a child that ends at once is recorded, or reported as not watched" || diag "$(cat "$TMP/family.ndjson")"

# Refusals.
refused() { # STATUS SENTENCE ARGS...
	timeout 100 "$O/ebtrace" "${@:3}" >"$TMP/out" 2>"$TMP/err"
	local status=$?
	[ $status = "$1" ] && [ ! -s "$TMP/out" ]
}
start many "$sites"
refused 2 x -U ebtrace:begin -p "${pid[many]}" &&
	grep -qE "^ebtrace: -U asks for 500 sites in process ${pid[many]}, more than 64; each hit costs the program .*[0-9]+ ns.*; --many allows it\$" "$TMP/err"
ok $? "500 sites are refused, with the price" || diag "$(cat "$TMP/err")"
refused 2 x -U ebtrace:begin -- "$sites" && grep -q "500 sites in '$sites'" "$TMP/err"
ok $? "of a program, too"
refused 2 x -U python:function__entry -p "${pid[many]}" && grep -q '^ebtrace: python:function__entry fires on every call.*--many' "$TMP/err"
ok $? "so is a marker that fires on every call"
say many s
is "$(tail -1 "$TMP/many.out")" "0 0 500" "nothing is attached then"
attach many -U ebtrace:begin --many --mode probes
say many f
finish many
is "$(jq -s 'map(select(.kind == "marker" and .name == "ebtrace:begin" and .arg0 == 11)) | length' "$TMP/many.ndjson")" 500 \
	"--many allows it"
for request in operands operands:a:b 'operands:a#1' 'operands:a#12:str' 'operands:a~operands:a' 'a:b~c:d~e:f' 'a:b#0~c:d'; do
	refused 2 x -U "$request" -- true && grep -qF "ebtrace: -U '$request': " "$TMP/err"
	ok $? "'$request' is no request"
done
for rest in "--mode ring -- true" "--pages -- true" "$TMP/span.ebt"; do
	# shellcheck disable=SC2086
	refused 2 x -U a:b $rest
	ok $? "-U a:b $rest: nothing could have such markers"
done
start none "$prog"
refused 4 x -U operands:absent -p "${pid[none]}" && grep -q "has none of the markers of -U" "$TMP/err"
ok $? "a process without any of them has nothing to trace" || diag "$(cat "$TMP/err")"
attach none -U operands:none -U operands:absent -U 'operands:text#5:str'
finish none
grep -q '^ebtrace: marker operands:absent is in no file of the traced processes$' "$TMP/none.log" &&
	grep -q 'operands:text of .* is not probed: it has 2 arguments, and no argument 5$' "$TMP/none.log"
ok $? "a marker that no process has is reported at the end, one without such an argument at once" || diag "$(cat "$TMP/none.log")"
setpriv --reuid=65534 --clear-groups "$O/ebtrace" -U a:b -- true >"$TMP/out" 2>"$TMP/err"
status=$?
[ $status = 7 ] && grep -q '^ebtrace: markers of -U are probed through BPF: ' "$TMP/err"
ok $? "without privilege it is an error" || diag "$status $(cat "$TMP/err")"

# What there is.
start list "$prog"
ends_with 0 "$O/ebtrace" list -p "${pid[list]}" >"$TMP/list"
grep -q "^$prog:$" "$TMP/list" && grep -q '^operands:twelve  at 0x.*, semaphore  8@$0 8@$1' "$TMP/list"
ok $? "list -p shows the markers of a process by their files"
is "$("$O/ebtrace" list --json -p "${pid[list]}" | jq -c "select(.file == \"$prog\").markers | length")" \
	"$("$O/ebtrace" list --json "$prog" | jq '.markers | length')" "as many as list shows of the file"
leave list

# bpftrace as the oracle.
if command -v bpftrace >/dev/null && { [ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing; }; then
	start oracle "$prog"
	attach oracle $(asked often unsigned signed memory index constants)
	alone bpftrace -p "${pid[oracle]}" -e "usdt:$prog:operands:often { @n = count(); @sum = sum(arg0) }
		usdt:$prog:operands:unsigned { printf(\"unsigned %lu %lu %lu %lu\\n\", arg0, arg1, arg2, arg3) }
		usdt:$prog:operands:signed { printf(\"signed %ld %ld %ld %ld\\n\", arg0, arg1, arg2, arg3) }
		usdt:$prog:operands:memory { printf(\"memory %lu %ld %lu %ld\\n\", arg0, arg1, arg2, arg3) }
		usdt:$prog:operands:constants { printf(\"constants %lu %ld %lu\\n\", arg0, arg1, arg2) }" >"$TMP/bpftrace" 2>&1 &
	oracle=$!
	wait_for grep -qs Attach "$TMP/bpftrace"
	sleep 2
	say oracle f m
	finish oracle
	wait $oracle
	is "$(grep '^@n' "$TMP/bpftrace"),$(grep '^@sum' "$TMP/bpftrace")" \
		"$(jq -rs '[.[] | select(.name == "operands:often").arg0] | "@n: \(length),@sum: \(add)"' "$TMP/oracle.ndjson")" \
		"bpftrace counts as many, with the same sum of the argument" || diag "$(cat "$TMP/bpftrace")"
	passed "$TMP/oracle.ndjson" | grep -E '^(unsigned|signed|memory|constants) ' >"$TMP/oracle.passed"
	grep -E '^(unsigned|signed|memory|constants) ' "$TMP/bpftrace" >"$TMP/oracle.bpftrace"
	same_file "$TMP/oracle.passed" "$TMP/oracle.bpftrace" "and reads the same arguments"
else
	ok 0 "# SKIP no bpftrace"
	ok 0 "# SKIP no bpftrace"
fi

# A runtime's own markers.
python=/usr/bin/python3.11
if readelf -nW $python 2>/dev/null | grep -q gc__start; then
	cat >"$TMP/gc.py" <<'END'
import gc, sys
n = [0, 0, 0]
gc.callbacks.append(lambda phase, info: phase == "start" and n.__setitem__(info["generation"], n[info["generation"]] + 1))
for i in range(30):
    gc.collect(i % 3)
print(*n, file=sys.stderr)
END
	"$O/ebtrace" -f ndjson -o "$TMP/python.ndjson" -U python:gc__start -U 'python:gc__start~python:gc__done' -- \
		$python "$TMP/gc.py" 2>"$TMP/python.err"
	is $? 0 "python runs under ebtrace"
	counts=$(grep -E '^[0-9]+ [0-9]+ [0-9]+$' "$TMP/python.err")
	jq -es --arg n "$counts" '[.[] | select(.kind == "marker").arg0] as $g | ($n | split(" ") | map(tonumber)) as $n |
		all(range(3); . as $i | [$g[] | select(. == $i)] | length >= $n[$i]) and
		([.[] | select(.kind == "span_begin")] | length) == ($g | length) and
		([.[] | select(.kind == "span_end")] | length) == ($g | length)' "$TMP/python.ndjson" >/dev/null
	ok $? "each collection that python counts is an event and a span: $counts"
	# Markers that fire on every call: refused with the price, and with --many all that there are.
	cat >"$TMP/calls.py" <<'END'
import sys
calls = 0
def fib(n):
    global calls
    calls += 1
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def fails(n):
    global calls
    calls += 1
    if n:
        fails(n - 1)
    raise ValueError
for i in range(50):
    fib(8)
    try:
        fails(5)
    except ValueError:
        pass
print(calls, file=sys.stderr)
END
	# Python 3.11 passes function__entry for generators alone, as bpftrace shows, too.
	"$O/ebtrace" -U 'python:function__return#1:str' -- $python "$TMP/calls.py" >"$TMP/out" 2>"$TMP/err"
	status=$?
	is "$status $(wc -c <"$TMP/out")" "2 0" "markers that fire on every call are refused, and nothing runs"
	grep -qE "^ebtrace: python:function__return fires on every call.* costs the program .*[0-9]+ ns.*--many allows it\$" "$TMP/err"
	ok $? "with the price" || diag "$(cat "$TMP/err")"
	ends_with 0 "$O/ebtrace" -f ndjson -o "$TMP/calls.ndjson" -U 'python:function__return#1:str' --many -- $python "$TMP/calls.py" 2>"$TMP/python.err"
	calls=$(grep -E '^[0-9]+$' "$TMP/python.err")
	is "$(jq -s '[.[] | select(.arg1 | IN("fib", "fails"))] | length' "$TMP/calls.ndjson")" "$calls" \
		"--many: each call that python counts is one event: $calls"
	is "$(jq -s '[.[] | select(.kind == "lost")] | length' "$TMP/calls.ndjson")" 0 "none is lost"
else
	for i in 1 2 3 4 5 6; do ok 0 "# SKIP no python with markers"; done
fi
done_testing
