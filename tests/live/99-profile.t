#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Samples of threads on a CPU: functions with known shares, in C and in OCaml; stacks that are right at
# any instruction; every format of the report, from a run and from a capture of it.
. tests/lib.sh
need_root
need_command jq
need_command protoc
need_command perl
need_command setpriv
ebt=$(realpath "$O/ebtrace")

chmod 755 "$TMP"
install -m 755 "$O/ebtrace" "$O/tests/prog/shares" "$TMP"
# profile ARGS...: its messages and those of a program in err.
profile() { timeout 300 "$ebt" profile "$@" 2>"$TMP/err"; }
# shares REPORT [PREFIX]: the functions whose samples are not within 5 standard deviations of their share of the four.
shares() {
	jq -r --arg prefix "${2:-}" '[.sections[].functions[] | select(.function | IN(
			"ten", "twenty", "thirty", "forty" | $prefix + .))] |
		(map(.self.samples) | add) as $n |
		{ten: 0.1, twenty: 0.2, thirty: 0.3, forty: 0.4} as $p | group_by(.function)[] |
		(map(.self.samples) | add) as $s | $p[.[0].function | ltrimstr($prefix)] as $q |
		select(($s - $n * $q | fabs) > 5 * ($n * $q * (1 - $q) | sqrt)) | "\(.[0].function) \($s) of \($n)"' "$1"
}
# sum REPORT: the samples of its sections, and of the report.
sum() { jq -r '"\([.sections[].share.samples] | add) \(.samples)"' "$1"; }

profile -F 999 -f json -o "$TMP/c.json" -- "$TMP/shares" 2
is $? 0 "a program in C is profiled" || diag "$(cat "$TMP/err")"
is "$(shares "$TMP/c.json")" "" "its functions have their shares"
ok "$(jq 'if .samples > 1200 and .samples < 2300 then 0 else 1 end' "$TMP/c.json")" "there are as many samples as CPU time" ||
	diag "$(jq -c 'del(.sections)' "$TMP/c.json")"
ok "$(jq 'if .stacks.whole >= 0.95 * .samples then 0 else 1 end' "$TMP/c.json")" "their stacks are whole" ||
	diag "$(jq -c .stacks "$TMP/c.json")"
ok "$(jq 'if (.cpu_ns - .sampled_ns | fabs) < 0.1 * .cpu_ns then 0 else 1 end' "$TMP/c.json")" \
	"time by samples is that of the kernel's clock" || diag "$(jq -c 'del(.sections)' "$TMP/c.json")"
is "$(jq -r '[.sections[].functions[] | select(.function == "main") | .total.samples] | add > 0' "$TMP/c.json")" true \
	"callers have a total"
is "$(jq -c '[.sections[].name, .phases[].name]' "$TMP/c.json")" '["threads","threads"]' "they are in no domain, as the program has none"
# Programs that are started have a name: one that goes on after the trace, its children, the last one of a shell.
names() { profile -F 499 -f json -o "$TMP/names.json" --by program "$@" && jq -c '[.sections[].name] | sort' "$TMP/names.json"; }
is "$(names -- "$TMP/shares" 1)" '["shares"]' "the section of a program is named after it"
is "$(names -d 500ms -- "$TMP/shares" 1)" '["shares"]' "also if the trace ends before it"
spin='i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
is "$(names -- bash -c "($spin) & ($spin) & wait; exec '$TMP/shares' 1")" '["bash","shares"]' \
	"and its children, and the program that it has become"

# Two of them run, and one is traced.
"$TMP/shares" 1000 2 &
it=$!
children+=("$it")
"$TMP/shares" 1000 &
children+=("$!")
profile -F 499 -d 1s -o "$TMP/two.ebt" -p $it
is $? 0 "a running process is profiled" || diag "$(cat "$TMP/err")"
kill "${children[@]}"
"$ebt" -q "$TMP/two.ebt" -o "$TMP/two.ndjson"
is "$(jq -r 'select(.kind == "sample") | .pid' "$TMP/two.ndjson" | sort -u)" "$it" "no other one is sampled"
is "$(jq -r 'select(.kind == "sample") | .tid' "$TMP/two.ndjson" | sort -u | wc -l)" 3 "all of its threads are"
is "$(jq -r 'select(.kind == "sample") | .period_ns' "$TMP/two.ndjson" | sort -u)" 2004008 "each sample has its time"
samples=$(jq -r 'select(.kind == "sample") | .ts' "$TMP/two.ndjson" | wc -l)

"$ebt" profile --json "$TMP/two.ebt" >"$TMP/two.json"
is "$(jq .samples "$TMP/two.json")" "$samples" "a capture has the samples"
is "$(shares "$TMP/two.json")" "" "and their functions"
for by in phase thread domain program; do
	"$ebt" profile --json --by $by "$TMP/two.ebt" >"$TMP/by.json"
	is "$(sum "$TMP/by.json")" "$samples $samples" "--by $by: the sections add up"
done
is "$("$ebt" profile --json --by thread "$TMP/two.ebt" | jq '.sections | length')" 3 "there is one for each thread"
is "$("$ebt" profile --json --by domain "$TMP/two.ebt" | jq -c '[.sections[].name]')" "[\"threads of shares ($it)\"]" \
	"and one of all where there is no domain"
"$ebt" profile --json-schema >"$TMP/schema"
is "$(jq -r --slurpfile s "$TMP/schema" '$s[0] as $schema | '"$(grep -v '^#' tests/stat-schema.jq)" "$TMP"/{c,two,by}.json 2>&1)" "" \
	"JSON follows the schema that is printed"
"$ebt" profile -o "$TMP/two.folded" "$TMP/two.ebt"
is "$(awk '{ n += $NF } END { print n }' "$TMP/two.folded")" "$samples" "folded stacks add up"
is "$(grep -c ';run;forty [0-9]*$' "$TMP/two.folded")" 2 "and have the functions from the outermost on: of main and of threads"
"$ebt" profile -o "$TMP/two.svg" "$TMP/two.ebt"
is "$(grep -c 'forty' "$TMP/two.svg" | awk '{ print ($1 > 0) }') $(tail -c 7 "$TMP/two.svg" | tr -d '\n')" "1 </svg>" "there is a picture"
"$ebt" profile -o "$TMP/two.pb.gz" "$TMP/two.ebt"
gzip -dc "$TMP/two.pb.gz" | protoc -I tests/pprof --decode=perftools.profiles.Profile tests/pprof/profile.proto >"$TMP/two.pprof"
is "$(awk '/^sample \{/ { first = 1 } /^  value:/ && first { n += $2; first = 0 } END { print n }' "$TMP/two.pprof")" "$samples" \
	"and a profile for pprof with all samples"
"$ebt" profile --top 2 "$TMP/two.ebt" >"$TMP/two.txt"
ok "$(grep -q "^$samples samples in .*, at 499 Hz: " "$TMP/two.txt"; echo $?)" "text has the sum" || diag "$(head -3 "$TMP/two.txt")"
ok "$(grep -Eq '^ *[34][0-9]\.[0-9] % \([0-9.]+-[0-9.]+\) .* forty \(shares\.c:[0-9]+\)$' "$TMP/two.txt"; echo $?)" \
	"and each function its share, with its limits, and its line" || diag "$(cat "$TMP/two.txt")"

setpriv --reuid 65534 --clear-groups "$TMP/ebtrace" profile -- "$TMP/shares" 0 >"$TMP/out" 2>&1
is "$? $(wc -l <"$TMP/out") $(grep -c 'needs CAP_BPF and CAP_PERFMON, or root' "$TMP/out")" "7 1 1" \
	"without privilege one line says what is needed" || diag "$(cat "$TMP/out")"
is "$("$ebt" info --kernel --json | jq -r '.features[] | select(.name == "profile") | .state')" yes "info --kernel has it"

if [ "$(uname -m)" != x86_64 ]; then
	done_testing
fi
ocaml_root
OCAML_LINK=-g ocaml_build_here shares
profile -F 999 -f json -o "$TMP/ocaml.json" -- "$EXE" 2
is $? 0 "a program of OCaml is profiled" || diag "$(cat "$TMP/err")"
is "$(shares "$TMP/ocaml.json" Shares.)" "" "its functions have their shares"
is "$(jq -r '.sections[].functions[] | select(.function == "Shares.forty") | "\(.file | sub(".*/"; "")) \(.line > 0)"' "$TMP/ocaml.json")" \
	"shares.ml true" "and a line"
is "$(jq -r '.sections[0].name' "$TMP/ocaml.json")" mutator "its ring tells where the mutator is"

# It is interrupted at any instruction. What calls what is known, tail calls included.
profile -F 9999 -o "$TMP/mixed.ebt" -- "$EXE" 2 mixed
"$ebt" "$TMP/mixed.ebt" -o "$TMP/mixed.ndjson" 2>/dev/null
cat >"$TMP/legal" <<'END'
Shares allocates collects deep floats fun handles handles.(fun) asks leaf loop plain raiser raises makes round spin
allocates makes
asks leaf
deep deep leaf
fun asks leaf
handles fun handles.(fun) asks leaf
handles.(fun) asks leaf
loop allocates asks collects deep floats fun handles handles.(fun) leaf makes plain raiser raises
makes makes
plain leaf
raises leaf raiser
END
jq -r 'select(.kind == "sample") | [.stack[]? | sub("@.*"; "") | select(startswith("Shares"))] as $s |
	range(1; $s | length) | [$s[. - 1], $s[.]] | map(sub("^Shares\\."; "")) | join(" ")' "$TMP/mixed.ndjson" |
	sort | uniq -c >"$TMP/calls"
ok "$(awk '{ n += $1 } END { print (n > 5000 ? 0 : 1) }' "$TMP/calls")" "many calls are on the stacks of samples at any instruction"
awk 'NR == FNR { for (i = 2; i <= NF; i++) legal[$1 " " $i] = 1; next } !legal[$2 " " $3]' "$TMP/legal" "$TMP/calls" >"$TMP/wrong"
is "$(cat "$TMP/wrong")" "" "no stale return address is among them: each is one that the program makes"
"$ebt" profile --json --by phase "$TMP/mixed.ebt" >"$TMP/mixed.json" 2>/dev/null
ok "$(jq 'if .stacks.whole >= 0.9 * .samples then 0 else 1 end' "$TMP/mixed.json")" \
	"nine of ten stacks are whole, through C, fibers, exceptions and the collector" || diag "$(jq -c .stacks "$TMP/mixed.json")"
is "$(jq -r '[.sections[].name] | contains(["mutator", "major_mark"])' "$TMP/mixed.json")" true "phases of the collector have sections"
is "$(jq -r '[.phases[] | select(.collector) | .share.samples] | add > 0.02 * ('"$(jq .samples "$TMP/mixed.json")"')' "$TMP/mixed.json")" true \
	"and their share"

# All processes, in a namespace of their own, in which nothing else begins behind ebtrace. Its shell is traced, too.
cat >"$TMP/all" <<END
"$TMP/shares" 1000 & echo \$! >"$TMP/other"
"$ebt" profile -a -F 499 -d $(lasting 1) -o "$TMP/all.ebt" 2>"$TMP/err" & echo \$! >"$TMP/own"
wait \$!
END
timeout "$(lasting 60)" unshare -pf --mount-proc bash "$TMP/all"
"$ebt" -q "$TMP/all.ebt" -o "$TMP/all.ndjson"
is "$(jq -s --argjson own "$(<"$TMP/own")" --argjson other "$(<"$TMP/other")" '[.[] | select(.kind == "sample")] |
	[any(.pid == $other), (map(select(.pid >= $own)) | length)]' "$TMP/all.ndjson" | tr -d ' \n')" "[true,0]" \
	"-a samples all that run, but not ebtrace and what it starts" || diag "$(cat "$TMP/err")"
done_testing
