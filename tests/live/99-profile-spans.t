#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Samples in spans and fibers: programs in C and OCaml with known shares, from their start and attached to.
. tests/lib.sh
need_root
need_command jq
ebt=$(realpath "$O/ebtrace")

profile() { timeout 300 "$ebt" profile "$@" 2>"$TMP/err"; }
# shares REPORT SECTION=PERCENT...: the sections that are missing, or not within 5 standard deviations of their share.
shares() {
	local report=$1 one
	shift
	for one; do
		jq -r --arg name "${one%=*}" --argjson p "${one##*=}" '.samples as $n | ($p / 100) as $q |
			([.sections[] | select(.name == $name) | .share.samples] | add // 0) as $s |
			select(($s - $n * $q | fabs) > 5 * ($n * $q * (1 - $q) | sqrt)) | "\($name): \($s) of \($n)"' "$report"
	done
}
# strays REPORT FUNCTION=SECTION...: samples of a function in another section.
strays() {
	local report=$1 one
	shift
	for one; do
		jq -r --arg f "${one%%=*}" --arg name "${one##*=}" '.sections[] | select(.name != $name) | .name as $other |
			.functions[] | select(.function == $f and .self.samples > 2) | "\($f): \(.self.samples) in \($other)"' "$report"
	done
}
c_sections="request=60 reply=20 flush=10"
c_places="parse=request query=request sweep=request render=reply pack=flush"
profile -F 999 -o "$TMP/c.ebt" -- "$O/tests/prog/laps" 2 old 1
is $? 0 "a program in C with two threads is profiled" || diag "$(cat "$TMP/err")"
"$ebt" profile --by span --json "$TMP/c.ebt" >"$TMP/c.json"
# shellcheck disable=SC2086
is "$(shares "$TMP/c.json" $c_sections "no span=10")" "" "spans have their shares of its samples"
# shellcheck disable=SC2086
is "$(strays "$TMP/c.json" $c_places "poll_all=no span")" "" "and the functions that ran in them"
is "$(jq -r '.sections[] | select(.collector.samples > 0) | .name' "$TMP/c.json")" request "the collector ran in one of them"
is "$(jq -c '[([.sections[].share.samples] | add), .samples] | .[0] == .[1]' "$TMP/c.json")" true "sections add up"
"$ebt" profile --json "$TMP/c.ebt" >"$TMP/phases.json"
is "$(jq -r '.sections[] | select(.name == "collector") | .functions[] | select(.self.samples > 0) | .function' "$TMP/phases.json" | head -1)" \
	sweep "a thread of C is in the phases of its own ring" || diag "$(jq -c '[.sections[] | [.name, .share]]' "$TMP/phases.json")"

# Its ring is on already: what it has begun before is known.
export EBTRACE_START=1 EBTRACE_DIR=$TMP
"$O/tests/prog/laps" 1000 new &
it=$!
children+=("$it")
wait_for test -s "$TMP/$it.events"
profile -F 999 -d 2s --by span --json -p $it >"$TMP/running.json"
is $? 0 "a running program is profiled by its spans" || diag "$(cat "$TMP/err")"
kill $it
is "$(shares "$TMP/running.json" request=50 reply=30 "no span=20")" "" "they have their shares" ||
	diag "$(jq -c '[.samples, (.sections[] | [.name, .share.samples])]' "$TMP/running.json")"
is "$(strays "$TMP/running.json" parse=request cache=request render=reply "poll_all=no span")" "" "and their functions"

# Markers of a program that emits nothing, which are asked for.
marks='shop:*_begin~shop:*_end'
marked="shop:request_begin~shop:request_end=30 shop:lookup_begin~shop:lookup_end=20 shop:reply_begin~shop:reply_end=40"
places="parse=shop:request_begin~shop:request_end query=shop:lookup_begin~shop:lookup_end
	render=shop:reply_begin~shop:reply_end"
profile -F 999 -U "$marks" --json -o "$TMP/marked.json" -- "$O/tests/prog/marked" 2 1
is $? 0 "a program is profiled by pairs of markers" || diag "$(cat "$TMP/err")"
# shellcheck disable=SC2086
is "$(shares "$TMP/marked.json" $marked "no span=10")" "" "they have their shares, and so has the rest" ||
	diag "$(jq -c '[.samples, (.sections[] | [.name, .share.samples])]' "$TMP/marked.json")"
# shellcheck disable=SC2086
is "$(strays "$TMP/marked.json" $places "poll_all=no span")" "" "and their functions"
"$O/tests/prog/marked" 1000 1 &
it=$!
children+=("$it")
profile -F 999 -U "$marks" -d "$(lasting 1)" -o "$TMP/marked.ebt" -p $it
is $? 0 "a running program is profiled so, too" || diag "$(cat "$TMP/err")"
"$ebt" profile --by span --json "$TMP/marked.ebt" >"$TMP/marked.json"
# shellcheck disable=SC2086
is "$(shares "$TMP/marked.json" $marked "no span=10")" "" "a recording has them" ||
	diag "$(jq -c '[.samples, (.sections[] | [.name, .share.samples])]' "$TMP/marked.json")"
is "$("$ebt" profile --json --by phase "$TMP/marked.ebt" | jq -r '.sections[].name')" threads "they are no phases of a runtime"
profile --off-cpu --min-duration 1ns -U "$marks" -d "$(lasting 1)" --json -p $it >"$TMP/marked.json"
is "$(jq -r '[.sections[].name | select(startswith("shop:"))] | length' "$TMP/marked.json")" 3 "blocks are in them, too" ||
	diag "$(cat "$TMP/err")" "$(jq -c '[.sections[].name]' "$TMP/marked.json")"
profile -U 'shop:a~shop:b' -p $it >"$TMP/out"
is "$? $(grep -c 'has none of the markers of -U, the names that were seen: ' "$TMP/err")" "4 1" \
	"a process without any of them is refused" || diag "$(cat "$TMP/out" "$TMP/err")"
kill $it

# Of processes that are attached to one after another; of the CPU time that is theirs in the run.
many=()
for _ in $(seq 100); do
	"$O/tests/prog/marked" 1000 &
	many+=("$!")
done
children+=("${many[@]}")
profile -F 999 -U "$marks" -d "$(lasting 1)" --json -p "$(IFS=,; echo "${many[*]}")" >"$TMP/many.json"
is $? 0 "many running programs are profiled" || diag "$(cat "$TMP/err")"
kill "${many[@]}"
is "$(jq '.cpu_ns > 0 and .sampled_ns < .cpu_ns * 1.02' "$TMP/many.json")" true "samples begin with the run, where all have their probes" ||
	diag "$(jq -c 'del(.sections)' "$TMP/many.json")"

if [ "$(uname -m)" != x86_64 ]; then
	done_testing
fi
ocaml_root
OCAML_LINK=-g ocaml_build_here fibers
profile -F 999 --by span --json -o "$TMP/ocaml.json" -- "$EXE" 2
is $? 0 "a program of OCaml with fibers is profiled" || diag "$(cat "$TMP/err")"
is "$(shares "$TMP/ocaml.json" "fiber reader=40" request=20 "no fiber=10" "fiber (no name)=20" own=10)" "" \
	"fibers, their spans, spans of its own and the time between fibers have their shares" ||
	diag "$(jq -c '[.samples, (.sections[] | [.name, .share.samples])]' "$TMP/ocaml.json")"
is "$(strays "$TMP/ocaml.json" "Fibers.reads=fiber reader" Fibers.requests=request "Fibers.turns=no fiber" "Fibers.writes=fiber (no name)" Fibers.owns=own)" \
	"" "and their functions"
done_testing
