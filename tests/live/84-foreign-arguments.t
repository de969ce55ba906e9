#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A marker ebtrace:begin that <sys/sdt.h> made has its arguments wherever the compiler had them; our
# BPF program would read other registers. Such a site is refused, the library's own are not.
. tests/lib.sh
need_root
need_command cc

# CHILDREN and the program itself fire the marker, and with LIBRARY the library's, 100 times each; a
# second argument: then it stays.
cat >"$TMP/foreign.c" <<'END'
#include <ebtrace/probes.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline, noclone)) static void fire(void)
{
	volatile unsigned phase = 11, ring = 0;
	volatile unsigned long ts = 1, pos = 2;
	for (int i = 0; i < 100; i++) {
		STAP_PROBE5(ebtrace, begin, phase, "minor", ring, ts, pos);
#ifdef LIBRARY
		ebt_begin(EBT_PHASE_major);
		ebt_end(EBT_PHASE_major);
#endif
	}
}
int main(int argc, char **argv)
{
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
		if (!fork()) {
			usleep(200000);
			fire();
			_exit(0);
		}
	usleep(200000);
	fire();
	while (wait(NULL) > 0)
		;
	if (argc > 2) /* stays */
		pause();
	return 0;
}
END
cc -O2 -Iinclude "$TMP/foreign.c" -o "$TMP/foreign" &&
	cc -O2 -Iinclude -DLIBRARY "$TMP/foreign.c" "$O/libebtrace-probes.a" -pthread -ldl -o "$TMP/both"
ok $? "programs with a marker ebtrace:begin of <sys/sdt.h> are compiled"
args=$(readelf -nW "$TMP/foreign" | sed -n 's/^ *Arguments: //p')

"$TMP/foreign" 0 stay &
children+=($!)
is_foreign() { [ "$(readlink "/proc/$1/exe")" = "$TMP/foreign" ]; }
wait_for is_foreign $!
timeout 300 "$O/ebtrace" --mode probes -p $! >"$TMP/out" 2>"$TMP/err"
is $? 4 "a process with no other markers has nothing to trace"
grep -qF "process $!: marker begin of $TMP/foreign is not probed: its arguments are '$args', expected '4@%edi 8@%rsi 4@%ecx 8@%r8 8@%r9'" "$TMP/err"
ok $? "the message names the file, the marker, its arguments and those expected" || diag "$(cat "$TMP/err")"

for mode in probes auto; do
	ends_with 0 "$O/ebtrace" --mode $mode -f ndjson -o "$TMP/out" -- "$TMP/both" 3 2>"$TMP/err"
	is "$(grep -c 'marker begin .* is not probed' "$TMP/err")" 1 \
		"$mode: a file is reported once, though four processes run it" || diag "$(cat "$TMP/err")"
	is "$(jq -r 'select(.kind == "begin" or .kind == "end") | "\(.pid) \(.kind) \(.name)"' "$TMP/out" |
		sort | uniq -c | awk '{ print $1, $3, $4 }' | sort | uniq -c | xargs)" \
		"4 100 begin major 4 100 end major" \
		"$mode: the library's events of each process are in the trace, and no others"
	is "$(grep '"kind":"lost"' "$TMP/out" | grep -vc '"history":true')" 0 \
		"$mode: no loss is reported, other than children that were not watched at once"
done
is "$("$O/ebtrace" list "$TMP/both" | grep -c 'ebtrace:begin')" 2 "list names both sites with their arguments"
# It comes in the middle of a run, when a terminal already shows how many events there are.
script -qec "'$O/ebtrace' --mode probes -o '$TMP/out' -- sh -c 'sleep 1.5; exec \"$TMP/both\" 0'" /dev/null </dev/null >"$TMP/tty" 2>&1
grep -q $'\r'"ebtrace: [0-9]* events, " "$TMP/tty"
ok $? "a terminal shows how many events there are" || diag "$(cat -v "$TMP/tty")"
is "$(sed 's/\r\x1b\[K/\n/g' "$TMP/tty" | grep -c '^ebtrace: process [0-9]*: marker begin of')" 1 \
	"and the message is a line of its own" || diag "$(cat -v "$TMP/tty")"
done_testing
