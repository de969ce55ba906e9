#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Where threads wait (profile --off-cpu, --wall): times against the kernel's own counters, stacks
# against the functions that wait, of C and of OCaml; every format, from a run and from a capture.
. tests/lib.sh
need_root
need_command jq
need_command protoc
need_command perl
need_command setpriv
ebt=$O/ebtrace
prog=$O/tests/prog/offcpu

chmod 755 "$TMP"
install -m 755 "$O/ebtrace" "$prog" "$TMP"
# profile ARGS...: its messages and those of a program in err.
profile() { timeout 300 "$ebt" profile "$@" 2>"$TMP/err"; }
# record NAME STEP...: a capture of the program's steps, and its events.
record() {
	local name=$1
	shift
	profile --off-cpu --min-duration 1ns -o "$TMP/$name.ebt" -- "$prog" "$TMP/file" "$@" >"$TMP/$name.said" &&
		"$ebt" -q "$TMP/$name.ebt" -o "$TMP/$name.ndjson"
}
# with FUNCTION STEP NAME: of the time off the CPU in a step, the per cent that has the function on its stack.
with() {
	awk -v step="$2" '$1 == step' "$TMP/$3.said" >"$TMP/step"
	read -r _ tid begin until _ <"$TMP/step"
	jq -s --arg f "$1" --argjson tid "$tid" --argjson begin "$begin" --argjson until "$until" '
		map(select(.kind == "offcpu" and .tid == $tid and .ts > $begin and .ts <= $until)) |
		100 * (map(select(any(.stack[]?; startswith($f))).duration_ns) | add) / (map(.duration_ns) | add) |
		floor' "$TMP/$3.ndjson"
}
# reason REPORT REASON: the time of a reason, in ns.
reason() { jq --arg r "$2" '[.waits[] | select(.reason == $r).share.ns] | add // 0' "$1"; }

# ---- against the kernel's account, and the functions that wait ----

# The CPU time of a thread lacks what the host has taken from it while it ran: then once more.
for _ in 1 2 3; do
	stolen=$(stolen_ns)
	record steps sleep futex preempt fault
	said=$(perl tests/live/offcpu.pl "$TMP/steps.said" "$TMP/steps.ndjson" "$(stolen_since "$stolen")")
	[ "$said" = ok ] && break
done
is "$said" ok "each wait of threads, their number and sum are those of the kernel's counters"
for step in sleep:do_sleep futex:wait_for_word preempt:do_preempt fault:do_fault; do
	n=$(with "${step#*:}" "${step%:*}" steps)
	ok "$([ "${n:-0}" -ge 98 ]; echo $?)" "${step%:*}: the stacks have ${step#*:}" || diag "$n %"
done
"$ebt" profile --off-cpu --json "$TMP/steps.ebt" >"$TMP/steps.json"
is "$(jq -c '[.ns, .blocks.count, .blocks.ns]' "$TMP/steps.json")" \
	"$(jq -c -s 'map(select(.kind == "offcpu").duration_ns) | [add, length, add]' "$TMP/steps.ndjson")" \
	"a capture has the blocks"
is "$(jq -c '[([.waits[].share.ns] | add), ([.sections[].share.ns] | add)] | map(. == '"$(jq .ns "$TMP/steps.json")"')' "$TMP/steps.json")" \
	"[true,true]" "reasons and sections add up to all of their time"
is "$(reason "$TMP/steps.json" run_queue)" \
	"$(jq -s 'map(select(.kind == "offcpu").wait_ns) | add' "$TMP/steps.ndjson")" "waits for a CPU are those at the ends of blocks"
is "$(jq -c '[.waits[] | select(.call == "clock_nanosleep")] | [.[0].by, (map(.share.ns) | add > 80000000)]' "$TMP/steps.json")" \
	'["interrupt",true]' "sleeps end by an interrupt"
is "$(jq -c '[.waits[] | select(.call == "futex" and .by == "thread")][0] | [.reason, .comm, .share.ns > 100000000]' "$TMP/steps.json")" \
	'["futex","offcpu",true]' "a wait for a futex has the thread that woke it"
is "$(jq -c '[.waits[] | select(.reason == "run_queue" and .comm == "hog")][0] | .share.ns > 10000000' "$TMP/steps.json")" true \
	"a wait for a CPU has the thread that ran there"
is "$(jq '[.waits[] | select(.reason == "page_fault")] | length > 0' "$TMP/steps.json")" true "page faults have a reason of their own"
ok "$(jq 'if .blocks.stacks.whole >= 0.98 * .blocks.count then 0 else 1 end' "$TMP/steps.json")" "their stacks are whole" ||
	diag "$(jq -c .blocks "$TMP/steps.json")"
"$ebt" profile --off-cpu --min-duration 2ms --json "$TMP/steps.ebt" >"$TMP/long.json"
is "$(jq -c '[.blocks.count, .blocks.ns]' "$TMP/long.json")" \
	"$(jq -c -s 'map(select(.kind == "offcpu" and .duration_ns >= 2000000).duration_ns) | [length, add]' "$TMP/steps.ndjson")" \
	"--min-duration selects of a capture those that last so long"

# ---- which blocks are kept: the long ones of traced threads, also of late ones ----

"$prog" "$TMP/other" sleeper sleep sleep sleep >"$TMP/other.said" &
bystander=$!
children+=("$bystander")
profile --off-cpu --json -o "$TMP/run.json" -- "$prog" "$TMP/file" sleep child sleep >"$TMP/run.said"
profile --off-cpu -o "$TMP/run.ebt" -- "$prog" "$TMP/file" sleep child sleep >"$TMP/run.said"
"$ebt" -q "$TMP/run.ebt" -o "$TMP/run.ndjson"
kill $bystander 2>/dev/null
wait $bystander 2>/dev/null
is "$(jq -s --argjson it $bystander '[.[] | select(.kind == "offcpu" and (.pid == $it or .duration_ns < 1000000))] | length' "$TMP/run.ndjson")" 0 \
	"no block is shorter than 1 ms, or of a process that is not traced"
is "$(jq -r 'select(.kind == "offcpu").pid' "$TMP/run.ndjson" | sort -u | wc -l)" 2 "blocks of a child are among them"
slept=$(awk '$1 == "sleep" { sum += $7 } END { print sum }' "$TMP/run.said")
"$ebt" profile --off-cpu --json "$TMP/run.ebt" >"$TMP/again.json"
ok "$(jq --argjson s "$slept" '[.waits[] | select(.call == "clock_nanosleep").share.ns] | add |
	if . > 240000000 and . < 1.01 * $s then 0 else 1 end' "$TMP/again.json")" "sleeps are as long as the program says" ||
	diag "$slept: $(jq -c .waits "$TMP/again.json")"
is "$(jq -s -c 'map([.waits[] | select(.call == "clock_nanosleep").count] | add | . > 110 and . < 125)' "$TMP/run.json" "$TMP/again.json")" "[true,true]" \
	"the report of a run has the same blocks as that of a capture"

# More threads than stacks can be kept of.
profile --off-cpu --json -o "$TMP/many.json" -- "$O/tests/prog/sleepers" 1100 20
is $? 0 "a program with more threads than have room is profiled" || diag "$(cat "$TMP/err")"
is "$(jq -c '[.blocks.count >= 1100, .blocks.stacks.unknown >= 76, .blocks.stacks.whole >= 900]' "$TMP/many.json")" "[true,true,true]" \
	"all of them have their blocks, and those whose stacks were not kept are counted" || diag "$(jq -c .blocks "$TMP/many.json")"

# ---- running processes ----

stopped() { grep -q '^State:.*T' "/proc/$1/status"; }
"$prog" "$TMP/file" sleeper stop sleep stop >"$TMP/late.said" &
program=$!
children+=("$program")
wait_for stopped $program
timeout 300 "$ebt" profile --off-cpu -v -o "$TMP/late.ebt" -p $program 2>"$TMP/late.err" &
tracer=$!
wait_for grep -q 'has no markers' "$TMP/late.err"
kill -CONT $program
wait_for grep -q '^sleep' "$TMP/late.said"
wait_for stopped $program
sleep 1
kill -INT $tracer
wait $tracer
is $? 0 "a running process is profiled"
kill -KILL $program
wait $program 2>/dev/null
sleeper=$(awk '$1 == "sleeper" { print $2 }' "$TMP/late.said")
"$ebt" -q "$TMP/late.ebt" -o "$TMP/late.ndjson"
"$ebt" profile --off-cpu --json "$TMP/late.ebt" >"$TMP/late.json"
is "$(jq -c '[.blocks.open, .blocks.open_ns > 1000000000, .blocks.stacks.unknown >= 1]' "$TMP/late.json")" "[2,true,true]" \
	"blocks that have not ended are counted up to the end, and those that began before are without a stack" ||
	diag "$(jq -c .blocks "$TMP/late.json")"
is "$(jq -r --argjson tid "$program" 'select(.kind == "offcpu" and .tid == $tid and .open) | .reason, (.stack | map(sub("@.*"; "")) | index("main") != null)' \
	"$TMP/late.ndjson" | tr '\n' ' ')" "stopped true " "the main thread is stopped, where its stack says"
is "$(jq -c --argjson tid "$sleeper" 'select(.kind == "offcpu" and .tid == $tid and .reason == "sleep") | (.stack // []) |
	any(.[]; startswith("sleep_long"))' "$TMP/late.ndjson" | tail -1)" true "the other one sleeps in its own function"

# ---- both on one scale ----

profile --wall -F 999 --min-duration 1ns -o "$TMP/wall.ebt" -- "$prog" "$TMP/file" sleep preempt futex >"$TMP/wall.said"
"$ebt" profile --wall --json --by thread "$TMP/wall.ebt" >"$TMP/wall.json"
main=$(awk '$1 == "sleep" { print $2 }' "$TMP/wall.said")
"$ebt" -q "$TMP/wall.ebt" -o "$TMP/wall.ndjson"
lived=$(jq -s --argjson main "$main" 'map(select(.tid == $main and (.kind == "offcpu" or .kind == "sample"))) |
	(last | .ts) - (first | .ts - .duration_ns)' "$TMP/wall.ndjson")
ok "$(jq --arg main "$main" --argjson e "$lived" '[.sections[] | select(.name | startswith("thread \($main) ")).share.ns] | add |
	if . > 0.9 * $e and . < 1.1 * $e then 0 else 1 end' "$TMP/wall.json")" \
	"--wall: samples and blocks of a thread add up to its time" || diag "$(jq -c 'del(.waits) | .sections |= map(del(.functions))' "$TMP/wall.json")"
is "$(jq -c '[.ns == .sampled_ns + .blocks.ns, .samples > 0]' "$TMP/wall.json")" "[true,true]" "a sample stands for its time"
"$ebt" profile "$TMP/wall.ebt" >"$TMP/wall.txt"
is "$(grep -c '^Not counted: [0-9]* blocks off the CPU, which --off-cpu and --wall report$' "$TMP/wall.txt")" 1 \
	"without --wall the blocks of a capture are not counted, which is said"

# ---- formats ----

"$ebt" profile --json-schema >"$TMP/schema"
is "$(jq -r --slurpfile s "$TMP/schema" '$s[0] as $schema | '"$(grep -v '^#' tests/stat-schema.jq)" \
	"$TMP"/{steps,run,many,late,wall}.json 2>&1)" "" "JSON follows the schema that is printed"
ns=$(jq .ns "$TMP/steps.json")
for by in '' '--by thread' '--by program'; do
	# shellcheck disable=SC2086 # two words, or none
	"$ebt" profile --off-cpu $by -f folded -o "$TMP/folded" "$TMP/steps.ebt"
	is "$(awk '{ n += $NF } END { printf "%.0f", n }' "$TMP/folded")" "$ns" "folded stacks add up ${by:+with $by}"
done
is "$(grep -c ';do_sleep;.*;\[blocked: sleep\] [0-9]*$' "$TMP/folded" | awk '{ print ($1 > 0) }')" 1 "and end with the reason"
"$ebt" profile --off-cpu -f svg "$TMP/steps.ebt" >"$TMP/svg"
is "$(grep -c 'Where threads waited' "$TMP/svg" | awk '{ print ($1 > 0) }') $(grep -c 'wait_for_word' "$TMP/svg" | awk '{ print ($1 > 0) }') $(tail -c 7 "$TMP/svg" | tr -d '\n')" \
	"1 1 </svg>" "there is a picture"
"$ebt" profile --off-cpu -o "$TMP/x.pb.gz" "$TMP/steps.ebt"
gzip -dc "$TMP/x.pb.gz" | protoc -I tests/pprof --decode=perftools.profiles.Profile tests/pprof/profile.proto >"$TMP/pprof"
is "$(awk '/^  value:/ { n += $2 } END { printf "%.0f", n }' "$TMP/pprof") $(grep -c '"off_cpu"' "$TMP/pprof") $(grep -c '"\[blocked: futex\]"' "$TMP/pprof")" \
	"$ns 1 1" "and a profile for pprof with all of the time"
"$ebt" profile --off-cpu "$TMP/steps.ebt" >"$TMP/txt"
ok "$(grep -Eq '^ *[0-9.]+ [mu]?s +[0-9.]+ % +[0-9]+ +[0-9.]+ [mu]?s  blocked: futex \(futex\), woken by offcpu$' "$TMP/txt"; echo $?)" \
	"text has each reason with its time and the thread that ended it" || diag "$(head -12 "$TMP/txt")"
ok "$(grep -Eq '^ +0 ns +0\.0 % +[0-9.]+ ms +[0-9.]+ %  do_sleep \(offcpu\.c:[0-9]+\)$' "$TMP/txt"; echo $?)" \
	"and each function its own time, that of its calls, and its line" || diag "$(cat "$TMP/txt")"

# ---- refusals ----

for args in '--off-cpu --wall' '--off-cpu -F 99' '--min-duration 1ms'; do
	# shellcheck disable=SC2086 # several options
	"$ebt" profile $args -- true >"$TMP/out" 2>&1
	is "$? $(wc -l <"$TMP/out")" "2 1" "refused: $args"
done
setpriv --reuid 65534 --clear-groups "$TMP/ebtrace" profile --off-cpu -- "$TMP/offcpu" /dev/null >"$TMP/out" 2>&1
is "$? $(wc -l <"$TMP/out") $(grep -c 'needs CAP_BPF and CAP_PERFMON, or root' "$TMP/out")" "7 1 1" \
	"without privilege one line says what is needed" || diag "$(cat "$TMP/out")"

if [ "$(uname -m)" != x86_64 ]; then
	done_testing
fi
ocaml_root
OCAML_LINK=-g ocaml_build_here waits
profile --off-cpu -o "$TMP/ocaml.ebt" -- "$EXE" 20 >"$TMP/ocaml.said"
is $? 0 "a program of OCaml is profiled" || diag "$(cat "$TMP/err")"
"$ebt" profile --off-cpu --json "$TMP/ocaml.ebt" >"$TMP/ocaml.json"
# What it says has also how long it waited for a CPU while it ran; that it slept for less than it asked cannot be.
declare -A asked=([finalises]=150000000 [naps]=200000000)
while read -r function ns; do
	ok "$(jq --arg f "Waits.$function" --argjson ns "$ns" --argjson least "${asked[$function]:-$((ns * 4 / 5))}" '
		[.sections[].functions[] | select(.function == $f).total.ns] | add |
		if . >= $least and . < $ns then 0 else 1 end' "$TMP/ocaml.json")" "$function waits as long as the program says" ||
		diag "$ns: $(jq -c --arg f "Waits.$function" '.sections[].functions[] | select(.function == $f)' "$TMP/ocaml.json")"
done <"$TMP/ocaml.said"
is "$(jq -c '[.sections[].functions[] | select(.function == "Waits.finalises")][0] | [(.file | sub(".*/"; "")), .line > 0]' "$TMP/ocaml.json")" \
	'["waits.ml",true]' "an OCaml function has its line"
"$ebt" -q "$TMP/ocaml.ebt" -o "$TMP/ocaml.ndjson"
is "$(jq -c 'select(.kind == "offcpu") | .stack // [] | map(sub("@.*"; "")) | select(index("Waits.finalises")) |
	[index("Waits.collects") < index("caml_final_do_calls_res"), index("caml_final_do_calls_res") < index("Waits.finalises"),
		index("Waits.finalises") < index("caml_unix_sleep")]' "$TMP/ocaml.ndjson" | sort | uniq -c | awk '{ print ($1 >= 5), $2 }')" \
	"1 [true,true,true]" "a finaliser that sleeps is between the collector that runs it and the call"
is "$(jq -c 'select(.kind == "offcpu") | .stack // [] | map(sub("@.*"; "")) | select(index("Waits.fiber")) |
	index("Waits.fiber") < index("Waits.naps")' "$TMP/ocaml.ndjson" | sort -u)" true "a fiber that waits is called by its handler's function"
collected=$(jq '[.sections[].collector.ns] | add' "$TMP/ocaml.json")
ok "$([ "$collected" -gt 140000000 ]; echo $?)" "what waits in the collector is counted apart" || diag "$collected"
done_testing
