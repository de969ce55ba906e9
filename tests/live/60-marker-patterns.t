#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Patterns in the names of markers (-U): what they mean in each file that is probed, pairs of them, and what is refused
# for its price.
. tests/lib.sh
need_root
need_command jq
need_file "$O/tests/prog/operands_x86_64"
# Of its own: a run probes all processes of a file.
prog=$TMP/operands
cp "$O/tests/prog/operands_x86_64" "$prog"
sites=$(realpath "$O/tests/prog/sites_x86_64")
python=/usr/bin/python3.11

record() { # NAME COMMANDS ARGS...: of a program that obeys them and ends; its output to NAME.out, events to NAME.ndjson
	local name=$1 commands=$2
	shift 2
	echo "$commands" | timeout 200 "$O/ebtrace" -f ndjson -o "$TMP/$name.ndjson" "$@" -- "$prog" >"$TMP/$name.out" 2>"$TMP/$name.err"
}
passed() {
	jq -r 'select(.kind == "marker") | . as $e | [.name[9:]] + [range(12) | "arg\(.)" | . as $a |
		select($e | has($a)) | $e[$a] // "-" | tostring] | join(" ")' "$@"
}
# Lines of the program about the markers of these names.
expected() { grep -E "^($1)( |\$)" "$TMP/$2.out"; }
names() { jq -r 'select(.kind != "header" and .kind != "summary") | .name // empty' "$TMP/$1.ndjson" | sort | uniq -c | tr -s ' \n' ' '; }

# Events: each marker that a pattern matches is an event with its own name and arguments, by both kinds of links.
for how in auto perf; do
	record $how f --attach $how -U 'operands:*'
	is $? 0 "--attach $how: a program runs under a pattern of its provider" || diag "$(cat "$TMP/$how.err")"
	passed "$TMP/$how.ndjson" | grep -v '^text ' >"$TMP/$how.passed"
	expected 'unsigned|signed|second|constants|memory|index|symbol|nowhere|twelve|none' $how >"$TMP/$how.expected"
	same_file "$TMP/$how.passed" "$TMP/$how.expected" "--attach $how: each marker is an event with its own name and arguments"
	grep -qF "marker operands:float of $prog is not probed: its argument 1, '8f@%xmm0', is a floating-point number" "$TMP/$how.err"
	ok $? "--attach $how: one that cannot be read is reported by its name" || diag "$(cat "$TMP/$how.err")"
done
record some f -U '*:s[ei]*' -U 'operands:?emory'
is "$(names some)" " 1 operands:memory 1 operands:second 1 operands:signed " "a pattern has the wildcards of the shell, also in the provider"
record once f -U 'operands:s*' -U 'operands:*' -U operands:signed
is "$(names once | tr ' ' '\n' | grep -c '^operands:signed$'),$(grep -c '"operands:signed"' "$TMP/once.ndjson")" 1,1 \
	"a marker that several requests are for is one event"
record text f -U 'operands:te*#0:str' -U 'operands:s*'
is "$(jq -r 'select(.name == "operands:text") | .arg0' "$TMP/text.ndjson" | head -1)" 'select "a\b"' "an argument may be a text where a pattern matches, too"

# Pairs: two markers with the same text in place of the star.
record pairs "t
k" -U 'operands:*_begin~operands:*_end'
is "$(names pairs)" " 7 operands:key_begin~operands:key_end 6 operands:outer_begin~operands:outer_end " \
	"markers with the same text in place of the stars are the ends of a span" || diag "$(cat "$TMP/pairs.err")"
record keys k -U '*:key_b*~*:key_e*' -U 'operands:*_begin#1~operands:*_end#0'
grep -qF "no pair of markers matches '*:key_b*~*:key_e*' in any file of the traced processes" "$TMP/keys.err"
ok $? "others are none, which is reported at the end"
is "$(jq -s '[.[] | select(.kind == "span_begin")] as $b | [.[] | select(.kind == "span_end")][0:3] | map(. as $e | $b[] | select(.id == $e.id) | .arg1 == $e.arg0)' \
	"$TMP/keys.ndjson" | jq -c .)" "[true,true,true]" "spans of a pair of patterns may be by an argument"
grep -qE "marker operands:(outer|query|deep)_begin of .* is not probed: it has 1 argument, and no argument 1" "$TMP/keys.err"
ok $? "pairs without that argument are reported by their names" || diag "$(cat "$TMP/keys.err")"
(printf 't\n'; sleep 0.3) | "$O/ebtrace" spans --json -o "$TMP/spans.json" -U 'operands:*_begin~operands:*_end' -- "$prog" >"$TMP/out" 2>"$TMP/err"
is "$(jq -c '.spans | map([.name, .count])' "$TMP/spans.json")" '[["operands:outer_begin~operands:outer_end",3]]' "ebtrace spans has them by their names"

# A program that another one starts is expanded, too: what it has is not known before.
(sleep 1; echo f; sleep 0.3) | "$O/ebtrace" -f ndjson -o "$TMP/child.ndjson" -U 'operands:t*' -- sh -c "\"$prog\"; exit 3" >"$TMP/child.out" 2>"$TMP/child.err"
is $? 3 "a program that starts another one has its own status"
is "$(names child)" " 4 operands:text 1 operands:twelve " "the markers of a program that a child runs are found by a pattern" || diag "$(cat "$TMP/child.err")"

# Refusals.
refused() { # STATUS ARGS...
	timeout 100 "$O/ebtrace" "${@:2}" >"$TMP/out" 2>"$TMP/err"
	local status=$?
	[ $status = "$1" ] && [ ! -s "$TMP/out" ]
}
refused 2 -U 'ebtrace:b*' -- "$sites" &&
	grep -qE "^ebtrace: -U asks for 500 sites in '.*sites_x86_64', more than 64; each hit costs the program .*[0-9]+ ns.*; --many allows it\$" "$TMP/err"
ok $? "a pattern for 500 sites is refused, with the price" || diag "$(cat "$TMP/err")"
echo f | "$O/ebtrace" -f ndjson -o "$TMP/many.ndjson" --many --mode probes -U 'ebtrace:b*' -- "$sites" >"$TMP/out" 2>"$TMP/err"
is "$(jq -s 'map(select(.kind == "marker" and .name == "ebtrace:begin")) | length' "$TMP/many.ndjson")" 500 "--many allows it"
mkfifo "$TMP/in"
"$prog" <"$TMP/in" >"$TMP/waits.out" &
waits=$!
children+=("$waits")
exec {in}>"$TMP/in"
wait_for grep -q ready "$TMP/waits.out"
refused 4 -U 'operands:zz*' -p $waits && grep -qE "process $waits has none of the markers of -U, the names that were seen: operands:text, operands:[a-z_]+, .*; ebtrace list -p" "$TMP/err"
ok $? "where nothing matches the names are listed, and the status is 4" || diag "$(cat "$TMP/err")"
refused 4 -U 'zz:*_begin~zz:*_end' -p $waits
ok $? "so is a pair of patterns that nothing matches"
exec {in}>&-
record unfound f -U 'operands:none' -U 'operands:*_zz'
grep -qF "ebtrace: no marker matches 'operands:*_zz' in any file of the traced processes" "$TMP/unfound.err" &&
	grep -q '^ebtrace: the names of markers that were seen: operands:' "$TMP/unfound.err"
ok $? "of a program it is reported at the end, with the names" || diag "$(cat "$TMP/unfound.err")"

# Markers that fire on every call.
if readelf -nW $python 2>/dev/null | grep -q gc__start; then
	refused 2 -U 'python:*' -- $python -c 1 &&
		grep -qE "^ebtrace: -U 'python:\*' asks for [a-z_]+ in '$python', which fires on every call.* costs the program .*[0-9]+ ns.*--many allows it\$" "$TMP/err"
	ok $? "a pattern for markers that fire on every call is refused, with the price" || diag "$(cat "$TMP/err")"
	"$O/ebtrace" -f ndjson -o "$TMP/python.ndjson" -U 'python:*' -- sh -c "$python -c 'import gc; gc.collect()'" >"$TMP/out" 2>"$TMP/err"
	is $? 0 "of a program that is not known before they are left out"
	grep -qE "marker python:line of $python is not probed: it fires on every call, line or instruction of an interpreter; --many allows it" "$TMP/err" &&
		! jq -es 'any(.[]; .name == "python:line")' "$TMP/python.ndjson" >/dev/null
	ok $? "which is reported by their names" || diag "$(cat "$TMP/err")"
	jq -es 'any(.[]; .name == "python:gc__start") and any(.[]; .name == "python:gc__done")' "$TMP/python.ndjson" >/dev/null
	ok $? "the others are recorded"
	"$O/ebtrace" -f ndjson -o "$TMP/python.ndjson" -U 'python:*' --many -- $python -c 'len("")' >"$TMP/out" 2>"$TMP/err"
	is $? 0 "--many allows them" || diag "$(cat "$TMP/err")"
else
	for i in 1 2 3 4 5; do ok 0 "# SKIP no python with markers"; done
fi

# More names than a run can have.
if command -v cc >/dev/null; then
	{
		echo 'int main(void) {'
		for i in {1..300}; do
			printf '__asm__ volatile("990: nop\\n.pushsection .note.stapsdt,\\"\\",\\"note\\"\\n.balign 4\\n.4byte 992f-991f, 994f-993f, 3\\n991: .asciz \\"stapsdt\\"\\n992: .balign 4\\n'
			printf '993: .8byte 990b, 0, 0\\n.asciz \\"p\\"\\n.asciz \\"n%d\\"\\n.asciz \\"\\"\\n994: .balign 4\\n.popsection\\n");\n' "$i"
		done
		echo '}'
	} >"$TMP/names.c"
	cc -O1 "$TMP/names.c" -o "$TMP/names"
	refused 2 -U 'p:n*' -- "$TMP/names" && grep -q 'asks for 300 sites' "$TMP/err"
	ok $? "300 names of markers are refused" || diag "$(cat "$TMP/err")"
	ends_with 0 "$O/ebtrace" -f ndjson -o "$TMP/names.ndjson" --many -U p:n300 -U 'p:n*' -- "$TMP/names" 2>"$TMP/err"
	is "$(jq -s 'map(select(.kind == "marker").name) | [length, (unique | length), (map(select(. == "p:n300")) | length)]' "$TMP/names.ndjson" | jq -c .)" "[256,256,1]" \
		"with --many the first 256 are recorded, and one that was asked for by its name"
	grep -qF "44 sites of $TMP/names are not probed: there may be 256 names of markers in a run" "$TMP/err"
	ok $? "which is reported" || diag "$(cat "$TMP/err")"
else
	for i in 1 2 3; do ok 0 "# SKIP no compiler"; done
fi
done_testing
