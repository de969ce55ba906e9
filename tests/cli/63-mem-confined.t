#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ebtrace mem record of programs under seccomp filters that the recorder does not see coming: none is killed for a
# system call of the recorder's, and what it could not record is counted.
. tests/lib.sh
need_command jq
ebt=$O/ebtrace
confines=${O%/asan}/tests/prog/confines
record() {
	rm -f "$TMP/out.ctf"
	"$ebt" mem record --rate 1 -o "$TMP/out.ctf" -- "$@" >"$TMP/stdout" 2>"$TMP/stderr"
	status=$?
}
allocs() { "$ebt" -q -f ndjson "$TMP/out.ctf" | grep -c '"kind":"alloc"'; }

"$confines" raw
[ $? = 5 ] || skip_all "no seccomp filters"
record "$confines" exec "$confines"
is "$status" 5 "a program that inherits a filter for few system calls is not killed"
is "$(grep -c 'and that are not recorded: 1;' "$TMP/stderr")" 1 "and counted as not recorded"
record sh -c '"$0" exec "$0"; exit $?' "$confines"
is "$status" 5 "nor is a child"
rm -f "$TMP"/out*
"$ebt" mem record --children --rate 1 -o "$TMP/out.ctf" -- sh -c '"$0" exec "$0"; exit $?' "$confines" 2>"$TMP/stderr"
is $? 5 "also with --children"
# What ebtrace is under itself, as in a container, forbids nothing that it has not done.
gcc -O2 -x c -o "$TMP/contain" - <<-END
	#include "$PWD/tests/unit/seccomp.h"
	int main(int argc, char **argv)
	{
		static const int calls[] = {SYS_swapon, -1};
		seccomp_enter(calls, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
		return execv(argv[1], argv + 1);
	}
END
rm -f "$TMP/out.ctf"
"$TMP/contain" "$ebt" mem record --rate 1 -o "$TMP/out.ctf" -- "$confines" small 2>"$TMP/stderr"
is "$? $(($(allocs) > 0))" "5 1" "a program is recorded if the filter is ebtrace's own"
record "$confines" raw
is "$status" 5 "a filter that is set without libc does not kill when the trace grows"
lost=$(sed -n 's/.*: \([0-9]*\) events could not be recorded: Operation not permitted/\1/p' "$TMP/stderr")
all=$(($(grep -c . <<<"$lost") ? lost + $(allocs) : 0))
is "$((lost > 0)) $((all >= 150001))" "1 1" "what is not recorded from then on is counted" || diag "$(cat "$TMP/stderr")"
record "$confines" asks
is "$status $(grep -c 'could not be recorded' "$TMP/stderr") $(($(allocs) >= 150001))" "5 0 1" \
	"asking for filters, and those of a child of vfork(), do not end the recording"
done_testing
