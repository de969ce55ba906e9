#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the kernel counted of a thread in each of its pauses, without --blame: for causes made on
# purpose, against getrusage and schedstat of the thread itself, and of a real OCaml program.
. tests/lib.sh
need_root
need_command jq

prog=$O/tests/prog/blamed

stolen=$(stolen_ns)
timeout 600 "$O/ebtrace" trace --mode stream -o "$TMP/run.ebt" -- "$prog" "$TMP/file" sleep preempt pinged touch fault \
	>"$TMP/said" 2>"$TMP/err"
is $? 0 "the program and the trace end well" || cat "$TMP/err"
stolen=$(stolen_since "$stolen")
ends_with 0 "$O/ebtrace" stat --json "$TMP/run.ebt" >"$TMP/report"
ends_with 0 "$O/ebtrace" -q -f ndjson -e end "$TMP/run.ebt" | grep '"name":"major"' >"$TMP/ends"

# pause STEP FILTER: a jq filter on the step's pause, and the program's own account $s of it. What lies
# between the two, $outside ns in which the thread may lose its CPU as well, may be waiting or not; 50 us
# and two switches for the reading of counters, and a switch more for each 100 us outside: where others
# preempt it 4 times a ms, the program reads its counters again and again. $stolen: what its CPU time may lack.
pause() {
	local account
	account=$(awk -v step="$1" '$1 == step { printf "{\"begin\":%s,\"end\":%s,\"wait\":%s,\"off\":%s,\"voluntary\":%s,\"involuntary\":%s,\"minor\":%s,\"major\":%s}",
		$3, $4, $6, $7, $10, $11, $12, $13 }' "$TMP/said")
	jq -e --argjson s "$account" --argjson stolen "$stolen" 'def near($x; $y; $most): ($x - $y | fabs) <= $most;
		[.blame.longest[] | select(.begin_ns >= $s.begin and .begin_ns + .ns <= $s.end)][0]
		| ($s.end - $s.begin - .ns) as $outside | '"$2" "$TMP/report" >"$TMP/jq"
	ok $? "$1: $3" || { echo "# $account"; jq -c '.blame.longest[]' "$TMP/report" | sed 's/^/# /'; }
}
counts='near(.counted.voluntary_switches; $s.voluntary; 2)
	and near(.counted.involuntary_switches; $s.involuntary; 2 + $outside / 100000)
	and near(.counted.run_delay_ns; $s.wait; 50000 + .ns / 100 + $outside)'
for step in sleep preempt pinged touch fault; do
	pause $step "$counts" "switches and the wait for a CPU are those of the thread's own account"
	pause $step '([.parts_ns[]] | add) == .ns' "its parts add up"
	pause $step 'near(.parts_ns.run_queue; .counted.run_delay_ns; 0) or .counted.run_delay_ns > .ns' "who waited for a CPU is known"
done
pause sleep '.counted.voluntary_switches >= 40 and .parts_ns.cpu == 0 and .parts_ns.unknown > 75000000' \
	"what blocked it is not known"
for step in preempt pinged; do
	pause $step '.counted.voluntary_switches > 0 or (.parts_ns.unknown == 0 and near(.parts_ns.cpu; .ns - $s.off; 50000 + .ns / 50 + $outside + $stolen))' \
		"a thread that never blocked was on its CPU for the rest, as its CPU time says"
done
pause pinged '.counted.involuntary_switches > 200' "there were many short preemptions"
pause touch '.counted.minor_faults >= 10240 and near(.counted.minor_faults; $s.minor; 30) and .counted.major_faults == 0' \
	"page faults are those of getrusage"
pause fault '.counted.major_faults > 100 and near(.counted.major_faults; $s.major; 1)' "so are those that read a file"
jq -e '.blame | (.known | not) and .counted.pauses == 5 and .counted.never_blocked <= 3
	and ([.longest[].counted.minor_faults] | add) == .counted.minor_faults' "$TMP/report" >"$TMP/jq"
ok $? "sums are those of the pauses" || jq -c .blame "$TMP/report"
jq -e '[.processes[0].pauses.count, .blame.pauses] == [5, 5]' "$TMP/report" >"$TMP/jq"
ok $? "no pause lacks" || jq -c .blame "$TMP/report"

# ---- every output ----

faults=$(jq -c '[.blame.longest[].counted.minor_faults] | sort' "$TMP/report")
is "$(jq -sc 'map(.minor_faults) | sort' "$TMP/ends")" "$faults" "NDJSON has them at the ends of pauses"
is "$("$O/ebtrace" -q "$TMP/run.ebt" -f chrome | jq -c '[.[] | select(.name == "end of major" and .args.minor_faults != null).args.minor_faults] | sort')" \
	"$faults" "so has Chrome's JSON, in an instant at the end"
ends_with 0 "$O/ebtrace" -q "$TMP/run.ebt" -f fxt -o "$TMP/fxt"
is "$("$O/tests/prog/fxt_dump" "$TMP/fxt" | grep -c 'minor_faults[^a-z]*[0-9]')" 5 "so has Fuchsia's format"
is "$("$O/ebtrace" -q "$TMP/run.ebt" | grep -c ' end major .*\(run_delay_ns\|switches\|faults\)=')" 5 "so has text"
if command -v protoc >/dev/null; then
	ends_with 0 "$O/ebtrace" -q "$TMP/run.ebt" -f perfetto | protoc -I tests/perfetto --decode=perfetto.protos.Trace \
		tests/perfetto/trace.proto >"$TMP/perfetto"
	note=$(grep -B1 'name: "minor_faults"' "$TMP/perfetto" | awk '$1 == "iid:" { print $2 }')
	is "$(grep -c "name_iid: $note\$" "$TMP/perfetto")" 5 "so has Perfetto's"
fi
ends_with 0 "$O/ebtrace" stat "$TMP/run.ebt" >"$TMP/text"
grep -q '^    counted in 5 pauses: [0-9]* voluntary and [0-9]* involuntary switches, [0-9]* minor and [0-9]* major page faults, [0-9]* migrations$' "$TMP/text"
ok $? "stat says so in its text, without --blame" || cat "$TMP/text"

ends_with 0 "$O/ebtrace" stat --mode stream --interval 20ms -- "$prog" "$TMP/file" sleep >"$TMP/out" 2>"$TMP/lines"
grep -q 'counted in 1 pause:' "$TMP/lines" && ! grep -q ' open: ' "$TMP/lines"
ok $? "lines of an interval do not guess at a pause that is open" || cat "$TMP/lines"
ends_with 0 "$O/ebtrace" stat --mode ring --json -- "$prog" "$TMP/file" sleep >"$TMP/out" 2>"$TMP/ring.json"
grep -q '"kind":"stat"' "$TMP/ring.json" && ! grep -q '"blame"' "$TMP/ring.json"
ok $? "where no probe stands at pauses nothing is counted" || cat "$TMP/ring.json"
ends_with 0 "$O/ebtrace" stat --json-schema >"$TMP/schema"
wrong=$(jq -r --slurpfile s "$TMP/schema" '$s[0] as $schema | ('"$(grep -v '^#' tests/stat-schema.jq)"')' "$TMP/report" 2>&1)
is "$wrong" "" "the JSON is valid by its schema"

# ---- a real program, by its functions ----

ocaml_root
ocaml_build gcwork
timeout 600 "$O/ebtrace" stat --mode probes --json -o "$TMP/ocaml.json" -- \
	chroot "$ROOT" "$EXE_IN" 2 400 >"$TMP/out" 2>"$TMP/err"
is $? 0 "OCaml: the program ends well" || cat "$TMP/err"
jq -e '.blame | .counted.pauses == .pauses and .pauses > 20 and .counted.minor_faults > 0
	and .pause_ns == ([.parts_ns[]] | add)' "$TMP/ocaml.json" >"$TMP/jq"
ok $? "OCaml: each pause is counted" || jq -c '.blame | del(.longest)' "$TMP/ocaml.json"
jq -e '[.blame.longest[] | select(.counted.voluntary_switches == 0 and .parts_ns.domain == 0) | .parts_ns.unknown == 0] | all' \
	"$TMP/ocaml.json" >"$TMP/jq" &&
	jq -e '.blame | .counted.never_blocked > 0 and .parts_ns.cpu > 0 and .parts_ns.run_queue <= .counted.run_delay_ns' "$TMP/ocaml.json" >"$TMP/jq"
ok $? "OCaml: those that never blocked are known" || jq -c '[.blame.longest[0:5]]' "$TMP/ocaml.json"
done_testing
