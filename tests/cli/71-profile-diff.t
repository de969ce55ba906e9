#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two profiles compared: shares by a count of the samples themselves, changes and their limits by the
# formulas, and every form of the report.
. tests/lib.sh
need_command jq
need_command xmllint
ebt=$O/ebtrace
old=tests/data/profile/laps-old.ebt new=tests/data/profile/laps-new.ebt
diff_of() { "$ebt" profile diff "$@" 2>"$TMP/err"; }

# What is known of a side without any report: for each function its samples, and those with it on the stack.
for name in old new; do
	"$ebt" -q "tests/data/profile/laps-$name.ebt" -o "$TMP/$name.ndjson"
	jq -r 'select(.kind == "sample") | [.stack[] | sub("@.*"; "")] | "all all", "self \(.[-1])", (unique[] | "total \(.)")' \
		"$TMP/$name.ndjson" | LC_ALL=C sort | uniq -c | awk '{ print $2, $3, $1 }' >"$TMP/$name.counts"
done
# of SIDE WHAT FUNCTION
of() { awk -v what="$2" -v name="$3" '$1 == what && $2 == name { n = $3 } END { print n + 0 }' "$TMP/$1.counts"; }
is "$(of old all all) $(of new all all) $(of old self query) $(of new self query)" "393 809 119 89" "the captures have these samples"

diff_of --json $old $new >"$TMP/json"
is $? 0 "two captures are compared" || diag "$(cat "$TMP/err")"
jq -r '[.sections[].functions[]] | group_by(.function)[] | .[0].function as $f | ["self", "total"][] as $what |
	["before", "after"][] as $side | "\($side) \($what) \($f) \(map(.[$what][$side].samples) | add)"' "$TMP/json" |
	awk '$4 > 0 { print $1 == "before" ? "old" : "new", $2, $3, $4 }' | LC_ALL=C sort >"$TMP/got"
for name in old new; do
	awk -v name="$name" '$1 != "all" { print name, $0 }' "$TMP/$name.counts"
done | LC_ALL=C sort >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "each function has its own samples, and those of what it calls, on both sides"
is "$(jq -c '[.before.samples, .after.samples, ([.sections[].share.before.samples] | add), ([.sections[].share.after.samples] | add)]' "$TMP/json")" \
	"[393,809,393,809]" "the sections add up"
is "$(jq -c '[.sections[] | .name]' "$TMP/json")" '["mutator","collector","no domain"]' "sections are found by their names, the largest first"
is "$(jq -c '[.sections[] | select(.name == "collector") | .functions[] | select(.self.after.samples > 0) | .function]' "$TMP/json")" \
	'["sweep"]' "the collector is apart"

# Wilson's interval of each share, and the distances of both to their shares, squared and added, for the change.
cat >"$TMP/formula.jq" <<'END'
def wilson($k; $n): 1.959964 as $z | ($k / $n) as $p | (1 + $z * $z / $n) as $s |
	(($p + $z * $z / (2 * $n)) / $s) as $m | ($z * (($p * (1 - $p) / $n + $z * $z / (4 * $n * $n)) | sqrt) / $s) as $h |
	{p: (100 * $p), low: (100 * ($m - $h) | if $k == 0 then 0 else . end), high: (100 * ($m + $h) | if $k == $n then 100 else . end)};
def near($a; $b): ($a - $b | fabs) < 1e-4;
.before.samples as $n | .after.samples as $m | [.sections[] | .share, (.functions[] | .self, .total) |
	wilson(.before.samples; $n) as $a | wilson(.after.samples; $m) as $b |
	select((near(.before.percent; $a.p) and near(.before.low; $a.low) and near(.before.high; $a.high) and
		near(.after.percent; $b.p) and near(.change.percent; $b.p - $a.p) and
		near(.change.low; $b.p - $a.p - (($b.p - $b.low) * ($b.p - $b.low) + ($a.high - $a.p) * ($a.high - $a.p) | sqrt)) and
		near(.change.high; $b.p - $a.p + (($b.high - $b.p) * ($b.high - $b.p) + ($a.p - $a.low) * ($a.p - $a.low) | sqrt)) and
		(.noise == (.change.low <= 0 and .change.high >= 0)) and
		(if .before.samples == 0 then .ratio == null else near(.ratio; $b.p / $a.p) end)) | not)]
END
is "$(jq -cf "$TMP/formula.jq" "$TMP/json")" "[]" "shares, changes, limits, ratios and noise are those of the formulas"
# By hand: 119 of 393 are 30.28 %, from 25.94 to 35.00; 89 of 809 are 11.00 %, from 9.03 to 13.34.
is "$(jq -r '.sections[].functions[] | select(.function == "query") | .self | [.before.percent, .after.percent, .change.percent,
	.change.low, .change.high] | map(. * 100 | round / 100) | join(" ")' "$TMP/json")" "30.28 11 -19.28 -24.39 -14.35" "also by hand"
is "$(jq -r '[.sections[].functions[] | select(.self.noise | not) | .function] | sort | join(" ")' "$TMP/json")" \
	"cache pack poll_all query render" "the functions whose shares are others are no noise, and no others are"
is "$(jq -r '.sections[].functions[] | select(.function | IN("cache", "pack", "query")) | "\(.function) \(.in_before) \(.in_after) \(.self.ratio == null)"' \
	"$TMP/json" | sort)" "$(printf 'cache false true true\npack true false false\nquery true true false')" "what is new or gone is marked"
is "$(jq -c '[.sections[] | [.functions[].self.change.percent | fabs] | . == (sort | reverse)] | all' "$TMP/json")" true "the largest changes come first"

"$ebt" profile --json-schema >"$TMP/schema"
valid() {
	jq -r --slurpfile s "$TMP/schema" '$s[0] as $schema | '"$(grep -v '^#' tests/stat-schema.jq)" "$@" 2>&1
}
"$ebt" profile --json $new >"$TMP/one.json"
is "$(valid "$TMP/json" "$TMP/one.json")" "" "the JSON follows the schema, and so does that of one profile"
jq '.sections[0].functions[0].self.noise = 1' "$TMP/json" >"$TMP/wrong"
is "$(valid "$TMP/wrong")" ": 0 of oneOf match" "which notices another type"

diff_of --json $new $old >"$TMP/back"
changes() { jq -c "[.sections[].functions[] | [.function, (.self.change.percent * $1 * 1e4 | round)] | select(.[1] != 0)] | sort" "$2"; }
is "$(changes -1 "$TMP/back")" "$(changes 1 "$TMP/json")" "the other way round all changes have the other sign"
diff_of --json $old $old >"$TMP/same"
is "$(jq -c '[([.sections[].functions[].self.noise] | all), ([.sections[].functions[].total.change.percent] | add), ([.sections[].share.ratio] | unique)]' "$TMP/same")" \
	"[true,0,[1]]" "a profile and itself differ in nothing"
diff_of --json tests/data/capture/pages.ebt $new >"$TMP/none"
is "$(jq -c '[.before.samples, .before.program, ([.sections[].functions[] | .in_before or .self.noise == false and .self.ratio != null] | any)]' "$TMP/none")$(valid "$TMP/none")" \
	"[0,null,false]" "a recording without samples compares as nothing"
head -c 9000 $new >"$TMP/part.ebt"
diff_of --top 1 $old "$TMP/part.ebt" >"$TMP/got"
is "$(grep -c '^  Not all is counted: 1 place of the input is damaged' "$TMP/got")" 1 "a side that is damaged says so" || diag "$(cat "$TMP/got")"
diff_of --top 1 tests/data/capture/forks.ebt $new >"$TMP/got"
is "$(sed -n '/^  Not all/,$p' "$TMP/got" | head -2)" "$(printf '  Not all is counted: unknown number lost (16.171 ms not watched)\n%s' \
	"$(grep '^after' "$TMP/got")")" "a side with losses says so, and the other does not" || diag "$(cat "$TMP/got")"
diff_of --by phase --json $old $new >"$TMP/phase"
is "$(jq -r '.sections[1].name' "$TMP/phase")" major_sweep "sections may be phases"
diff_of --by program --json $old $new >"$TMP/program"
is "$(jq -c '[.sections[] | .name, .share.change.percent]' "$TMP/program")" '["laps",0]' "or programs"

diff_of --top 4 $old $new >"$TMP/text"
is "$(sed -n 's/^\(before\|after \): laps, \([0-9]* samples\) in .*, at \([0-9]* Hz\): .*/\1 \2 \3/p' "$TMP/text")" \
	"$(printf 'before 393 samples 499 Hz\nafter  809 samples 999 Hz')" "text begins with both sides"
is "$(sed -n '/^mutator/,/^$/p' "$TMP/text" | sed -n '4,8p' | tr -s ' ')" "$(
	cat <<'END'
 30.28 % 11.00 % -19.28 % -24.39 % to -14.35 % 0.36 30.28 % 11.00 % -19.28 % query (laps.c:43)
 10.94 % 0.00 % -10.94 % -14.41 % to -8.18 % 0.00 10.94 % 0.00 % -10.94 % gone pack (laps.c:47)
 19.59 % 29.54 % +9.95 % +4.76 % to +14.81 % 1.51 19.59 % 29.54 % +9.95 % render (laps.c:46)
 0.00 % 9.27 % +9.27 % +7.22 % to +11.47 % - 0.00 % 9.27 % +9.27 % new cache (laps.c:44)
(13 more; --top N shows more)
END
)" "and has a line for each function, as many as asked for"
is "$(diff_of $old $new | grep -c ' noise .* parse (laps.c:42)$')" 1 "a change that may be chance is marked"

# Folded: samples before are scaled to the sum after, so that both compare.
diff_of -f folded $old $new >"$TMP/folded"
is "$(awk '{ n += $NF } END { print n }' "$TMP/folded")" 809 "folded stacks have the samples of the second recording"
is "$(awk '{ n += $(NF - 1) } END { print (n > 800 && n < 818) }' "$TMP/folded")" 1 "and those of the first, scaled"
is "$(grep -c ';main;run;lap;pack 89 0$' "$TMP/folded")" 1 "43 of 393 are 89 of 809" || diag "$(grep pack "$TMP/folded")"
is "$(grep -c '^mutator;clone3;start_thread;run;lap;cache 0 [0-9]*$' "$TMP/folded")" 1 "with the functions from the outermost on, of both"

diff_of -o "$TMP/d.svg" $old $new
xmllint --noout "$TMP/d.svg" 2>"$TMP/log"
ok $? "the picture is well-formed XML"
# colours FUNCTION: the classes of its frames.
colours() { grep -A1 "<title>$1\$" "$TMP/d.svg" | sed -n 's/^<g class="f \([^"]*\)">.*/\1/p' | sort -u | tr '\n' ' '; }
is "$(colours cache)/$(colours pack)/$(colours cpu_seconds)" "c23 /c15 /root r0 " "red grew, blue shrank, grey is noise" ||
	diag "$(grep -o '<g class="f [^"]*"><title>.*' "$TMP/d.svg" | head -40)"
is "$(awk '/<title>pack$/ { getline; getline; print }' "$TMP/d.svg" | sed 's/<.*//')" \
	"10.94 % before (43 samples), 0.00 % after (0 samples), change -10.94 % (-14.41 to -8.18)" "a tooltip has both shares and the change" ||
	diag "$(grep -A3 '<title>pack' "$TMP/d.svg")"
is "$(awk '/<title>(mutator|collector|no domain)$/ { getline; sub(/<.*/, ""); print }' "$TMP/d.svg" | sed 's/ before .*//')" \
	"$(printf '91.09 %%\n8.91 %%\n0.00 %%')" "and so has that of a section"
# The mean of 358 of 393 and 722 of 809, of 1,176 pixels.
is "$(awk '/<title>mutator$/ { getline; print }' "$TMP/d.svg" | sed -n 's/.* width="\([0-9]*\)\..*/\1/p')" 1060 "widths are the mean of both shares" ||
	diag "$(grep -A2 '<title>mutator' "$TMP/d.svg")"

# refuses STATUS "MESSAGE" ARGS...
refuses() {
	"$ebt" profile "${@:3}" >"$TMP/out" 2>"$TMP/err"
	is "$? $(cat "$TMP/err")" "$1 ebtrace: $2" "profile ${*:3} is refused"
}
refuses 2 "profile diff compares two FILEs" diff $old
refuses 2 "profile diff compares two FILEs" diff $old $new $new
refuses 2 "profile diff compares two FILEs" diff -p 1
refuses 2 "profile diff finds sections by their names; threads and domains have other numbers in each run" diff --by thread $old $new
refuses 2 "profile diff has no format 'pprof'; it has: text, json, folded, svg" diff -f pprof $old $new
refuses 1 "cannot open 'none.ebt': No such file or directory" diff none.ebt $new
refuses 2 "the name of a report comes first: ebtrace profile diff [OPTIONS] FILE; there is no file 'diff'" $old diff
refuses 2 "no such report or file 'dif'; the reports of profile are functions, diff" dif $old
"$ebt" profile functions --json $new >"$TMP/got"
same_file "$TMP/got" "$TMP/one.json" "without a report it is that of functions"
done_testing
