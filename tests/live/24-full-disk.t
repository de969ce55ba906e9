#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A trace that fails does the program no harm: it goes on to its own end, without being traced.
. tests/lib.sh
need_root
gc=$O/tests/prog/minigc
mkdir "$TMP/small"
mount -t tmpfs -o size=256k none "$TMP/small" 2>/dev/null || skip_all "cannot mount a tmpfs"
at_end "umount '$TMP/small'"

# It works until the disk is full, and for a while after that.
cat >"$TMP/program" <<'END'
trap 'echo signalled >>"$0.effect"' TERM INT HUP
for i in 1 2 3 4 5 6 7 8 9 10; do
	"$1" -q -t 2 -s 0.7 -r 50000 -c /dev/null
	[ "$(stat -f -c %a "$2")" -gt 0 ] || break
done
"$1" -q -t 2 -s 0.7 -r 50000 -c /dev/null
echo "status $?" >>"$0.effect"
exit 5
END
for case in ring/ndjson stream/ndjson stream/ebt; do
	mode=${case%/*} format=${case#*/}
	rm -f "$TMP"/program.* "$TMP"/small/*
	timeout 300 "$O/ebtrace" --mode "$mode" -o "$TMP/small/out.$format" -- \
		sh "$TMP/program" "$gc" "$TMP/small" >/dev/null 2>"$TMP/err"
	is $? 1 "$case: the disk is full: status 1, as ebtrace itself failed" || diag "$(cat "$TMP/err")"
	is "$(cat "$TMP/program.effect" 2>&1)" "status 0" "$case: the program ran to its own end, without a signal"
	is "$(grep -c "No space left on device; 'sh' goes on untraced" "$TMP/err")" 1 \
		"$case: one line reports that the trace continues" || diag "$(cat "$TMP/err")"
	is "$(grep -c "cannot write '$TMP/small/out.$format': No space" "$TMP/err")" 1 \
		"$case: and another what could not be written, at the end"
	part=$(ls "$TMP"/small/out.* 2>/dev/null)
	[ "$("$O/ebtrace" -q -f ndjson "$part" 2>/dev/null | grep -c '"ts"')" -gt 100 ] || {
		[ $format = ndjson ] && sed '$d' "$part" | jq -e 'select(.ts)' >"$TMP/got" &&
			[ "$(wc -l <"$TMP/got")" -gt 100 ]
	}
	ok $? "$case: what was written can be read"
done

# A trace that cannot even begin is no reason to run the program without it.
"$O/ebtrace" --mode stream --bpf-buffer 1 -- sh -c "echo ran >'$TMP/ran'" 2>"$TMP/err"
[ $? -ne 0 ] && [ ! -e "$TMP/ran" ]
ok $? "a program that cannot be traced as requested is not run"
done_testing
