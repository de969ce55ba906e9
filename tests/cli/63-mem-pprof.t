#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Profiles for pprof, decoded by protoc with a schema of our own, against the NDJSON of the same
# traces: a sample for each backtrace, with the numbers of its allocations.
. tests/lib.sh
need_command protoc
need_command jq
need_command xz
ebt=$O/ebtrace
data=tests/data/memtrace
profile() { # FILE [WHAT]
	gzip -dc "$1" | protoc -I tests/pprof --decode=perftools.profiles.Profile \
		tests/pprof/profile.proto | perl tests/pprof/profile.pl "$2"
}
# Objects and bytes of each backtrace, of all and of those alive at the end; $2: bytes of a sample.
# Each sample of an object of N words, its header included, stands for a word of N.
expected() { # FILE BYTES
	"$ebt" -q -f ndjson "$1" | jq -r 'if .kind == "alloc" then
			[.obj, .samples, .words + if .source == "external" then 0 else 1 end, ((.stack // ["(no backtrace)"]) | map(sub(":[0-9]+-[0-9]+$"; "")) |
			join(" "))] elif .kind == "collect" then [.obj] else empty end | @tsv' |
		awk -F'\t' -v unit="$2" '
			NF == 1 { live[stack[$1]] -= share[$1]; live_samples[stack[$1]] -= samples[$1]; next }
			{ stack[$1] = $4; samples[$1] = $2; share[$1] = $2 / $3 * unit / 8 }
			{ objects[$4] += share[$1]; all[$4] += $2; live[$4] += share[$1]; live_samples[$4] += $2 }
			BEGIN { OFMT = "%.17g" }
			END { for (s in objects)
				print objects[s], all[s] * unit, live[s], live_samples[s] * unit, s }'
}
# Backtraces of the first file whose bytes are not those of the second, or whose objects differ by more
# than one: what is left of rounding goes to the next sample.
differ() {
	awk '{ n = $1; bytes = $2; live = $3; live_bytes = $4; $1 = $2 = $3 = $4 = "" }
		NR == FNR { a[$0] = n; b[$0] = bytes; c[$0] = live; d[$0] = live_bytes; next }
		!($0 in a) || b[$0] != bytes || d[$0] != live_bytes || (a[$0] - n) ^ 2 > 1 || (c[$0] - live) ^ 2 > 1 { print n, live $0 }
		{ seen++ }
		END { for (s in a) most++; if (seen != most) print seen " of " most }' "$1" "$2"
}

while read -r name bytes; do
	xz -dc "$data/$name.ctf.xz" >"$TMP/$name.ctf"
	"$ebt" mem -q -o "$TMP/$name.pb.gz" "$TMP/$name.ctf"
	profile "$TMP/$name.pb.gz" | LC_ALL=C sort >"$TMP/got"
	expected "$TMP/$name.ctf" "$bytes" | LC_ALL=C sort >"$TMP/want"
	ok $(($(wc -l <"$TMP/want") < 1)) "$name: there are backtraces"
	is "$(differ "$TMP/got" "$TMP/want")" "" \
		"$name: a profile has what each backtrace allocated, and what of it is alive"
	is "$(awk '{ n += $1 } END { print n }' "$TMP/got")" \
		"$(awk '{ n += $1 } END { printf "%.0f\n", n }' "$TMP/want")" "$name: and as many objects in all"
	is "$("$ebt" mem hotspots --json "$TMP/$name.ctf" | jq '.total.objects_estimate | round')" \
		"$(awk '{ n += $1 } END { printf "%.0f\n", n }' "$TMP/want")" "$name: as many as the report estimates"
done <<-END
	single 800
	external 800
	multidomain 8000
END
profile "$TMP/single.pb.gz" head >"$TMP/head"
grep -v '^start\|^comment' "$TMP/head" >"$TMP/got"
cat >"$TMP/want" <<-END
	type alloc_objects/count
	type alloc_space/bytes
	type inuse_objects/count
	type inuse_space/bytes
	period 800 bytes
	shown alloc_space
	program /peers/memtrace-build/_build/default/progs/mt_single.exe
END
same_file "$TMP/got" "$TMP/want" "its head names the values, the bytes of a sample and the program"
start=$("$ebt" -q -f ndjson "$TMP/single.ctf" | jq -r 'select(.kind == "header").start_ns')
grep -q "^start $start for [1-9]" "$TMP/head"
ok $? "and the time of the recording" || diag "$(<"$TMP/head")"
"$ebt" mem -f pprof "$TMP/single.ctf" | cmp -s - "$TMP/single.pb.gz"
ok $? "-f pprof writes the same to standard output"
"$ebt" mem -q -o "$TMP/single.pprof" "$TMP/single.ctf"
cmp -s "$TMP/single.pprof" "$TMP/single.pb.gz"
ok $? "so does a file with the suffix .pprof"

"$ebt" mem -q -o "$TMP/both.pb.gz" "$TMP/single.ctf" "$TMP/multidomain.ctf"
is "$(profile "$TMP/both.pb.gz" head | grep '^period')" "period 0 bytes" "at different rates a sample has no number of bytes"

"$ebt" -q "$TMP/single.ctf" -e promote -e '!promote' -o "$TMP/empty.ctf" 2>/dev/null
"$ebt" mem -f pprof "$TMP/empty.ctf" >"$TMP/empty.pb.gz"
is "$(profile "$TMP/empty.pb.gz")" "" "a recording without allocations has an empty profile"
(head -c 98312 "$TMP/single.ctf"; printf garbage; tail -c +98313 "$TMP/single.ctf") >"$TMP/bad.ctf"
"$ebt" mem -q -f pprof "$TMP/bad.ctf" >"$TMP/bad.pb.gz"
profile "$TMP/bad.pb.gz" head | grep -q '^comment Not all is counted'
ok $? "a profile of a damaged trace says so"
done_testing
