#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures of what was around spans that took long, and nothing else.
. tests/lib.sh
need_command jq

EBTRACE_LOG_WSIZE=18 EBTRACE_START=1 EBTRACE_PRESERVE=1 EBTRACE_DIR=$TMP "$O/tests/prog/pauses" 200 >"$TMP/pauses"
ring=$(echo "$TMP"/*.events)
"$O/ebtrace" -q -f ndjson "$ring" | grep '"ts"' >"$TMP/all"
dir=$TMP/dir
mkdir "$dir"
files() { (cd "$dir" && echo *); }
usage() {
	local name=$1 want=$2
	shift 2
	"$O/ebtrace" "$@" 2>"$TMP/err" >/dev/null
	is "$? $(grep -c -e "$want" "$TMP/err")" "2 1" "$name is refused"
}

"$O/ebtrace" "$ring" --trigger 'pause>6ms' --before 3ms --after 2ms --max 0 -o "$dir/run.ebt" 2>"$TMP/err"
is $? 0 "a run with --trigger ends as any run does"
captures=$(find "$dir" -type f | wc -l)
[ "$captures" -ge 3 ]
ok $? "it writes captures"
is "$(grep -c "^ebtrace: $dir/run.[0-9]*.ebt: pause of [0-9.]* ms in domain [12] of process" "$TMP/err")" "$captures" \
	"a line names each, with the pause"
# A pause of over 6 ms begins or ends within each; all of them do, in one or another.
long=$(awk '$1 > 6000000' "$TMP/pauses" | wc -l)
hits=0 wrong=0
for i in $(seq "$captures"); do
	file=$dir/run.$i.ebt
	"$O/ebtrace" info --json "$file" >"$TMP/info"
	n=$(sed -n "s|^ebtrace: $file: .* and \([0-9]*\) more.*|\1|p" "$TMP/err")
	hits=$((hits + 1 + ${n:-0}))
	begin=$(jq .trigger.begin_ns "$TMP/info") end=$(jq .trigger.end_ns "$TMP/info")
	"$O/ebtrace" -q -f ndjson "$file" | grep '"ts"' >"$TMP/part"
	# What the part has from `before` on is what the whole has, up to the part's end.
	from=$((begin - 3000000)) to=$(tail -1 "$TMP/part" | jq .ts)
	jq -c --argjson f "$from" --argjson t "$to" 'select(.ts >= $f and .ts <= $t)' "$TMP/all" >"$TMP/want"
	jq -c --argjson f "$from" --argjson t "$to" 'select(.ts >= $f and .ts <= $t)' "$TMP/part" >"$TMP/got"
	cmp -s "$TMP/want" "$TMP/got" && [ -s "$TMP/got" ] || wrong=$((wrong + 1))
	[ $((end - begin)) -gt 6000000 ] && [ "$(jq .damaged "$TMP/info")" = 0 ] || wrong=$((wrong + 1))
	# The next event would have been behind the end.
	next=$(jq --argjson t "$to" 'select(.ts > $t).ts' "$TMP/all" | head -1)
	[ -z "$next" ] || [ $((next - end)) -gt 2000000 ] || wrong=$((wrong + 1))
done
is "$wrong" 0 "each has every event from 3 ms before its pause to 2 ms after the last, and says why it is there"
[ "$hits" -ge "$long" ]
ok $? "each pause that the program measured as longer is in one ($hits of at least $long)"
mkdir "$TMP/apart" "$TMP/one"
"$O/ebtrace" "$ring" --trigger 'pause>6ms' --before 1ms --after 0ms --max 0 -o "$TMP/apart/run.ebt" 2>"$TMP/apart.err"
"$O/ebtrace" "$ring" --trigger 'pause>6ms' --before 1ms --after 1000s --max 0 -o "$TMP/one/run.ebt" 2>"$TMP/one.err"
is "$(ls "$TMP/one") $(grep -o ' and [0-9]* more' "$TMP/one.err")" "run.1.ebt  and $(($(ls "$TMP/apart" | wc -l) - 1)) more" \
	"one that never ends has all of them, and the line says how many more"
is "$(grep -c 'pause of' "$TMP/apart.err") $(grep -c ' more' "$TMP/apart.err")" "$(ls "$TMP/apart" | wc -l) 0" \
	"of each that has one there is a line of it alone"
"$O/ebtrace" stat --json "$dir/run.1.ebt" >"$TMP/stat"
ok $? "a capture is one as any other: stat reads it"
"$O/ebtrace" info "$dir/run.1.ebt" | grep -q '^  trigger    pause>6ms: pause of [0-9.]* ms in process [0-9]*, domain [12]$'
ok $? "info says what it is about"

"$O/ebtrace" "$ring" --trigger 'pause>6ms' --before 3ms --after 2ms --max 2 -o "$dir/run.ebt" 2>"$TMP/err"
is "$? $(find "$dir" -type f | wc -l)" "0 $((captures + 2))" "--max ends the run; files of an earlier one are kept"
grep -q 'that was the last of --max 2 captures' "$TMP/err"
ok $? "and this is said"
(
	trap '' XFSZ
	ulimit -f 1
	exec "$O/ebtrace" "$ring" --trigger 'pause>6ms' --before 3s -o "$dir/full.ebt" 2>"$TMP/err"
)
is "$? $(grep -c "cannot write '$dir/full.1.ebt': File too large" "$TMP/err") $(ls "$dir"/full*)" "1 1 $dir/full.1.ebt.part" \
	"a capture that cannot be written ends the run, which is said once"
rm "$dir"/*
"$O/ebtrace" "$ring" --trigger 'pause>10s' --trigger 'minor_l*>9s' -o "$dir/run.ebt" 2>"$TMP/err"
is "$? $(files)" "0 *" "without such a span there is no file"
grep -q '^ebtrace: 0 captures from [0-9]* events, 0 lost: no span took so long$' "$TMP/err"
ok $? "but a line"
"$O/ebtrace" "$ring" --trigger 'minor_local_roots>2ms' -o "$dir/run.ebt" 2>"$TMP/err"
is "$? $(files)" "0 run.1.ebt" "a phase may be named"
"$O/ebtrace" --trigger 'pause>1ms' -o "$TMP/none/run.ebt" -- touch "$TMP/touched" 2>"$TMP/err"
is "$? $(grep -c 'cannot write' "$TMP/err") $(ls "$TMP/touched" 2>&1 | grep -c 'No such')" "1 1 1" \
	"a directory that does not exist is found before the run"
usage "a condition without a time" "is not SPAN>TIME" "$ring" --trigger pause -o "$dir/run.ebt"
usage "--trigger without a file" "writes captures: -o FILE.ebt" "$ring" --trigger 'pause>1ms'
usage "--trigger in another format" "writes captures: -o FILE.ebt" "$ring" --trigger 'pause>1ms' -o "$dir/x.ndjson"
usage "--trigger of a limited size" "max-size and --rotate are of" "$ring" --trigger 'pause>1ms' --max-size 1M -o "$dir/x.ebt"
usage "--trigger of several files" "max-size and --rotate are of" "$ring" --trigger 'pause>1ms' --rotate 3 -o "$dir/x.ebt"
usage "--before alone" "need --trigger" "$ring" --before 1s
usage "too little memory" "must be 1M or more" "$ring" --trigger 'pause>1ms' --trigger-memory 4K -o "$dir/x.ebt"
# Names that others have taken: links are not followed, files are kept.
rm -rf "$dir"
mkdir "$dir"
ln -s "$TMP/behind" "$dir/run.1.ebt"
ln -s "$TMP/info" "$dir/run.2.ebt"
mkdir "$dir/run.3.ebt"
cp "$TMP/info" "$TMP/info.before"
"$O/ebtrace" "$ring" --trigger 'pause>6ms' --before 3ms --after 2ms --max 2 -o "$dir/run.ebt" 2>"$TMP/err"
is "$? $(files)" "0 run.1.ebt run.2.ebt run.3.ebt run.4.ebt run.5.ebt" "names that something has are passed over" ||
	diag "$(cat "$TMP/err")"
[ ! -e "$TMP/behind" ] && [ -h "$dir/run.1.ebt" ] && cmp -s "$TMP/info" "$TMP/info.before"
ok $? "and what a link leads to is not written"
done_testing
