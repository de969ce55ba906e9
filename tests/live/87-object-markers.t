#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The markers of sampled allocations as any USDT tool sees them: a listener switches the samples on, and
# gets each event that the program counted, of both providers.
. tests/lib.sh
need_root
need_command bpftrace
need_file "$O/tests/prog/minigc"
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing ||
	skip_all "tracefs cannot be mounted"

minigc=$(realpath "$O/tests/prog/minigc")
probes="
usdt:$minigc:ebtrace:alloc {
	@alloc = count(); @objects = sum(arg0); @words = sum(arg1); @samples = sum(arg2); @sources = sum(arg3);
}
usdt:$minigc:ebtrace:promote { @promote = count(); }
usdt:$minigc:ebtrace:collect { @collect = count(); @collected = sum(arg0); }
usdt:$minigc:otel_memory:alloc {
	@otel_alloc = count(); @addresses = sum(arg0); @bytes = sum(arg1); @weight = sum(arg2);
}
usdt:$minigc:otel_memory:free { @otel_free = count(); @freed = sum(arg0); }"
EBTRACE_MEMTRACE_RATE=0.01 bpftrace -e "$probes" \
	-c "$minigc -o -q -n 20000 -t 4 -c $TMP/counts" >"$TMP/out" 2>"$TMP/log"
ok $? "bpftrace listens to a program" || diag "$(tail -3 "$TMP/log")"

value() { awk -v m="@$1:" '$1 == m { print $2 }' "$TMP/out"; }
counted() { awk -v k="$1" '$2 == k { n += $3 } END { print n + 0 }' "$TMP/counts"; }
for kind in alloc promote collect; do
	is "$(value $kind)" "$(counted $kind)" "each $kind that the program counted has fired its marker"
done
ok $(($(counted alloc) <= 1000)) "which are more than 1000 allocations"
is "$(value sources)" 0 "all in the minor heap"
is "$(value otel_alloc) $(value otel_free)" "$(value alloc) $(value collect)" \
	"otel_memory has the same allocations and frees"
is "$(value addresses) $(value freed)" "$(value objects) $(value collected)" \
	"of objects that move, it has the numbers"
is "$(value bytes)" $(($(value words) * 8)) "it has sizes in bytes"
is "$(value weight)" $(($(value samples) * 800)) "and the bytes that the samples stand for"
awk -v words="$(counted words)" -v weight="$(value weight)" 'BEGIN {
	sd = sqrt(words * 0.99 / 0.01)
	printf "# %d words, estimated %d\n", words, weight / 8
	exit !(weight / 8 > words - 5 * sd && weight / 8 < words + 5 * sd) }'
ok $? "which is what it allocated, within the interval"
done_testing
