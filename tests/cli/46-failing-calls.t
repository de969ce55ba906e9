#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each command, once for each chain of callers that allocates memory or asks the kernel (opens, reads, writes, maps), with
# the first such call of that chain failing: it says why, or writes what it writes otherwise; and it gives back its memory
# and descriptors. $O/failing/ebtrace runs itself so (fail.c). A chain, whole up to main, fails in two commands at most.
. tests/lib.sh
need_command xz

captures=tests/data/capture profiles=tests/data/profile
for f in memtrace/external.ctf memtrace/single.ctf pagetrace/sleep-go122.pt eio/reqs1.events ocaml-5.3.0/c-user.events; do
	xz -dc "tests/data/$f.xz" >"$TMP/${f##*/}"
done

silent() { # ARGS...: what is silent, by its callers
	local status frames
	LD_BIND_NOW=1 SEEN="$TMP/seen" "$O/failing/ebtrace" "$@" >"$TMP/out" 2>"$TMP/err" && return
	diag "$(tail -1 "$TMP/out")" "$(cat "$TMP/err")"
	grep '^status' "$TMP/out" | head -5 | while read -r _ status frames; do
		# shellcheck disable=SC2086
		diag "status $status:${frames#*:} $(addr2line -s -f -e "$O/failing/ebtrace" ${frames%%:*} | paste -sd' ')"
	done
	return 1
}
whole() { # ARGS...
	silent "$@"
	ok $? "a call that fails is reported, or makes no difference, and nothing is left: $(printf '%s\n' "$*" | sed "s,$TMP/,,g")"
}
# Three processes with all kinds of events.
for kind in "" fibers; do
	# shellcheck disable=SC2086
	"$O/freeze/write_random" 1 "$TMP/random$kind.ebt" $kind
done

# Inputs, in the formats that their events have.
whole trace -f ndjson "$captures/blame.ebt"
whole trace -f perfetto "$captures/blame.ebt"
whole trace -f fxt "$captures/blame.ebt"
whole trace -f chrome "$captures/trigger.ebt"
whole trace -f ebt "$captures/forks.ebt"
whole trace -e minor -e major --min-duration 10us "$captures/ocaml-blame.ebt"
whole trace -f pagetrace "$captures/pagetrace.ebt"
whole trace -f memtrace "$TMP/external.ctf"
whole trace --ocaml-version 5.3 "$TMP/c-user.events"
whole trace -f perfetto --ocaml-version 5.3 "$TMP/reqs1.events"
whole trace -f ndjson "$captures/blame.ebt" "$captures/blame.ebt"
# What inputs are.
whole info "$captures/blame.ebt"
whole info --ocaml-version 5.3 "$TMP/c-user.events"
whole info "$TMP/external.ctf"
whole info --json "$TMP/sleep-go122.pt"
whole list --events
whole list --json "$O/tests/prog/sites_x86_64"
# Reports.
whole stat "$captures/blame.ebt"
whole stat --blame --json "$captures/ocaml-blame.ebt"
whole stat --mmu -f svg "$captures/ocaml-blame.ebt"
whole stat --by=program "$captures/probes.ebt"
whole stat --by process --top 1 "$captures/forks.ebt"
whole top --once "$captures/forks.ebt"
whole top --json --group program --blame "$captures/ocaml-blame.ebt"
whole mem "$TMP/external.ctf"
whole mem --json "$TMP/single.ctf"
whole mem hotspots --wrapper 'caml_*' "$TMP/external.ctf"
whole mem live --at 10ms --filter 'size>=8,lifetime>1us' "$TMP/external.ctf"
whole mem flame -f folded "$TMP/external.ctf"
whole mem timeline --json "$TMP/external.ctf"
whole mem lifetimes --json "$TMP/external.ctf"
whole mem flame -f svg "$TMP/external.ctf"
whole mem timeline -f svg "$TMP/external.ctf"
whole mem "$TMP/random.ebt"
whole stat --blame --interval 20ms "$TMP/random.ebt"
whole top --once --blame "$TMP/random.ebt"
whole profile --by span "$TMP/random.ebt"
whole spans --fibers "$TMP/randomfibers.ebt"
whole trace -f perfetto "$TMP/randomfibers.ebt"
whole trace -f fxt "$TMP/randomfibers.ebt"
whole mem diff "$TMP/external.ctf" "$TMP/single.ctf"
whole mem -f pprof "$TMP/external.ctf"
whole pages "$TMP/sleep-go122.pt"
whole pages --json "$TMP/sleep-go122.pt"
whole pages occupancy --at 10ms "$TMP/sleep-go122.pt"
whole pages damage "$captures/pagetrace.ebt"
whole pages -f ebt "$TMP/sleep-go122.pt"
whole pages map -f svg "$TMP/sleep-go122.pt"
whole pages map -f html "$TMP/sleep-go122.pt"
whole pages map -f png "$TMP/sleep-go122.pt"
whole spans "$profiles/laps-new.ebt"
whole spans -f svg "$profiles/laps-new.ebt"
whole spans --fibers --json "$profiles/ocaml-fibers.ebt"
whole spans --top 2 "$profiles/laps-new.ebt"
whole spans -f folded --by program "$profiles/laps-new.ebt"
whole profile --by thread "$profiles/ocaml-mixed.ebt"
whole profile --json --by phase "$profiles/ocaml-mixed.ebt"
whole profile -f folded "$profiles/laps-old.ebt"
whole profile -f svg "$profiles/ocaml-mixed.ebt"
whole profile -f pprof "$profiles/ocaml-mixed.ebt"
whole profile diff "$profiles/laps-old.ebt" "$profiles/laps-new.ebt"
done_testing
