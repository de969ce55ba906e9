#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The probe library on another processor, emulated: its markers' notes, and a ring that is read here.
. tests/lib.sh
need_command aarch64-linux-gnu-gcc
need_command qemu-aarch64

printf '%s\n' usdt-probes/*.c usdt-probes/shared/*.c user/codec/{memtrace,pagetrace}/write.c tests/prog/emit_all.c >"$TMP/sources"
xargs -P 2 -I '{}' sh -c 'aarch64-linux-gnu-gcc -std=gnu11 -O1 -Iinclude -Iuser -I. -D_GNU_SOURCE \
	-DEBT_VERSION="\"1.0\"" -c "$1" -o "$2/$(echo "$1" | tr / _).o"' sh '{}' "$TMP" <"$TMP/sources" &&
	aarch64-linux-gnu-gcc -static "$TMP"/*.o -pthread -o "$TMP/emit_all"
ok $? "the library and a program of it are built for 64-bit Arm"

notes=$(readelf -nW "$TMP/emit_all" | awk '
	/Provider:/ { provider = $NF == "ebtrace" ? "" : $NF ":" }
	/Name:/ { name = provider $2 }
	/Arguments:/ { sub(/^ *Arguments: */, ""); print name "|" $0 }' | sort)
want=$(sort <<END
alloc|8@x2 8@x3 8@x1 4@x0 4@x4 8@x5 8@x6
alloc_sizes|8@x2 8@x3 4@x4 8@x5 8@x6
begin|4@x0 8@x1 4@x4 8@x5 8@x6
collect|8@x2 4@x4 8@x5 8@x6
counter|4@x0 8@x1 8@x2 4@x4 8@x5 8@x6
end|4@x0 8@x1 4@x4 8@x5 8@x6
lifecycle|4@x0 8@x1 -8@x2 4@x4 8@x5 8@x6
otel_memory:alloc|8@x2 8@x3 8@x1
otel_memory:free|8@x2
page_alloc|8@x2 8@x3 4@x4 8@x5 8@x6
page_free|8@x2 8@x3 4@x4 8@x5 8@x6
page_scavenge|8@x2 8@x3 4@x4 8@x5 8@x6
promote|8@x2 4@x4 8@x5 8@x6
ring_request|
ring_start|8@x1 8@x5
ring_stop|8@x1 8@x5
user_custom|4@x0 8@x1 8@x2 8@x3 4@x4 8@x5 8@x6
user_int|4@x0 8@x1 -8@x2 4@x4 8@x5 8@x6
user_span_begin|4@x0 8@x1 4@x4 8@x5 8@x6
user_span_end|4@x0 8@x1 4@x4 8@x5 8@x6
user_unit|4@x0 8@x1 4@x4 8@x5 8@x6
watermark|4@x4 8@x5 8@x6
END
)
is "$notes" "$want" "every marker has one site, with its arguments in the registers of that processor"

mkdir "$TMP/ring"
EBTRACE_START=1 EBTRACE_PRESERVE=1 EBTRACE_DIR=$TMP/ring qemu-aarch64 "$TMP/emit_all" >"$TMP/said"
ok $? "the program runs to its end"
grep -P '\t(begin|end|counter)\t' "$TMP/said" | sort -s -n -k1,1 >"$TMP/want"
"$O/ebtrace" trace -f ndjson "$TMP"/ring/*.events |
	jq -r 'select(.kind | IN("begin", "end", "counter")) |
		[.domain, .kind, .name, .value // ""] | @tsv' | sort -s -n -k1,1 >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "and its ring has what it printed, in order"
done_testing
