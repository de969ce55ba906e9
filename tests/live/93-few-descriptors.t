#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every number of descriptors that ebtrace may have: what it cannot open for want of one is read later
# or reported as lost, whichever step it is missing at.
. tests/lib.sh
. tests/counts.sh
need_root
gc=$O/tests/prog/minigc
need_file "$gc"
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR
export XDG_RUNTIME_DIR=$TMP/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"

# run NAME N: a program that is started
run() {
	(
		ulimit -n "$2"
		exec "$O/ebtrace" --mode ring -f ndjson -o "$TMP/$1.$2.t" -- sh "$TMP/$1.sh" "$TMP/$1.$2" 2>"$TMP/$1.$2.err"
	)
}
# attach NAME N: one that runs, and goes on when the tracer is there. Its children stay until each one's ring is read,
# or cannot be: of one that came and went between two scans the tracer knows nothing. At the latest three seconds.
attach() {
	local i at=$TMP/$1.$2 stay
	mkfifo "$at.stay"
	: >"$at.err"
	sh "$TMP/$1.sh" "$at" &
	local program=$!
	(
		ulimit -n "$2"
		exec "$O/ebtrace" -v --mode ring --wait -f ndjson -o "$TMP/$1.$2.t" -p "$program" 2>"$TMP/$1.$2.err"
	) &
	local tracer=$!
	wait_for grep -q -e 'real-time' -e 'Too many' "$TMP/$1.$2.err" >/dev/null
	: >"$at.go"
	exec {stay}<>"$at.stay"
	wait_for have_ended "$at"
	for ((i = 0; i < 15; i++)); do
		[ "$(named "$at.err" | grep -cvx "process $program")" = 8 ] && break
		nap 0.2
	done
	exec {stay}>&-
	wait "$tracer"
}
# named FILE: the processes that the tracer's messages are about
named() { grep -o 'process [0-9]\+' "$1" | sort -u; }
have_ended() { [ "$(find "$TMP" -name "${1##*/}.[0-7]" -size +0 | wc -l)" = 8 ]; }
# traced HOW NAME N: with N descriptors; 0: all events are there, or a loss, or it was refused; else 1
traced() {
	local at=$TMP/$2.$3
	"$1" "$2" "$3"
	has_status "[014]" $? "with $3 descriptors ebtrace"
	[ $? = 1 ] && grep -q 'Too many open files' "$at.err" && return 0
	grep -q '"kind":"lost"' "$at.t" && return 0
	"$O/tests/prog/tally" <"$at.t" >"$at.tally"
	emitted "$at" >"$at.want"
	delivered "$at" | cmp -s - "$at.want"
}
# differs NAME N: notes the number, and shows what the tracer wrote and which counts are not the program's
differs() {
	echo "$2" >>"$TMP/$1.bad"
	diag "with $2: $(cat "$TMP/$1.$2.err" <(delivered "$TMP/$1.$2" | diff - "$TMP/$1.$2.want"))"
}
# swept HOW NAME "sentence": with all numbers, four at a time
swept() {
	local n i
	for n in $(seq 8 4 40); do
		for i in 0 1 2 3; do { traced "$1" "$2" $((n + i)) || differs "$2" $((n + i)); } & done
		wait
	done
	[ ! -e "$TMP/$2.bad" ]
	ok $? "$3" || diag "with $(sort -n "$TMP/$2.bad" | xargs) descriptors"
	[ -n "$(find "$TMP" -name "$2.*.tally" -size +0)" ]
	ok $? "$2: some numbers suffice"
}

cat >"$TMP/orphan.sh" <<END
("$gc" -q -t 1 -n 400 -r 2000 -c "\$1.counts" &)
while [ ! -s "\$1.counts" ]; do sleep 0.02; done
END
swept run orphan "the ring of a process that is nobody's child is read, or reported as lost"

cat >"$TMP/tree.sh" <<END
export EBTRACE_DIR=\$1.dir EBTRACE_START=1
mkdir -m 700 "\$EBTRACE_DIR"
while [ ! -e "\$1.go" ]; do sleep 0.02; done
for i in 0 1 2 3 4 5 6 7; do "$gc" -q -t 1 -n 200 -r 2000 -c "\$1.\$i" -l <"\$1.stay" & done
wait
cat "\$1".[0-7] >"\$1.counts"
END
swept attach tree "the rings of children of a process that is attached to are read, or reported as lost"
done_testing
