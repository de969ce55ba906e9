# SPDX-License-Identifier: BSD-2-Clause
# What a stack of 10 and of 30 frames costs the traced program for each event (--stack), in CPU time, and
# an event without: sourced by run.sh.

# stacks_cost DEPTH OPTIONS...: ns an event
stacks_cost() {
	local depth=$1
	shift
	echo | "$ebtrace" trace -q --mode probes --bpf-buffer 256M -f ebt -o "$tmp/stacks.ebt" "$@" -- \
		"$O/tests/prog/nested" "$depth" 20000 "$tmp/cost" >/dev/null 2>"$tmp/err" && cat "$tmp/cost"
}

bench_stacks() {
	local depth cost
	for depth in 6 26; do # and main, the function that emits, and two of libraries
		cost=$(stacks_cost $depth) || { failed "stacks: $(tail -1 "$tmp/err")"; return 0; }
		row event_in_$((depth + 4))_frames ns "$cost"
		cost=$(stacks_cost $depth --stack) || { failed "stacks: $(tail -1 "$tmp/err")"; return 0; }
		row event_with_stack_of_$((depth + 4)) ns "$cost"
	done
}
