#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a child has cost is given back when it has ended: descriptors, ring files, entries of maps and
# processes that hold probes, in every mode. The program starts its children, then waits while the tracer is examined.
. tests/lib.sh
need_root
need_command bpftool
need_command jq
brood=$O/tests/prog/brood
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR
export XDG_RUNTIME_DIR=$TMP/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"

cat >"$TMP/program" <<'END'
"$1" 8 10 0 4
: >"$2/begun"
read -r _ <"$2/go"
"$1" "$3" 10 0 8
: >"$2/done"
read -r _ <"$2/end"
END

# Files with code stay open for the names of functions, each once, and with its symbols: not those of
# each child. Whether one of the first children lived long enough to be read is a race.
open_files() { find "/proc/$tracer/fd" -type l -printf '%l\n' 2>"$TMP/fds"; }
is_code() { grep "$1" -e "^$PWD/$O/" -e "^$O/" -e '^/usr/lib' -e '^/lib'; }
descriptors() { open_files | is_code -v | wc -l; }
same_descriptors() { [ "$(descriptors)" -le "$before" ]; }
# Below the tracer: processes that hold its probes, and those of any kind that nobody has reaped.
helpers() {
	ps -eo pid=,ppid=,stat=,comm= | awk -v tracer="$tracer" '
		{ parent[$1] = $2; zombie[$1] = $3 ~ /^Z/; holds[$1] = $4 == "uprobe-links" }
		END {
			for (pid in parent) {
				for (p = pid; p > 1 && p != tracer; p = parent[p]) {}
				if (p != tracer || pid == tracer) continue
				holders += holds[pid]
				zombies += zombie[pid]
			}
			print holders + 0, zombies + 0
		}'
}
same_helpers() {
	local holders zombies
	read -r holders zombies < <(helpers)
	[ "$holders" -le "$helpers_before" ] && [ "$zombies" = 0 ]
}
rings() { find "$XDG_RUNTIME_DIR" -name '*.events' | wc -l; }
no_rings() { [ "$(rings)" = 0 ]; }
# The processes that the kernel follows for this tracer.
traced() {
	local id
	for id in $(awk '$1 == "map_id:" { print $2 }' "/proc/$tracer/fdinfo/"* 2>"$TMP/fds" | sort -u); do
		[ "$(bpftool -j map show id "$id" | jq -r .name)" != ebt_traced ] ||
			bpftool -j map dump id "$id" | jq length
	done
}
shell_alone() { [ "$(traced)" -le 1 ]; }

for mode in ring watermark stream probes auto; do
	rm -f "$TMP"/{begun,go,done,end}
	mkfifo "$TMP/go" "$TMP/end"
	n=100 # each waits for its probes
	[ $mode != ring ] || n=300
	"$O/ebtrace" -q --mode $mode -f ndjson -o "$TMP/t" -- sh "$TMP/program" "$brood" "$TMP" $n 2>"$TMP/err" &
	tracer=$!
	children+=("$tracer")
	wait_for test -e "$TMP/begun"
	wait_for tracer_rests # probes of those that have ended are taken off
	before=$(descriptors)
	read -r helpers_before _ < <(helpers)
	# A line stays in a FIFO while somebody has it open.
	exec {go}<>"$TMP/go" {end}<>"$TMP/end"
	echo >&"$go"
	for i in 1 2 3; do [ -e "$TMP/done" ] || wait_for test -e "$TMP/done"; done
	wait_for same_descriptors
	ok $? "$mode: behind $n children the tracer has as many descriptors as before them" ||
		diag "$before, then $(descriptors)"
	is "$(open_files | is_code -h | sort | uniq -c | awk '$1 > 3')" "" "$mode: nor is a file with code open for each"
	wait_for same_helpers
	ok $? "$mode: nor is there a process more that holds probes, or one that nobody has reaped" ||
		diag "$helpers_before, then $(helpers)"
	wait_for no_rings
	ok $? "$mode: their ring files are removed while the trace goes on" || diag "$(rings) are left"
	if [ $mode != ring ]; then
		wait_for shell_alone
		ok $? "$mode: the kernel's map has the living alone" || diag "$(traced) entries"
	fi
	echo >&"$end"
	wait "$tracer"
	is $? 0 "$mode: the program ends well"
	exec {go}>&- {end}>&-
	[ $mode != ring ] ||
		is "$(grep -c '"kind":"begin"' "$TMP/t")" "$(((n + 10) * 10))" "$mode: all that they did has been read"
done
done_testing
