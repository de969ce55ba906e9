#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# When threads do not run (--blame): against the kernel's own counters and the thread's clock, for
# causes made on purpose.
. tests/lib.sh
need_root
need_command jq
need_command perl

prog=$O/tests/prog/offcpu

# blame NAME STEPS...: the program's steps.
blame() {
	local name=$1
	shift
	ends_with 0 timeout 300 "$O/ebtrace" trace --blame -f ndjson -o "$TMP/$name.ndjson" -- "$prog" "$TMP/file" "$@" \
		>"$TMP/$name.said" 2>"$TMP/$name.err"
}

stolen=$(stolen_ns)

# compared NAME: how the intervals of the program's steps differ from its own account, or ok. The CPU time of a
# thread lacks what the host has taken from it while it ran.
compared() { perl tests/live/offcpu.pl "$TMP/$1.said" "$TMP/$1.ndjson" "$(stolen_since "$stolen")"; }

# Where the host takes something the program runs once more: in most runs the account is exact.
intervals_of() {
	local sentence=$1 got
	for _ in 1 2 3; do
		stolen=$(stolen_ns)
		blame "$2" "$2"
		got=$(perl tests/live/offcpu.pl "$TMP/$2.said" "$TMP/$2.ndjson")
		[[ $got =~ ^[^:]*:" "[0-9]*" ns off CPU, the thread's clock says more: "[0-9]*$ ]] || break
		got=$(compared "$2")
	done
	[ "$got" = ok ]
	ok $? "$sentence" || diag "$got"
}

intervals_of "a thread that sleeps: every interval, their sum, the system call" sleep
intervals_of "one that waits for a futex: who woke it" futex
intervals_of "one that is preempted: by whom" preempt
intervals_of "one that waits for a disk" fsync
intervals_of "one that waits for pages of a file" fault

hog=$(jq -r 'select(.change == "fork").child' "$TMP/preempt.ndjson")
jq -e -s --argjson hog "${hog:-0}" 'any(.[]; .kind == "offcpu" and .pid == $hog and .reason == "preempted")' \
	"$TMP/preempt.ndjson" >"$TMP/jq"
ok $? "a child process is traced, too"
stolen=$(stolen_ns)
blame child child sleep
is "$(compared child)" ok "its intervals are complete from its first on"
child=$(jq -r 'select(.change == "fork").child' "$TMP/child.ndjson")
after=$(jq -s --argjson child "$child" '(map(.change == "exit" and .pid == $child) | index(true)) as $at
	| [.[$at:][] | select(.kind == "offcpu" and .pid == $child)] | length' "$TMP/child.ndjson")
is "$after" 0 "none comes after the end of its process"
ends_with 0 timeout 300 "$O/ebtrace" trace --blame --no-follow -f ndjson -o "$TMP/alone.ndjson" -- "$prog" "$TMP/file" child >"$TMP/out" 2>&1
is "$(jq -r 'select(.kind == "offcpu").pid' "$TMP/alone.ndjson" | sort -u | wc -l)" 1 "with --no-follow it is not traced"

if unshare -p -f --mount-proc true 2>/dev/null; then
	ends_with 0 timeout 300 unshare -p -f --mount-proc "$O/ebtrace" trace --blame -f ndjson -o "$TMP/inside.ndjson" -- \
		"$prog" "$TMP/file" futex child >"$TMP/inside.said" 2>"$TMP/err"
	is "$(compared inside)" ok \
		"in another pid namespace threads have its numbers"
fi

# ---- running processes ----

stopped() { grep -q '^State:.*T' "/proc/$1/status"; }

"$prog" "$TMP/file" sleeper stop sleep stop >"$TMP/running.said" &
program=$!
children+=($program)
wait_for stopped $program
touch "$TMP/running.err"
timeout 300 "$O/ebtrace" trace --blame -v -f ndjson -o "$TMP/running.ndjson" -p $program 2>"$TMP/running.err" &
tracer=$!
wait_for grep -q 'has no markers' "$TMP/running.err"
kill -CONT $program
wait_for grep -q '^sleep' "$TMP/running.said"
wait_for stopped $program
kill -INT $tracer
wait $tracer
is $? 0 "a process without ring and markers can be attached to"
sleeper=$(awk '$1 == "sleeper" { print $2 }' "$TMP/running.said")
is "$(compared running)" ok "its intervals are complete"
open=$(jq -c --argjson tid "$sleeper" 'select(.kind == "offcpu" and .tid == $tid) | select(.open) | .reason' "$TMP/running.ndjson" | tail -1)
[ "$open" = '"sleep"' ] || [ "$open" = '"stopped"' ]
ok $? "a thread that sleeps for all of the run is reported as open" || diag "$open"
is "$(jq -r --argjson tid "$program" 'select(.kind == "offcpu" and .tid == $tid and .open).reason' "$TMP/running.ndjson")" \
	stopped "and so is one that is stopped at the end"
kill -KILL $program
wait $program 2>/dev/null

# Its main thread waits for the others all the time. On a busy machine a pause may be slow before it does.
for try in 1 2 3 4 5; do
	rm -rf "$TMP/slow" && mkdir "$TMP/slow"
	ends_with 0 timeout 300 "$O/ebtrace" trace --blame --trigger 'pause>6ms' --after 100ms --max 1 -o "$TMP/slow/run.ebt" -- \
		"$O/tests/prog/pauses" 100 >"$TMP/out" 2>"$TMP/err"
	ends_with 0 "$O/ebtrace" -q "$TMP/slow/run.1.ebt" -f ndjson -o "$TMP/slow.ndjson"
	jq -e -s 'any(.[]; .kind == "offcpu" and .open and .pid == .tid and .reason == "sleep")' "$TMP/slow.ndjson" >"$TMP/jq" && break
done
ok $? "a capture of a trigger has what is open at its span's end"

# ---- every format ----

ends_with 0 timeout 300 "$O/ebtrace" trace --blame -o "$TMP/whole.ebt" -- "$prog" "$TMP/file" sleep futex >"$TMP/whole.said" 2>"$TMP/err"
ends_with 0 "$O/ebtrace" -q "$TMP/whole.ebt" -o "$TMP/whole.ndjson"
is "$(compared whole)" ok "a capture has them"
n=$(grep -c '"kind":"offcpu"' "$TMP/whole.ndjson")
is "$("$O/ebtrace" "$TMP/whole.ebt" | grep -c ' offcpu duration=[0-9.]* [mun]*s reason=')" "$n" "text has them"
is "$("$O/ebtrace" "$TMP/whole.ebt" -e offcpu -f ndjson | grep -c '"kind":"offcpu"')" "$n" "-e offcpu selects them"
for limit in 1000000 2500000; do
	ends_with 0 "$O/ebtrace" "$TMP/whole.ebt" --min-duration "${limit}ns" -f ndjson | jq -c 'select(.kind == "offcpu")' >"$TMP/got"
	jq -c --argjson limit $limit 'select(.kind == "offcpu" and .duration_ns >= $limit)' "$TMP/whole.ndjson" >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "--min-duration $limit: those that last so long"
done
is "$("$O/ebtrace" "$TMP/whole.ebt" -e '!offcpu' -f ndjson | grep -c '"kind":"offcpu"')" 0 "-e !offcpu excludes them"
jq -r 'select(.kind == "offcpu") | "\(.tid) \(.reason) \(.ts - .duration_ns) \(.duration_ns)"' "$TMP/whole.ndjson" |
	sort >"$TMP/want"
ends_with 0 "$O/ebtrace" -q "$TMP/whole.ebt" -f chrome -o "$TMP/chrome"
jq -r '(map(select(.name == "thread_name") | {key: "\(.tid)", value: .args.name}) | from_entries) as $row | .[]
	| select(.ph == "X" and .cat == "offcpu")
	| "\($row["\(.tid)"] | ltrimstr("off CPU (thread ") | rtrimstr(")")) \(.name) \(.ts * 1000 | round) \(.dur * 1000 | round)"' \
	"$TMP/chrome" | sort >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "Chrome's JSON: complete events in a row of each thread"
ends_with 0 "$O/ebtrace" -q "$TMP/whole.ebt" -f fxt -o "$TMP/fxt"
"$O/tests/prog/fxt_dump" "$TMP/fxt" | awk -F'\t' '$5 == "offcpu"' | wc -l >"$TMP/got"
echo "$n" >"$TMP/count"
same_file "$TMP/got" "$TMP/count" "Fuchsia's format has as many"
if command -v protoc >/dev/null; then
	ends_with 0 "$O/ebtrace" -q "$TMP/whole.ebt" -f perfetto -o "$TMP/trace"
	protoc -I tests/perfetto --decode=perfetto.protos.Trace tests/perfetto/trace.proto <"$TMP/trace" |
		perl tests/perfetto/trace.pl >"$TMP/events"
	is "$(grep -c '^!' "$TMP/events")" 0 "the Perfetto trace keeps the rules"
	awk -F'\t' '$3 ~ "/off CPU$" { tid = $3; sub(".*thread ", "", tid); sub("/.*", "", tid)
		if ($1 == "begin") { from[tid] = $2; name[tid] = $4 }
		else if ($1 == "end") printf "%s %s %s %d\n", tid, name[tid], from[tid], $2 - from[tid] }' "$TMP/events" |
		sort >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "Perfetto: slices of a track of each thread"
fi
"$O/ebtrace" list --events | grep -q '^kind  *offcpu '
ok $? "list --events has the kind"

# ---- where it cannot be had ----

"$O/ebtrace" trace --blame "$TMP/whole.ebt" >"$TMP/out" 2>&1
is $? 2 "not of a file"
if command -v setpriv >/dev/null; then
	setpriv --reuid 65534 --regid 65534 --clear-groups "$O/ebtrace" trace --blame -- true >"$TMP/out" 2>"$TMP/err"
	is $? 0 "without privilege the program runs"
	is "$(grep -c 'CAP_BPF.*not recorded when threads do not run' "$TMP/err")" 1 "and one line says what is missing" ||
		cat "$TMP/err"
fi
done_testing
