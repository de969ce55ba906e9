#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The notes of the probe library are the marker ABI: names, registers, semaphores.
lib=${O:-build}/libebtrace-probes.so
notes=$(readelf -nW "$lib" | awk '
	/Provider:/ { provider = $NF == "ebtrace" ? "" : $NF ":" }
	/Name:/ { name = provider $2 }
	/Semaphore:/ { sem = ($NF ~ /^0x0*$/) ? "none" : $NF }
	/Arguments:/ { sub(/^ *Arguments: */, ""); print name "|" sem "|" $0 }' | sort)
events=$(sed -n 's/^begin|\([^|]*\)|.*/\1/p' <<<"$notes")
# Listeners to sampled allocations are counted apart: they switch sampling on; and so are those to pages.
objects=$(sed -n 's/^alloc|\([^|]*\)|.*/\1/p' <<<"$notes")
otel=$(printf '0x%016x' $((objects + 2)))
[ "$objects" != "$events" ] || objects=shared
pages=$(sed -n 's/^page_alloc|\([^|]*\)|.*/\1/p' <<<"$notes")
[ "$pages" != "$events" ] && [ "$pages" != "$objects" ] || pages=shared
request=$(printf '0x%016x' $((events + 2)))
want=$(sort <<END
alloc|$objects|8@%rdx 8@%r10 8@%rsi 4@%edi 4@%ecx 8@%r8 8@%r9
alloc_sizes|$events|8@%rdx 8@%r10 4@%ecx 8@%r8 8@%r9
begin|$events|4@%edi 8@%rsi 4@%ecx 8@%r8 8@%r9
collect|$objects|8@%rdx 4@%ecx 8@%r8 8@%r9
counter|$events|4@%edi 8@%rsi 8@%rdx 4@%ecx 8@%r8 8@%r9
end|$events|4@%edi 8@%rsi 4@%ecx 8@%r8 8@%r9
lifecycle|$events|4@%edi 8@%rsi -8@%rdx 4@%ecx 8@%r8 8@%r9
otel_memory:alloc|$otel|8@%rdx 8@%r10 8@%rsi
otel_memory:free|$otel|8@%rdx
page_alloc|$pages|8@%rdx 8@%r10 4@%ecx 8@%r8 8@%r9
page_free|$pages|8@%rdx 8@%r10 4@%ecx 8@%r8 8@%r9
page_scavenge|$pages|8@%rdx 8@%r10 4@%ecx 8@%r8 8@%r9
promote|$objects|8@%rdx 4@%ecx 8@%r8 8@%r9
ring_request|$request|
ring_start|none|8@%rsi 8@%r8
ring_stop|none|8@%rsi 8@%r8
user_custom|$events|4@%edi 8@%rsi 8@%rdx 8@%r10 4@%ecx 8@%r8 8@%r9
user_int|$events|4@%edi 8@%rsi -8@%rdx 4@%ecx 8@%r8 8@%r9
user_span_begin|$events|4@%edi 8@%rsi 4@%ecx 8@%r8 8@%r9
user_span_end|$events|4@%edi 8@%rsi 4@%ecx 8@%r8 8@%r9
user_unit|$events|4@%edi 8@%rsi 4@%ecx 8@%r8 8@%r9
watermark|none|4@%ecx 8@%r8 8@%r9
END
)
echo 1..2
[ "$notes" = "$want" ] || { echo -n 'not '; diff <(echo "$want") <(echo "$notes") | sed 's/^/# /' >&2; }
echo 'ok 1 - every marker has one site, its registers and its semaphore'
readelf -SW "$lib" | grep -Eq ' \.probes +PROGBITS .* WA ' || echo -n 'not '
echo 'ok 2 - the semaphores are in a section with contents'
