#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Sampled allocations of a running program, by markers that <sys/sdt.h> made: their arguments are in
# registers and in memory. The events are those that the program counted, with the stacks at the
# lines that it printed.
. tests/lib.sh
need_root
need_command cc

# Prints its counts, and the lines of its calls; waits for a byte before it begins.
cat >"$TMP/allocs.c" <<'END_C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
#define KEEP(p) __asm__ volatile("" : : "r"(p))
static unsigned long seed = 1;
APART static void *sampled(size_t size, size_t weight)
{
	void *p = malloc(size);
	volatile size_t in_memory = weight;
	STAP_PROBE3(otel_memory, alloc, p, size, in_memory);
	return p;
}
APART static void release(void *p)
{
	STAP_PROBE1(otel_memory, free, p);
	free(p);
}
enum { SMALL_LINE = __LINE__ + 3 };
APART static void *make_small(void)
{
	void *p = sampled(100, 4096);
	KEEP(p);
	return p;
}
enum { LARGE_LINE = __LINE__ + 3 };
APART static void *make_large(void)
{
	void *p = sampled(5001, 5001 + (seed = seed * 5 % 1009));
	KEEP(p);
	return p;
}
int main(void)
{
	static void *kept[500];
	unsigned long weights = 0;
	char byte;
	if (read(0, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < 500; i++) {
		kept[i] = make_small();
		weights += 4096;
		/* The same address again and again: each time another object. */
		release(make_large());
		weights += 5001 + seed;
	}
	for (int i = 0; i < 490; i++)
		release(kept[i]);
	printf("%d %d %lu %d %d\n", 1000, 990, weights, SMALL_LINE, LARGE_LINE);
	return 0;
}
END_C
cc -O1 -g -fomit-frame-pointer "$TMP/allocs.c" -o "$TMP/allocs"
ok $? "a program with markers otel_memory of <sys/sdt.h> is compiled"
readelf -nW "$TMP/allocs" | grep -A2 'Name: alloc' | grep -q '%[a-z]*\b.*(%'
ok $? "one argument is in a register, one in memory"

mkfifo "$TMP/go"
"$TMP/allocs" <"$TMP/go" >"$TMP/counts" &
program=$!
children+=($program)
exec 5>"$TMP/go"
timeout 300 "$O/ebtrace" trace -v -p $program -f ndjson -o "$TMP/out" 2>"$TMP/err" &
tracer=$!
attached() { grep -q 'attached to' "$TMP/err"; }
wait_for attached
echo >&5
wait $tracer
is $? 0 "its allocations are traced" || diag "$(cat "$TMP/err")"
read -r allocs frees weights small large <"$TMP/counts"
is "$(jq -s '[.[] | select(.kind == "alloc")] | length' "$TMP/out")" "$allocs" \
	"each allocation that it reported is an event"
is "$(jq -s '[.[] | select(.kind == "collect")] | length' "$TMP/out")" "$frees" "and so is each free"
is "$(jq -s '[.[] | select(.kind == "alloc") | .obj] | unique | length' "$TMP/out")" "$allocs" \
	"objects at one address, one after the other, have numbers of their own"
is "$(jq -s '([.[] | select(.kind == "alloc") | .obj] - [.[] | select(.kind == "collect") | .obj]) | length' \
	"$TMP/out")" 10 "those that are not freed are left"
is "$(jq -s '[.[] | select(.kind == "alloc") | .words] | unique | map(tostring) | join(" ")' "$TMP/out")" '"13 626"' \
	"sizes are rounded up to words"
is "$(jq -s '[.[] | select(.kind == "alloc") | .samples] | add' "$TMP/out")" $((weights / 8)) \
	"the samples at their rate are the sum of the weights"
is "$(jq -r 'select(.kind == "alloc") | .stack | map(sub(".*/"; "") | sub(":[0-9]*-[0-9]*$"; "") | ltrimstr("allocs.c:")) | .[-2] as $line | $line' \
	"$TMP/out" | sort | uniq -c | awk '{ print $1, $2 }' | xargs)" \
	"$(printf '500 %s\n' "$small" "$large" | sort | xargs)" "each has the line that called for it"
is "$(jq -r 'select(.kind == "alloc") | .stack | map(sub("@.*"; "")) | .[-3:] | join(" ")' "$TMP/out" | sort -u | xargs -d'\n')" \
	"main make_large sampled main make_small sampled" "and the functions around it, without frame pointers"
is "$(grep -c -e 'stack not whole' -e 'frames missing' "$TMP/out")" 0 "no stack is cut"
is "$(jq -r 'select(.kind == "summary") | .lost_events' "$TMP/out")" 0 "nothing is lost"

"$O/ebtrace" trace -o "$TMP/out.ctf" -- "$TMP/allocs" <<<x >"$TMP/counts" 2>"$TMP/err"
is "$("$O/ebtrace" info "$TMP/out.ctf" | sed -n 's/^  events *//p')" \
	"1990: 1000 alloc, 0 promote, 990 collect" "a program that is started is written as a memtrace trace" ||
	diag "$(cat "$TMP/err")"

# exec() releases what the old program had allocated.
cat >"$TMP/exec.c" <<'END_C'
#include <stdlib.h>
#include <sys/sdt.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < (argc > 1 ? 5 : 100); i++) {
		void *p = malloc(100);
		STAP_PROBE3(otel_memory, alloc, p, 100, 4096);
	}
	if (argc == 1)
		execl("/proc/self/exe", argv[0], "again", NULL);
	return 0;
}
END_C
cc -O1 "$TMP/exec.c" -o "$TMP/exec"
ends_with 0 "$O/ebtrace" trace -f ndjson -o "$TMP/out" -- "$TMP/exec" 2>"$TMP/err"
is "$(jq -s '[.[] | select(.kind == "alloc")] | length' "$TMP/out")" 105 "two programs of one process are traced" ||
	diag "$(cat "$TMP/err")"
is "$(jq -s '[.[] | select(.kind == "alloc" or .kind == "collect") | .obj] | group_by(.) | map(select(length == 1) | .[0]) | map(tostring) | join(" ")' \
	"$TMP/out")" '"101 102 103 104 105"' "the objects of the second are left"

# Our own markers: three threads, and what the program reports of each.
mkfifo "$TMP/again"
EBTRACE_MEMTRACE_RATE=1e-2 "$O/tests/prog/minigc" -o -q -t 3 -n 6000 -w -c "$TMP/counts" <"$TMP/again" &
program=$!
children+=($program)
exec 6>"$TMP/again"
timeout 300 "$O/ebtrace" trace -v -p $program --mode probes -f ndjson -o "$TMP/out" 2>"$TMP/err" &
tracer=$!
wait_for attached
echo >&6
exec 6>&-
end_well $tracer
counted() { awk -v what="$1" '$2 == what { n += $3 } END { print n }' "$TMP/counts"; }
for kind in alloc promote collect; do
	is "$(jq -s "[.[] | select(.kind == \"$kind\")] | length" "$TMP/out")" "$(counted $kind)" \
		"minigc: each $kind that it reported is an event"
done
is "$(jq -s '([.[] | select(.kind == "collect") | .obj] - [.[] | select(.kind == "alloc") | .obj]) | length' "$TMP/out")" 0 \
	"each object that is collected was allocated"
is "$(jq -r 'select(.kind == "alloc") | .stack[-1] | sub("@.*/"; " ") | sub(":.*"; "")' "$TMP/out" | sort -u)" \
	"sampled_alloc sampled.c" "the innermost function is that which reports, without those of the library"
ends_with 0 "$O/ebtrace" trace -o "$TMP/out.ctf" -- env EBTRACE_MEMTRACE_RATE=1e-2 "$O/tests/prog/minigc" -o -q -n 100000 2>"$TMP/err"
rate=$("$O/ebtrace" info "$TMP/out.ctf" | sed -n 's/^  sampled *\([^ ]*\) .*/\1/p')
awk -v rate="$rate" 'BEGIN { exit !(rate > 0.0099 && rate < 0.0101) }'
ok $? "the sample rate is that of the program" || diag "$rate"
done_testing
