#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program and a library whose segments lie 2 MiB apart, with nothing between those of the program: their
# frames have names wherever stacks are shown, and so two equal runs differ in nothing. A program without a build id.
. tests/lib.sh
need_root
need_command cc
need_command jq

# With an argument it waits for a byte, and when it is done for the end of its input. main, work, lib_call of
# the library, act: 300 times.
cat >"$TMP/lib.c" <<'END_C'
void lib_call(void (*act)(int), int n);
void lib_call(void (*act)(int), int n)
{
	act(n);
	__asm__ volatile("");
}
END_C
cat >"$TMP/holes.c" <<'END_C'
#include <ebtrace/probes.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
void lib_call(void (*act)(int), int n);
APART static void act(int n)
{
	static void *kept[300];
	kept[n] = malloc(1000);
#ifdef SAMPLES
	STAP_PROBE3(otel_memory, alloc, kept[n], 1000, 4096);
#else
	ebt_begin(EBT_PHASE_minor);
	ebt_end(EBT_PHASE_minor);
#endif
	__asm__ volatile("" : : "r"(kept));
}
APART static void work(void)
{
	for (int i = 0; i < 300; i++)
		lib_call(act, i);
}
int main(int argc, char **argv)
{
	char byte;
	(void)argv;
	if (argc > 1 && read(0, &byte, 1) != 1)
		return 1;
	work();
	while (argc > 1 && read(0, &byte, 1) == 1)
		;
	return 0;
}
END_C
flags="-O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Iinclude -Wl,-z,max-page-size=0x200000 -Wl,-z,separate-code"
# shellcheck disable=SC2086
build() { cc $flags "$TMP/holes.c" "$@" "$O/libebtrace-probes.a" -L"$TMP" -lholes -Wl,-rpath,"$TMP" -pthread -ldl; }
# shellcheck disable=SC2086
cc $flags -shared -fPIC "$TMP/lib.c" -o "$TMP/libholes.so" &&
	build -o "$TMP/holes" && build -no-pie -o "$TMP/fixed" &&
	build -DSAMPLES -o "$TMP/holes.samples" && build -DSAMPLES -no-pie -o "$TMP/fixed.samples"
ok $? "programs and a library are linked with segments that lie 2 MiB apart"

# begin PROGRAM: it waits for a byte; end lets it run.
begin() {
	rm -f "$TMP/go"
	mkfifo "$TMP/go"
	"$1" wait <"$TMP/go" &
	program=$!
	children+=($program)
	exec 5>"$TMP/go"
	wait_for grep -qs libholes "/proc/$program/maps"
}
end() {
	feed >&5
	exec 5>&-
}
begin "$TMP/holes"
awk -v exe="$TMP/holes" '
	function number(hex,  n, i) { for (i = 1; i <= length(hex); i++) n = 16 * n + index("123456789abcdef", substr(hex, i, 1)); return n }
	$NF == exe { split($1, at, "-"); holes += last && number(at[1]) > last; last = number(at[2]) }
	END { exit holes < 2 }' "/proc/$program/maps"
ok $? "between the segments of the program nothing is mapped" || diag "$(cat "/proc/$program/maps")"
echo >&5
exec 5>&-
wait $program

# chains NDJSON KIND: how often which frames of ours, and which ones without a name, are in the stacks of events.
chains() {
	jq -r --arg kind "$2" 'select(.kind == $kind and .stack) | .stack | map(sub("@.*/"; "@") | sub(":[0-9-]*$"; "")) |
		map(select(test("^(main|work|lib_call|act)@") or test("^(0x|\\$|[?])"))) | join(" ")' "$1" | sort | uniq -c | sed 's/^ *//'
}
lines() { grep -n "$1" "$TMP/$2" | head -1 | cut -d: -f1; }
outer="main@holes.c:$(lines $'^\twork();' holes.c) work@holes.c:$(lines 'lib_call(act, i)' holes.c) lib_call@lib.c:$(lines $'^\tact(n);' lib.c)"
for name in holes fixed; do
	for run in 1 2; do
		ends_with 0 "$O/ebtrace" mem record -q --rate 1 -o "$TMP/$name.$run.ctf" -- "$TMP/$name" 2>"$TMP/err"
	done
	ends_with 0 "$O/ebtrace" -q "$TMP/$name.1.ctf" -o "$TMP/$name.ndjson"
	is "$(chains "$TMP/$name.ndjson" alloc | grep ' act@')" "300 $outer act@holes.c:$(lines malloc holes.c)" \
		"$name: mem record names the functions and lines of the program and of the library"
	is "$(chains "$TMP/$name.ndjson" alloc | grep -E ' (0x|\$|[?])')" "" "and leaves no address without a name"
	is "$("$O/ebtrace" mem diff --json "$TMP/$name.1.ctf" "$TMP/$name.2.ctf" | jq -c '[.sites | length > 0, map(select(.change.value != 0)) == []]')" \
		"[true,true]" "two runs of it differ in nothing" || diag "$("$O/ebtrace" mem diff "$TMP/$name.1.ctf" "$TMP/$name.2.ctf")"

	begin "$TMP/$name.samples"
	: >"$TMP/err"
	timeout 300 "$O/ebtrace" mem record -v -o "$TMP/out.ctf" -p $program 2>"$TMP/err" 5>&- &
	tracer=$!
	wait_for grep -q 'attached to' "$TMP/err"
	end
	end_well $tracer
	ends_with 0 "$O/ebtrace" -q "$TMP/out.ctf" -o "$TMP/out.ndjson"
	is "$(chains "$TMP/out.ndjson" alloc)" "300 $outer act@holes.c:$(lines STAP holes.c)" "mem record -p does so, too" ||
		diag "$(cat "$TMP/err")"

	feed | timeout 300 "$O/ebtrace" trace --stack=begin -q -o "$TMP/out.ndjson" -- "$TMP/$name" wait 2>"$TMP/err"
	is "$(chains "$TMP/out.ndjson" begin)" "300 $outer act@holes.c:$(lines ebt_begin holes.c)" "and trace --stack" ||
		diag "$(cat "$TMP/err")"
done

build -Wl,--build-id=none -o "$TMP/no-id"
ok $? "a program is linked without a build id"
for form in perfetto chrome fxt ndjson ebt; do
	feed | timeout 300 "$O/ebtrace" trace --stack=begin -q -f $form -o "$TMP/out" -- "$TMP/no-id" wait 2>"$TMP/err"
	status=$?
	[ $form = ebt ] && "$O/ebtrace" -q "$TMP/out" -o "$TMP/of-ebt.txt" && mv "$TMP/of-ebt.txt" "$TMP/out"
	is "$status $(grep -ac lib_call "$TMP/out" | sed 's/[1-9][0-9]*/some/')" "0 some" "$form has its stacks" || diag "$(cat "$TMP/err")"
done
done_testing
