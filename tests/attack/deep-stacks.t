#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A capture of 100 kB can have stacks of 25 million functions. Lines have the innermost of each and the number of
# the others; formats that refer to stacks have each once. Nothing takes minutes or gigabytes.
. tests/lib.sh
need_command jq
forge=$O/tests/attack/forge_capture
need_file "$forge"
DEEP=25600000

# convert KIND FORMAT OPTIONS...: within 300 MB of memory, and files of 300 MB at most
convert() {
	local kind=$1 format=$2
	shift 2
	(
		ulimit -t 60 -f 300000
		[ "${O##*/}" = asan ] || ulimit -v 300000
		exec timeout 600 \
			"$O/ebtrace" -q "$TMP/$kind.ebt" -f "$format" -o "$TMP/$kind.$format.out" "$@"
	) 2>"$TMP/err"
}
"$forge" deep 200 >"$TMP/deep.ebt"
"$forge" stacks 200 >"$TMP/stacks.ebt"
"$forge" names_long 50 >"$TMP/names_long.ebt"
for kind in deep stacks names_long; do
	for format in text ndjson chrome fxt perfetto ebt; do
		convert $kind $format
		is $? 0 "$kind: $format ends in time, in little memory and with a small file" || diag "$(cat "$TMP/err")"
	done
	timeout 600 "$O/ebtrace" stat -q "$TMP/$kind.ebt" >"$TMP/out" 2>"$TMP/err"
	is $? 0 "$kind: stat reports it" || diag "$(cat "$TMP/err")"
done

# What is left out is counted.
is "$(grep -c '        at [0-9]' "$TMP/deep.text.out") $(grep -c "at ($((DEEP - 1024)) frames left out)" "$TMP/deep.text.out")" \
	"$((400 * 1024)) 400" "text has 1,024 functions of each stack, and the number of the others"
is "$(jq -c 'select(.kind == "begin") | [(.stack | length), .stack_left_out]' "$TMP/deep.ndjson.out" | sort -u)" \
	"[1024,$((DEEP - 1024))]" "so has NDJSON"
is "$(jq -c '.[] | select(.ph == "B") | [(.args.stack | length), .args.stack_left_out]' "$TMP/deep.chrome.out" | sort -u)" \
	"[1024,$((DEEP - 1024))]" "so has Chrome's JSON"
for format in fxt perfetto; do
	grep -qa '([0-9]* frames left out)' "$TMP/deep.$format.out"
	ok $? "$format has the number of the others"
done
[ "$(stat -c %s "$TMP/deep.perfetto.out")" -lt 1000000 ]
ok $? "Perfetto has the stack once for all events"
[ "$(stat -c %s "$TMP/deep.ebt.out")" -lt 1000000 ]
ok $? "a capture has it once"

# 255 functions whose names have 2,047 bytes: 62 of them, with the rest of their texts, have 128 KiB.
long=$TMP/names_long
is "$(jq -c 'select(.kind == "begin") | [(.stack | length), .stack_left_out]' "$long.ndjson.out" | sort -u)" "[62,193]" \
	"NDJSON has the innermost functions that have 128 KiB of text"
is "$(jq -c '.[] | select(.ph == "B") | [(.args.stack | length), .args.stack_left_out]' "$long.chrome.out" | sort -u)" \
	"[62,193]" "so has Chrome's JSON"
is "$(grep -c "at ([0-9]* frames left out)" "$long.text.out") $(grep -c "at (193 frames left out)" "$long.text.out")" "100 100" \
	"so has text"
is "$(grep -ao '(193 frames left out)' "$long.perfetto.out" | wc -l)" 7 "so has Perfetto, once for each stack"
jq -c 'select(.kind == "begin") | .stack[1:]' "$long.ndjson.out" | head -1 >"$TMP/inner"
convert names_long ndjson --max-stack 61
is "$(jq -c 'select(.kind == "begin") | .stack' "$long.ndjson.out" | head -1 | md5sum)" "$(md5sum <"$TMP/inner")" \
	"--max-stack 61 has the 61 innermost of them"
convert names_long ndjson --max-stack 0
is "$(jq -c 'select(.kind == "begin") | [(.stack | length), .stack_left_out]' "$long.ndjson.out" | sort -u)" "[255,null]" \
	"--max-stack 0 has all"

# The innermost are kept: one function more is outside of the others.
innermost() { jq -c 'select(.kind == "begin") | .stack' "$1" | head -1; }
convert deep ndjson --max-stack 10
is "$(innermost "$TMP/deep.ndjson.out" | jq length)" 10 "--max-stack 10 leaves ten"
innermost "$TMP/deep.ndjson.out" | jq -c '.[1:]' >"$TMP/ten"
convert deep ndjson --max-stack 9
is "$(innermost "$TMP/deep.ndjson.out")" "$(cat "$TMP/ten")" "--max-stack 9 has the nine innermost of them"

# A capture has all that fits a block.
ends_with 0 "$O/ebtrace" -q "$TMP/deep.ebt" -f text -o "$TMP/a"
ends_with 0 "$O/ebtrace" -q "$TMP/deep.ebt.out" -f text -o "$TMP/b"
same_file "$TMP/b" "$TMP/a" "a capture of a capture has the whole stacks, too"
is "$("$O/ebtrace" -q "$TMP/stacks.ebt.out" -f ndjson --max-stack 0 | jq -c 'select(.kind == "begin") |
	[.stack[0], (.stack | length > 10000)]' | sort -u)" '["(frames left out)",true]' \
	"a stack that fits no block has its innermost frames and one that says so"

# Without a limit a stack has all its functions.
"$forge" deep 1 >"$TMP/one.ebt"
is "$("$O/ebtrace" -q "$TMP/one.ebt" -f text --max-stack 0 -e begin | grep -c '        at ')" "$DEEP" \
	"--max-stack 0 has all functions"
"$O/ebtrace" -q "$TMP/one.ebt" -f perfetto -o "$TMP/one.perfetto" --max-stack 0 2>"$TMP/err"
is $? 0 "Perfetto cuts a stack that is longer than a packet" || diag "$(cat "$TMP/err")"
"$O/ebtrace" --max-stack x "$TMP/one.ebt" >"$TMP/out" 2>"$TMP/err"
is $? 2 "--max-stack needs a number"
done_testing
