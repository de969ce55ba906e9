#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random captures (tests/freeze/write_random.c) in every format and report: no run crashes or fails, JSON is valid, and
# no text has control characters. SEED=N: the first seed; SEEDS=N: how many.
. tests/lib.sh
need_command jq
first=${SEED:-100}
forms=("-f text" "-f ndjson" "-f perfetto" "-f chrome" "-f fxt" "-f ebt" "-f memtrace" "-f pagetrace" "stat --blame --interval 2ms"
	"stat --json" "stat --mmu -f svg" spans "spans --json --interval 5ms" "spans -f svg" "top --once --blame" "top --json" mem
	"mem lifetimes --json" "mem timeline -f svg" "mem flame" "mem -f pprof" "pages map -f html" "pages owners" "pages damage" "profile --by span"
	"profile --json" "profile -f pprof" "profile --off-cpu" "info --json")
fiber_forms=("-f text" "-f perfetto" "-f chrome" "-f fxt" "spans --fibers" "spans --fibers --json" "spans --fibers -f svg"
	"profile --by span" "profile --off-cpu --json")
# checked FORM: what is wrong with $TMP/out, of that form
checked() {
	case $1 in
	*ndjson* | *json* | *chrome*) jq -e . "$TMP/out" >/dev/null 2>"$TMP/jq" || head -1 "$TMP/jq" ;;
	*perfetto | *fxt | *ebt | *memtrace | *pagetrace | *pprof) ;;
	*) LC_ALL=C grep -ac $'[\x01-\x08\x0b-\x1f\x7f\xff]' "$TMP/out" | grep -vx 0 ;;
	esac
}
# shown FORM [fibers | PARAMETERS]: of captures, or those with fibers, or with these traces of allocations
shown() {
	local form=$1 wrong="" seed file
	for ((seed = first; seed < first + ${SEEDS:-3}; seed++)); do
		file=$TMP/$seed${2:-}.ebt
		[ -e "$file" ] || "${O%/asan}/freeze/write_random" $seed "$file" ${2:+"$2"}
		# shellcheck disable=SC2086
		"$O/ebtrace" $form "$file" >"$TMP/out" 2>"$TMP/err"
		case $? in 0 | 4) ;; *) wrong+=" $seed: status $? $(head -1 "$TMP/err")" ;; esac
		wrong+=$(checked "$form")
	done
	is "$wrong" "" "$form: whatever a capture ${2:+of ${2:-} }holds, it is shown"
}
for form in "${forms[@]}"; do shown "$form"; done
for form in "${fiber_forms[@]}"; do shown "$form" fibers; done
for form in mem "mem flame -f svg" "mem timeline -f svg" "mem -f pprof" "mem hotspots --json"; do
	shown "$form" "periodic=ocaml weights=words"
done
done_testing
