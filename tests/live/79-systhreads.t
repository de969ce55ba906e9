#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Threads of OCaml that share a domain: the work of one is no pause of another.
. tests/lib.sh
need_command jq
ocaml_root
dir=$(mktemp -d "$ROOT/tmp/ebtrace.XXXXXX")
chmod 755 "$dir"
at_end "rm -rf '$dir'"
cp tests/ocaml/yields.ml "$dir"
chroot "$ROOT" sh -c "cd /tmp/${dir##*/} && ocamlopt -I +unix -I +threads unix.cmxa threads.cmxa yields.ml -o yields" >"$TMP/log" 2>&1
ok $? "tests/ocaml/yields.ml compiles" || diag "$(cat "$TMP/log")"

yields() { "$O/ebtrace" "$@" -- chroot "$ROOT" "/tmp/${dir##*/}/yields" 2>"$TMP/err"; }
yields stat --json --blame --mode probes -o "$TMP/json"
is $? 0 "it is seen through probes"
is "$(jq '[.processes[].domains[]] | length' "$TMP/json")" 1 "both threads are of one domain"
jq -e '.total.phases | map(select(.name == "explicit_gc_full_major"))[0].count >= 3' "$TMP/json" >/dev/null
ok $? "full major collections that yield to other threads are seen whole" || diag "$(jq -c .total.phases "$TMP/json")"
jq -e '.total.gc_ns > 0 and .total.gc_ns * 2 < .total.elapsed_ns' "$TMP/json" >/dev/null
ok $? "what the other thread does meanwhile is no time of garbage collection" ||
	diag "$(jq -c '.total | [.elapsed_ns, .gc_ns, .pauses.max_ns]' "$TMP/json")"
# same_pauses JSON: the sum is printed as a mean.
same_pauses() {
	jq -e '.total.pauses as $p | $p.count > 5 and .blame.pauses == $p.count and
		(.blame.pause_ns - $p.mean_ns * $p.count | fabs) < $p.count and
		.blame.pause_ns == ([.blame.parts_ns[]] | add)' "$1" >/dev/null
}
same_pauses "$TMP/json"
ok $? "its blame is of the same pauses" || diag "$(jq -c '[.total.pauses, .blame]' "$TMP/json")"

# A pause whose begin was missed is known at its end, when the event of a shorter one in it is written already: such a
# run, of a program that was found late on a busy machine, is made once more.
for _ in {1..5}; do
	yields trace --blame --mode probes -o "$TMP/trace.ebt"
	status=$?
	ends_with 0 "$O/ebtrace" stat --json --blame "$TMP/trace.ebt" >"$TMP/json"
	[ "$(jq .total.pauses.cut.loss "$TMP/json")" = 0 ] && break
done
is $status 0 "events of pauses are recorded"
same_pauses "$TMP/json"
ok $? "the blame of a capture is of its pauses" || diag "$(jq -c '[.total.pauses, .blame]' "$TMP/json")"
ends_with 0 "$O/ebtrace" trace "$TMP/trace.ebt" -f ndjson >"$TMP/trace"
is "$(jq -s '[.[] | select(.kind == "pause").duration_ns] | [length, add]' -c "$TMP/trace")" \
	"$(jq -c '[.blame.pauses, .blame.pause_ns]' "$TMP/json")" "and so are the events"
jq -s -e '
	(reduce .[] as $e ({}; if $e.name == "explicit_gc_full_major" then
		if $e.kind == "begin" then .begin = $e.ts else .ns["\($e.ts)"] = $e.ts - .begin end else . end) | .ns) as $phase |
	any(.[] | select(.kind == "pause"); .duration_ns < ($phase["\(.ts)"] // 0))' "$TMP/trace" >/dev/null
ok $? "one is shorter than its phase, which waits for another thread" || diag "$(jq -c 'select(.kind == "pause")' "$TMP/trace")"

yields trace -o "$TMP/auto.ebt"
is "$("$O/ebtrace" info --json "$TMP/auto.ebt" | jq -r .source)" bpf "a capture of a process whose ring is off is of probes alone"

# Each in a run of its own: of two in one capture the first is described.
for trigger in 'explicit_gc_full_major>100ms' 'pause>1us'; do
	yields trace --trigger "$trigger" --max 0 --before 1ms --after 1ms --mode probes -o "$TMP/${trigger%>*}.ebt"
	is $? 0 "a trigger on $trigger captures"
done
for f in "$TMP"/{explicit_gc_full_major,pause}.*.ebt; do "$O/ebtrace" info --json "$f"; done | jq -s -e '
	map(.trigger | select(.span == "explicit_gc_full_major")) as $phases |
	map(.trigger | select(.span == "pause")) as $pauses |
	($phases | length) > 0 and ($pauses | length) > 0 and
	all($phases[]; .ns == .end_ns - .begin_ns) and all($pauses[]; .ns <= .end_ns - .begin_ns)' >/dev/null
ok $? "a capture says how long its phase, or its pause, was" || diag "$(cat "$TMP/err")"
done_testing
