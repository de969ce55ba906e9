#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ebtrace spans -a with programs of OCaml that run fibers: one that runs already, and one that comes. The run has a pid
# namespace of its own, in which nothing else is.
. tests/lib.sh
need_root
need_command jq
ocaml_root
OCAML_LINK=-g ocaml_build_here fibers
cp "$EXE" "$TMP/program"
install -m 755 "$(realpath "$O/ebtrace")" "$TMP/ebtrace"

# inside DIR ARGS: ebtrace spans -a in a namespace, until both programs have ended.
inside() {
	mkdir -p "$TMP/$1/rings"
	cat >"$TMP/$1/run" <<-END
		cd "$TMP/$1"
		export EBTRACE_DIR=$TMP/$1/rings OCAML_RUNTIME_EVENTS_DIR=$TMP/$1/rings OCAML_RUNTIME_EVENTS_START=1 OCAMLRUNPARAM=e=20
		"$TMP/program" 1.5 & early=\$!
		until [ -e rings/\$early.events ]; do sleep 0.01; done
		"$TMP/ebtrace" spans -v -a $2 --json -o json 2>err & tracer=\$!
		until grep -q real-time err; do sleep 0.01; done
		"$TMP/program" 1 & late=\$!
		echo \$early \$late >pids
		wait \$early \$late
		sleep 0.3
		kill -INT \$tracer
		wait \$tracer
	END
	timeout $((60 * SLOWNESS)) unshare -pf --mount-proc bash "$TMP/$1/run" >"$TMP/$1/out" 2>"$TMP/$1/messages"
	is $? 0 "$1: spans -a ends when asked, with a report" || diag "$(tail -3 "$TMP/$1/err" "$TMP/$1/messages")"
	read -r early late <"$TMP/$1/pids"
}
adds_up() {
	jq -c '(.spans[] | select(.total_ns != ([.parts[].ns] | add // 0))), (.slowest[] | select(.ns != ([.parts[].ns] | add // 0)))' "$1"
}

inside spans "--by process --top 1000"
of() { jq --arg name "$1" '[.spans[] | select(.name == $name).count] | add // 0' "$TMP/spans/json"; }
laps=$(of "own of program ($late)")
[ "$laps" -gt 10 ]
ok $? "one that comes has its own spans" || diag "$(jq -c '[.spans[] | [.name, .count]]' "$TMP/spans/json")"
is "$(of "request of program ($late)")" "$laps" "and as many of the fiber beside them: it was followed from its first lap on"
laps=$(of "own of program ($early)")
requests=$(of "request of program ($early)")
[ "$laps" -gt 10 ] && [ $((laps - requests)) -le 1 ] && [ $((requests - laps)) -le 1 ]
ok $? "one that ran before has both, but for the one that was open" || diag "$laps, $requests"
is "$(adds_up "$TMP/spans/json")" "" "parts add up to the nanosecond"
jq -e --argjson pids "[$early, $late]" '[.slowest[] | select(.name | startswith("request of"))] | length > 0 and
	all(.fiber == 1 and .domain == 0 and (.pid | IN($pids[])))' "$TMP/spans/json" >/dev/null
ok $? "spans of a fiber have its number"

inside fibers "--fibers"
is "$(jq -c '[.domains[].pid] | sort' "$TMP/fibers/json")" "[$early,$late]" "--fibers has the domains of both"
is "$(jq -c '[.spans[] | [.name, .open_at_begin + .not_ended + .count]] | sort' "$TMP/fibers/json")" \
	'[["(no name)",2],["request",2]]' "and the fibers of both, by their outermost spans" ||
	diag "$(jq -c '.spans[]' "$TMP/fibers/json" | cut -c1-300)"
jq -e '[.spans[] | select(.name == "request").parts[] | select(.part == "suspended").of] == ["readv"]' "$TMP/fibers/json" >/dev/null
ok $? "with the operation in which they wait"
is "$(adds_up "$TMP/fibers/json")" "" "parts add up to the nanosecond"
done_testing
