#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Where an OCaml program that was not prepared allocates: by what its runtime does anyway. The shares
# of its sites, its stacks as the runtime itself has them, and what no sample stands for.
. tests/lib.sh
need_command jq
ocaml_root

OCAML_LINK=-g ocaml_build sites tests/ocaml/sites_stubs.c

# begin "COMMAND OPTIONS" ARGS...: the program, waiting for a byte, and ebtrace attached to it; end lets
# it run. What a program that is started does before it is probed is in no site.
runs() { [ "$(readlink "/proc/$program/exe")" = "$EXE" ]; }
begin() {
	local how=$1
	shift
	rm -f "$TMP/go"
	: >"$TMP/err" # where the one before has said that it is attached
	mkfifo "$TMP/go"
	chroot "$ROOT" "$EXE_IN" "$@" wait <"$TMP/go" >"$TMP/printed" &
	program=$!
	children+=($program)
	exec 5>"$TMP/go"
	wait_for runs
	# shellcheck disable=SC2086
	timeout 600 "$O/ebtrace" $how -v -p $program 2>"$TMP/err" 5>&- &
	tracer=$!
	wait_for grep -q 'attached to' "$TMP/err"
}
end() {
	echo >&5
	exec 5>&-
	end_well $tracer
}
# report NAME ARGS...: what the program allocates, in NAME.json, and what it says itself, in NAME.
report() {
	local status name=$1
	shift
	begin "mem hotspots --json -o $TMP/$name.json" "$@"
	end
	status=$?
	cp "$TMP/printed" "$TMP/$name"
	return $status
}

report shares shares 20000000
is $? 0 "the allocations of a program that was not prepared are reported" || diag "$(cat "$TMP/err")"
is "$(jq -c '.programs[0] | [.periodic, .rate * 131072]' "$TMP/shares.json")" "[true,1]" \
	"its samples are periodic, one for half of a minor heap"
jq -e '.programs[0].words_between_samples as $n | $n >= 131072 and $n < 131072 * 64' "$TMP/shares.json" >/dev/null
ok $? "where there are many of them some are taken, and how many words lie between these is reported" ||
	diag "$(jq -c .programs "$TMP/shares.json")"
# in_intervals TRUTH JSON: the intervals are of 95 %: here they are three times as wide, six times the
# standard error.
in_intervals() {
	awk '
	FNR == NR { bytes[$1] = 8 * $2; all += 8 * $2 > 1e7; next }
	{
		printf "# %s: %.1f MB, reported as %.1f (%.1f to %.1f)\n", $1, bytes[$1] / 1e6, $2 / 1e6, $3 / 1e6, $4 / 1e6
		bad += bytes[$1] < $2 - 3 * ($2 - $3) || bytes[$1] > $2 + 3 * ($4 - $2) || (bytes[$1] > 1e7 && $4 > 4 * $2)
		known += bytes[$1] > 1e7
	}
	END { exit bad || known < all }' "$1" <(jq -r '.sites[] | select(.function | startswith("Sites.")) | [.function[6:], .bytes, .low, .high] | @tsv' "$2")
}
in_intervals "$TMP/shares" "$TMP/shares.json"
ok $? "what each site allocates is in its interval"

to_the_word() {
	jq -e --argjson words "$(awk '{ all += $2 } END { print all }' "$TMP/four")" '.total.bytes / 8 - $words | . >= 0 and . < 20000' \
		"$TMP/four.json" >/dev/null
}
report four in_four 60000000
in_intervals "$TMP/four" "$TMP/four.json"
ok $? "of four sites as well, with 65.6, 26.2, 4.9 and 3.3 % of all words" || diag "$(cat "$TMP/err")"

# Each 7 words the program is where it was, and the heap's end always reaches the same object: whichever
# samples are taken, at random or not.
ends_with 0 timeout 300 "$O/ebtrace" mem hotspots --json -o "$TMP/turn.json" -- chroot "$ROOT" "$EXE_IN" in_turn 100000000 >"$TMP/in_turn" 2>"$TMP/err"
jq -e '[.sites[] | select(.function | startswith("Sites."))] |
	(map(select(.function == "Sites.four") | .bytes) | add) / (map(.bytes) | add) | . < 0.01 or . > 0.99' \
	"$TMP/turn.json" >/dev/null
ok $? "a program that allocates with an exact period is misjudged: one of its sites has all samples" ||
	diag "$(cat "$TMP/in_turn" "$TMP/err")" "$(jq -c '.sites[] | [.function, .bytes]' "$TMP/turn.json")"
report apart apart 20000000
in_intervals "$TMP/apart" "$TMP/apart.json"
ok $? "not one with the same sites whose period varies by a word here and there" || diag "$(cat "$TMP/err")"
to_the_word
ok $? "all that it allocates is reported, to the word" || diag "$(jq -c .total "$TMP/four.json")" "$(cat "$TMP/four")"
is "$(jq -r '.sites[] | select(.function == "Sites.list") | .positions[] | "\(.line):\(.start_char)-\(.end_char)"' "$TMP/shares.json" | sort | tr '\n' ' ')" \
	"$(awk '/inline never. list/ { at = index($0, "[ n;") - 1; printf "%d:%d-%d %d:%d-%d %d:%d-%d ", NR, at, at + 11, NR, at + 5, at + 11, NR, at + 8, at + 11 }' tests/ocaml/sites.ml | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ //')" \
	"of allocations that are made at once each has its own position"

strip "$EXE" -o "$EXE_DIR/stripped"
ends_with 0 timeout 300 "$O/ebtrace" mem hotspots --json -o "$TMP/stripped.json" -- chroot "$ROOT" "${EXE_IN%/*}/stripped" shares 20000000 >/dev/null 2>"$TMP/err"
sites() { jq -r '.sites[] | select(.function | startswith("Sites.")) | .function' "$1" | sort; }
is "$(sites "$TMP/stripped.json")" "$(sites "$TMP/shares.json")" "a program without symbols has the same sites" ||
	diag "$(cat "$TMP/err")"

chroot "$ROOT" sh -c "cd ${EXE_IN%/*} && ocamlc -custom -g -I +unix -I +runtime_events unix.cma \
	runtime_events.cma sites_stubs.c sites.ml -o bytecode" >"$TMP/build.log" 2>&1
rm -f "$TMP/err"
{ wait_for grep -qs 'it is bytecode' "$TMP/err"; echo; } |
	timeout 300 "$O/ebtrace" mem -- chroot "$ROOT" "${EXE_IN%/*}/bytecode" shares 1000 wait again >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -c '^pair ' "$TMP/out") $(grep -c 'its allocations cannot be probed: it is bytecode' "$TMP/err")" "0 1 1" \
	"bytecode runs, and calls exec of itself, and one line says that its allocations cannot be probed" || diag "$(cat "$TMP/build.log" "$TMP/err")"

begin "mem record -o $TMP/out.ctf" stacks 0
for report in live lifetimes; do
	timeout 30 "$O/ebtrace" mem $report -o "$TMP/report" -p $program >"$TMP/out" 2>"$TMP/err2"
	is "$? $(cat "$TMP/out") $(sed 's/[0-9]* shows/PID shows/' "$TMP/err2")" \
		"2  ebtrace: mem $report needs to know when objects are collected; periodic samples of a program that was not prepared do not have that: ebtrace mem hotspots -p PID shows where it allocates" \
		"of a running program mem $report refuses at once"
	[ ! -s "$TMP/report" ]
	ok $? "and writes nothing"
done
end
is $? 0 "a running program is recorded" || diag "$(cat "$TMP/err")"
ends_with 0 "$O/ebtrace" trace -f ndjson "$TMP/out.ctf" -o "$TMP/out.ndjson" -q
jq -r 'select(.kind == "alloc") | [.stack[] | select(contains("@??:") | not)] |
	select(.[-1] // "" | startswith("Sites.allocate")) | .[:-1] | join(" ")' "$TMP/out.ndjson" | sort -u >"$TMP/got"
sort -u "$TMP/printed" >"$TMP/wanted"
same_file "$TMP/got" "$TMP/wanted" \
	"its stacks are those of the runtime: inlined functions, fibers, callbacks from C, other domains"
[ "$(wc -l <"$TMP/wanted")" -ge 9 ] && awk '{ if (NF > 99) deep = 1 } END { exit !deep }' "$TMP/wanted"
ok $? "of all these kinds"
is "$(jq -r 'select(.kind == "alloc") | .stack[]' "$TMP/out.ndjson" | grep -c '^caml_')" 0 \
	"without functions that the compiler has made"
is "$(jq -r 'select(.kind == "alloc" and .stack[0] == "[stack not whole]@??:0:0-0") | .stack[1]' "$TMP/out.ndjson" | cut -d: -f1 | sort -u)" \
	"Sites.from_c.(fun)@sites.ml" \
	"those that the runtime itself cuts, below a callback from C in a fiber, are marked: no others"

ends_with 0 timeout 300 "$O/ebtrace" mem hotspots --json -o "$TMP/emptied.json" -- chroot "$ROOT" "$EXE_IN" emptied 20 >"$TMP/emptied" 2>"$TMP/err"
awk -v list="$(jq '[.sites[] | select(.function == "Sites.list") | .bytes / 8] | add' "$TMP/emptied.json")" \
	-v pair="$(jq '[.sites[] | select(.function == "Sites.pair") | .bytes / 8] | add // 0' "$TMP/emptied.json")" \
	-v rest="$(jq '[.sites[] | select(.function | startswith("[in minor heaps")) | .bytes / 8] | add' "$TMP/emptied.json")" '
	{ truth[$1] = $2 }
	END {
		printf "# list %d of %d, pair %d and in no sample %d of %d\n", list, truth["list"], pair, rest, truth["pair"]
		all = (list + pair + rest) / (truth["list"] + truth["pair"])
		exit list > 1.01 * truth["list"] || list < 0.8 * truth["list"] || all < 1 || all > 1.01
	}' "$TMP/emptied"
ok $? "where other heaps are emptied before half of them is used a sample stands for its own heap alone" ||
	diag "$(cat "$TMP/err")"
begin "mem --top 9 -o $TMP/emptied.txt" emptied 20
end
grep -q '^Allocated at:' "$TMP/emptied.txt" &&
	grep -qE ' to .* Sites\.list .*\[only (19|2[0-9]) samples\]$' "$TMP/emptied.txt" &&
	grep -qE ' exact +9[0-9.]* %  \[in minor heaps, in no sample\]$' "$TMP/emptied.txt"
ok $? "the summary has the interval of each row, and which ones fewer than 30 samples carry" ||
	diag "$(cat "$TMP/emptied.txt" "$TMP/err")"

# Few, each of which is taken, and many, where three times the interval of 95 % is allowed.
for n in 200 20000; do
	ends_with 0 timeout 300 "$O/ebtrace" mem hotspots -v --no-wrappers --json -o "$TMP/values.json" -- chroot "$ROOT" "$EXE_IN" unmarshal $n >"$TMP/values" 2>"$TMP/err"
	(jq -r '.total | ["all", .bytes, .low, .high] | @tsv' "$TMP/values.json"
		jq -r '.sites[] | [.function, .bytes, .low, .high] | @tsv' "$TMP/values.json") | awk -F'\t' '
		FNR == NR { split($0, of, " "); bytes[of[1]] = 8 * of[2]; next }
		$1 == "[in the major heap, in no sample]" {
			printf "# %s: %d words of %d\n", $1, $2 / 8, bytes["block"] / 8
			bad += $2 < bytes["block"] || $2 > 1.01 * bytes["block"] + 100000
			seen++
		}
		$1 in bytes {
			printf "# %s: %d bytes, reported as %d (%d to %d)\n", $1, bytes[$1], $2, $3, $4
			own = $1 == "all" ? 8 * 5000 : 0 # what the runtime allocates when the program has counted
			bad += bytes[$1] < $2 - 3 * ($2 - $3) - own || bytes[$1] > $2 + 3 * ($4 - $2)
			seen++
		}
		END { exit bad || seen != 5 }' "$TMP/values" -
	ok $? "what $n marshalled values have is in the interval of where they are read, or a row of its own: all that the runtime counts" ||
		diag "$(cat "$TMP/err" "$TMP/values")"
done

report domains domains 400
read -r first others <"$TMP/domains"
jq -e --argjson first "$first" --argjson others "$others" '
	def words(f): [.sites[] | select(f) | .bytes / 8] | add // 0;
	[words(.function | startswith("Sites.")) / $first, words(.function | startswith("[in minor heaps")) / $others]
	| . as $r | (if all(. > 0.9 and . < 1.1) then true else error($r | tojson) end)' "$TMP/domains.json" >/dev/null 2>"$TMP/jq"
ok $? "of four that allocate as 1 : 0.4 : 0.4 : 0.1, what domains allocate that never use up half of their minor heap is a row of its own" || diag "$(cat "$TMP/jq" "$TMP/err")"

# started FILE "REPORT OPTIONS" ARGS...: a program that ebtrace starts, and that lives for some milliseconds. Where it has
# ended before a busy machine let it be held, which a line reports, it runs once more.
started() {
	local file=$1 report=$2
	shift 2
	for _ in 1 2 3 4 5; do
		# shellcheck disable=SC2086
		ends_with 0 timeout 300 "$O/ebtrace" mem $report -o "$TMP/$file" -- chroot "$ROOT" "$EXE_IN" "$@" >"$TMP/truth" 2>"$TMP/err"
		grep -q 'ended before it could be looked into\|not watched' "$TMP/err" || break
	done
}
started tiny.json "hotspots --json" shares 10000
# Of the runtime's own there is a little.
jq -e --argjson small "$(awk '!/large/ { n += $2 } END { print n }' "$TMP/truth")" '
	.sites | map(select(.function | startswith("[in minor heaps"))) | length == 1 and
	(.[0] | .bytes / 8 - $small | . >= 0 and . < 5000) and .[0].high == .[0].bytes' "$TMP/tiny.json" >/dev/null
ok $? "so is all that a program allocates that ends before its first sample" || diag "$(cat "$TMP/truth" "$TMP/err")"
is "$(jq -c '.sites[] | select(.function == "Sites.large") | [.bytes, .low, .high]' "$TMP/tiny.json")" \
	"$(awk '/large/ { b = 8 * $2; print "[" b "," b "," b "]" }' "$TMP/truth")" \
	"each large allocation counts with its own size, where they are few"

report sizes sizes 400000
in_intervals "$TMP/sizes" "$TMP/sizes.json"
ok $? "where they are many the small ones are chosen at random: what each site allocates is in its interval" ||
	diag "$(cat "$TMP/err")"
is "$(jq -c '.sites[] | select(.function == "Sites.huge") | [.bytes, .low, .high]' "$TMP/sizes.json")" \
	"$(awk '/huge/ { b = 8 * $2; print "[" b "," b "," b "]" }' "$TMP/sizes")" \
	"and what is large among them counts with its own size still"
started sizes.folded "flame -f folded" sizes 1000
is "$(awk '/Sites.huge/ { n += $NF } END { print n }' "$TMP/sizes.folded")" "$(awk '/huge/ { print $2 }' "$TMP/truth")" \
	"so it does in the flame graph, in words"

# One may end before it is probed.
ends_with 0 timeout 300 "$O/ebtrace" mem hotspots -v --json -o "$TMP/tiny.json" -- chroot "$ROOT" sh -c "for i in 1 2 3 4 5 6 7 8; do $EXE_IN shares 10000; done" >"$TMP/truth" 2>"$TMP/err"
awk -v got="$(jq '[.sites[] | select(.function | startswith("[in minor heaps")) | .bytes / 8] | add' "$TMP/tiny.json")" '
	/no sample stands/ { sub(/.* stands for /, ""); words += $1 }
	END { printf "# %d words, %d\n", got, words; exit words < 90000 || got != words }' "$TMP/err"
ok $? "of many such programs the sum is right" || diag "$(cat "$TMP/err")"

ocaml_build_here sites tests/ocaml/sites_stubs.c
timeout 300 "$O/ebtrace" mem record -o "$TMP/program.ctf" -- "$EXE" shares 1000000 >"$TMP/truth" 2>"$TMP/err"
is "$? $("$O/ebtrace" info "$TMP/program.ctf" | sed -n 's/^  parameters *//p')" "0 periodic=ocaml" \
	"mem record records such a program in the same way" || diag "$(cat "$TMP/err")"
timeout 300 "$O/ebtrace" mem record -q -o "$TMP/none.ctf" -- "$EXE" shares 1 >"$TMP/truth" 2>"$TMP/err"
is "$? $("$O/ebtrace" mem "$TMP/none.ctf")" \
	"0 No allocation of this recording was sampled: no OCaml domain used up half of its minor heap (OCaml 5.0: all of it)." \
	"of one that allocates too little the report says how much is needed, not a rate that it does not have"
timeout 300 "$O/ebtrace" mem record --rate 1e-3 -o "$TMP/program.ctf" -- "$EXE" shares 1000 >"$TMP/truth" 2>"$TMP/err"
is "$? $(grep -c 'its dynamic linker' "$TMP/err")" "4 1" \
	"with a rate malloc is recorded, for which a library is preloaded: not into this one" || diag "$(cat "$TMP/err")"

for report in live lifetimes "diff --live $TMP/out.ctf"; do
	# shellcheck disable=SC2086
	"$O/ebtrace" mem $report "$TMP/out.ctf" >"$TMP/out" 2>"$TMP/err"
	is "$? $(cat "$TMP/out" "$TMP/err")" \
		"1 ebtrace: mem ${report%% *} needs to know when objects are collected; periodic samples of a program that was not prepared do not have that" \
		"mem ${report%%/*} refuses with the reason"
done
"$O/ebtrace" mem timeline -o "$TMP/timeline.svg" "$TMP/out.ctf"
is "$? $(grep -c 'Allocated per second' "$TMP/timeline.svg") $(grep -c 'Alive' "$TMP/timeline.svg")" "0 1 0" \
	"mem timeline draws the rate of allocation alone"
rate=$(grep -o 'class="rate" d="[^"]*' "$TMP/timeline.svg")
is "$(grep -c V <<<"$rate") $(grep -cE 'V-|nan|inf' <<<"$rate")" "1 0" "inside of its frame"
"$O/ebtrace" mem timeline "$TMP/out.ctf" | grep -q '^Allocated in a second, [1-9]'
ok $? "as it does in text"
"$O/ebtrace" mem hotspots "$TMP/out.ctf" | grep -q '^Sampling is periodic'
ok $? "the report says how the samples were taken"
done_testing
