#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Whenever ebtrace is signalled or killed, no breakpoint stays in the program: its text and its
# semaphores are as before, and the kernel has not complained of a uprobe that it could not remove.
. tests/lib.sh
ocaml_root
need_file "$O/tests/prog/sites_x86_64"
RUNS=${RUNS:-2}     # of each sequence, by each worker
MARKERS=${MARKERS:-6}  # workers with a program with markers
FUNCTIONS=${FUNCTIONS:-4} # with an OCaml program, probed at functions
ocaml_build_here busy
complaints() { dmesg | grep -c 'leaking uprobe'; }

# A worker has a program of its own, on pipes: sets pid, text (its address and pages) and clean.
begin() {
	[ -z "$pid" ] || { kill $pid; wait $pid; exec {to}>&- {from}<&-; } 2>/dev/null
	OCAML_RUNTIME_EVENTS_DIR=$dir "$@" <"$dir/in" >"$dir/out" &
	pid=$!
	exec {to}>"$dir/in" {from}<"$dir/out"
	read -r _ <&"$from"
	text=($(awk -v exe="$(readlink /proc/$pid/exe)" '$2 == "r-xp" && $6 == exe { print $1; exit }' /proc/$pid/maps |
		tr - ' '))
	text=($((0x${text[0]} / 4096)) $(((0x${text[1]} - 0x${text[0]}) / 4096)))
	clean=$(state)
}
say() {
	local line
	printf %s "$1" >&"$to"
	read -r -t 120 line <&"$from"
	echo "$line"
}
state() {
	dd if=/proc/$pid/mem bs=4096 skip="${text[0]}" count="${text[1]}" status=none | cksum
	[ "$kind" = markers ] && say s
}
# It may take as long as it likes after a KILL, but not for ever.
is_clean() {
	local i
	for ((i = 0; i < 2000; i++)); do
		[ "$(state)" = "$clean" ] && return
		sleep 0.03
	done
	return 1
}
trace() { exec {to}>&- {from}<&-; exec "$@" "$O/ebtrace" -v "${options[@]}" -f text -o /dev/null -p $pid; }
# A tracer in the background, up to some moment after its probes are in place.
attach() {
	local line=
	# A pipe of its own: the end of an earlier one, which may still be detaching, is not the end of this.
	rm -f "$dir/err"
	mkfifo "$dir/err"
	trace 2>"$dir/err" &
	tracer=$!
	exec {said}<"$dir/err"
	until [[ $line == *"attached to"* ]]; do
		read -r -t 60 line <&"$said" || { echo "not attached: $? after '$line'" >>"$dir/bad"; break; }
	done
	exec {said}<&-
	ms 0 300
}
ms() { sleep "$(printf 0.%03d $((RANDOM % ($2 - $1 + 1) + $1)))"; }

sequence() {
	local wanted=137
	case $1 in
	timeout) wanted=124; trace timeout 0.25 2>/dev/null & tracer=$! ;;
	"INT, INT") wanted=0; attach; kill -INT $tracer; ms 1 4; kill -INT $tracer ;;
	"INT, KILL") wanted="@(0|137)"; attach; kill -INT $tracer; ms 0 12; kill -KILL $tracer ;;
	KILL) attach; kill -KILL $tracer ;;
	"KILL at any time") trace 2>/dev/null & tracer=$!; ms 0 300; kill -KILL $tracer ;;
	"KILL of the keeper too") attach; kill -KILL $tracer $(pgrep -P $tracer -x uprobe-links) ;;
	"TERM, KILL while a ring is switched on")
		wanted="@(0|137)"
		begin "$program"; attach; say t >/dev/null; ms 0 150; kill -TERM $tracer; ms 0 12; kill -KILL $tracer ;;
	esac 2>/dev/null
	wait $tracer
	has_status "$wanted" $? "$kind, $1: ebtrace"
} 2>/dev/null

runs() { # SEQUENCE TIMES
	local i
	for ((i = 0; i < $2; i++)); do
		sequence "$1"
		is_clean && continue
		echo "$1" >>"$dir/bad"
		begin "$program"
	done
}

sequences=(timeout "INT, INT" "INT, KILL" KILL "KILL at any time" "KILL of the keeper too" "TERM, KILL while a ring is switched on")
work() { # NUMBER KIND: a line "NAME of a sequence" for each run after which the program was not clean
	dir=$TMP/$1 kind=$2 pid=
	mkdir "$dir"
	mkfifo "$dir/in" "$dir/out"
	RANDOM=$1
	if [ $kind = markers ]; then
		options=(--mode stream)
		program=$O/tests/prog/sites_x86_64
	else
		options=(--mode probes)
		program=$EXE
	fi
	begin "$program"
	local name
	for name in "${sequences[@]:0:6}"; do
		runs "$name" "$RUNS"
	done
	if [ $kind = functions ]; then
		options=(--mode auto)
		runs "${sequences[-1]}" $((2 * RUNS))
	fi
	: >"$dir/whole"
	kill $pid
}

before=$(complaints)
for ((w = 0; w < MARKERS + FUNCTIONS; w++)); do
	work $w "$([ $w -lt $MARKERS ] && echo markers || echo functions)" &
	workers[w]=$!
done
wait "${workers[@]}"
for name in "${sequences[@]}"; do
	is "$(cat "$TMP"/*/bad 2>/dev/null | grep -cx "$name")" 0 "$name: every site is as before"
done
is "$(cat "$TMP"/*/bad 2>/dev/null | grep "not attached")" "" "every program was attached to"
is "$(ls "$TMP"/*/whole | wc -l)" $((MARKERS + FUNCTIONS)) "all workers came to their end"
is $(($(complaints) - before)) 0 "the kernel has removed every uprobe"
done_testing
