#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A supervisor that has nothing to trace yet, the names of what it starts, and programs that have
# nothing for us at all.
. tests/lib.sh
need_root
need_command jq

# supervise NAME: a shell that starts the program for each line that it reads. Its pid is in $shell.
supervise() {
	mkfifo "$TMP/$1.in"
	EBTRACE_START=1 bash -c 'while read -r line; do "$0" -q -s 1 -r 20000 -c /dev/null; done' "$(realpath "$O/tests/prog/minigc")" \
		<"$TMP/$1.in" >/dev/null 2>&1 &
	shell=$!
	children+=("$shell")
	exec 7>"$TMP/$1.in"
}

supervise refused
"$O/ebtrace" -p "$shell" >"$TMP/out" 2>"$TMP/err"
is "$? $(wc -l <"$TMP/err")" "4 1" "a supervisor without --wait: status 4, a line"
grep -q -- '--wait' "$TMP/err"
ok $? "the line names --wait" || diag "$(cat "$TMP/err")"
exec 7>&-

for mode in ring stream; do
	supervise $mode
	"$O/ebtrace" --wait --mode $mode -f ndjson -o "$TMP/$mode.ndjson" -p "$shell" \
		2>"$TMP/$mode.err" 7>&- &
	tracer=$!
	children+=("$tracer")
	wait_for rests $tracer
	kill -0 $tracer 2>/dev/null
	ok $? "--mode $mode: --wait waits" || diag "$(cat "$TMP/$mode.err")"
	echo >&7
	exec 7>&-
	wait $tracer
	is $? 0 "--mode $mode: the trace ends when the supervisor does" || diag "$(cat "$TMP/$mode.err")"
	# A tracer that has no CPU for all of the child's second reports that it was not watched.
	[ "$(grep -c '"kind":"begin"' "$TMP/$mode.ndjson")" -gt 10 ] || grep -q '"kind":"lost"' "$TMP/$mode.ndjson"
	ok $? "--mode $mode: what a child had to show has been shown" || diag "$(cat "$TMP/$mode.err")"
done

supervise never
"$O/ebtrace" --wait -p "$shell" 2>"$TMP/err" >"$TMP/out" 7>&- &
tracer=$!
wait_for rests $tracer
exec 7>&-
wait $tracer
is "$? $(cat "$TMP/err" | tail -1)" "4 ebtrace: nothing to trace has come" "--wait for nothing: status 4, and a message"

# Children are called what they are called, those that only probes have seen as well.
printf '#!/bin/sh\n"%s" -q -n 100000 -c /dev/null\n:\n' "$(realpath "$O/tests/prog/minigc")" >"$TMP/wrapper"
chmod 755 "$TMP/wrapper"
for mode in ring stream probes; do
	ends_with 0 "$O/ebtrace" --mode $mode -o "$TMP/named.ebt" -- "$TMP/wrapper" 2>"$TMP/err"
	is "$("$O/ebtrace" info --json "$TMP/named.ebt" |
		jq -r '[.processes[].comm] | unique[]')" minigc \
		"--mode $mode: the child of a script has a name" || diag "$(cat "$TMP/err")"
done

# Where 32-bit programs run, their addresses and registers are others.
printf '.globl _start\n_start: xor %%ebx, %%ebx\n mov $1, %%eax\n int $0x80\n' >"$TMP/exits.s"
printf '.globl _start\n_start: mov $29, %%eax\n int $0x80\n jmp _start\n' >"$TMP/pause.s"
if [ "$(uname -m)" = x86_64 ] && as --32 -o "$TMP/pause.o" "$TMP/pause.s" 2>/dev/null &&
	ld -m elf_i386 -o "$TMP/pause" "$TMP/pause.o" 2>/dev/null &&
	as --32 -o "$TMP/exits.o" "$TMP/exits.s" && ld -m elf_i386 -o "$TMP/exits" "$TMP/exits.o" &&
	"$TMP/exits" 2>/dev/null; then
	"$TMP/pause" &
	children+=($!)
	"$O/ebtrace" -p $! >"$TMP/out" 2>"$TMP/err"
	is "$? $(cat "$TMP/err")" "4 ebtrace: process $! is a program of another machine: 32-bit, little-endian x86" \
		"a process of 32 bits is refused, with the reason"
fi
done_testing
