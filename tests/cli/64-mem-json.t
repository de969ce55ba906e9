#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The reports of mem as JSON: they follow the schema that is printed, have the numbers of memtrace's
# own tools, and a comparison of two traces has those of the reports of each.
. tests/lib.sh
need_command jq
need_command xz
ebt=$O/ebtrace
data=tests/data/memtrace
for name in single multidomain; do
	xz -dc "$data/$name.ctf.xz" >"$TMP/$name.ctf"
done
"$ebt" -q "$TMP/single.ctf" -e promote -e '!promote' -o "$TMP/empty.ctf" 2>/dev/null
head -c 150000 "$TMP/single.ctf" >"$TMP/part.ctf"
"$ebt" mem --json-schema >"$TMP/schema"
valid() { # FILE...
	jq -r --slurpfile s "$TMP/schema" \
		'$s[0] as $schema | '"$(grep -v '^#' tests/stat-schema.jq)" "$@" 2>&1
}
for report in summary hotspots live lifetimes timeline; do
	for name in single multidomain empty; do
		"$ebt" mem "$report" --no-wrappers --json "$TMP/$name.ctf" >"$TMP/$report.$name" 2>"$TMP/log"
		is "$(jq -r .report "$TMP/$report.$name")$(valid "$TMP/$report.$name")" "$report" \
			"$report of $name follows the schema"
	done
done

# One a line, of all up to then: the last is the report.
for report in summary hotspots live lifetimes; do
	"$ebt" mem "$report" --no-wrappers --json --interval 2ms "$TMP/single.ctf" >"$TMP/lines" 2>"$TMP/log"
	is "$(valid "$TMP/lines")$(tail -1 "$TMP/lines" | jq -cS 'del(.at_ns)')" "$(jq -cS . "$TMP/$report.single")" "the last $report of several is the report"
	is "$(jq -cs 'length > 3 and (. as $all | all(range(1; length); $all[.].at_ns > $all[. - 1].at_ns and $all[.].elapsed_ns >= $all[. - 1].elapsed_ns and
		(($all[.].totals.allocated // $all[.].total).bytes >= ($all[. - 1].totals.allocated // $all[. - 1].total).bytes or $all[.].report == "live")))' "$TMP/lines")" true \
		"and each has all up to its moment" || diag "$(jq -c '[.at_ns, .elapsed_ns, .total.bytes]' "$TMP/lines")"
done
"$ebt" mem live --no-wrappers --json --at 20ms "$TMP/single.ctf" >"$TMP/at"
is "$("$ebt" mem live --no-wrappers --json --interval 10ms "$TMP/single.ctf" | jq -c 'select(.elapsed_ns == 20000000) | [.total, .sites]')" \
	"$(jq -c '[.total, .sites]' "$TMP/at")" "what is alive at a moment is that of --at"
for options in "timeline --json" "diff --json $TMP/part.ctf" hotspots "flame -f svg" "live --json --filter lifetime>1ms"; do
	# shellcheck disable=SC2086
	"$ebt" mem $options --interval 10ms "$TMP/single.ctf" >"$TMP/got" 2>"$TMP/log"
	is "$? $(wc -c <"$TMP/got") $(wc -l <"$TMP/log")" "2 0 1" "mem ${options%%/*} --interval is refused"
done

# 800 bytes for a sample.
"$ebt" -q -f ndjson "$TMP/single.ctf" >"$TMP/events"
samples=$(jq -s 'map(select(.kind == "alloc").samples) | add' "$TMP/events")
is "$(jq -c '[.total.bytes, .total.samples, .programs[0].rate]' "$TMP/hotspots.single")" \
	"[$((samples * 800)),$samples,0.01]" "hotspots has all samples and their bytes"
is "$(jq -c '[([.sites[].bytes] | add) == .total.bytes,
	([.sites[] | ([.positions[].bytes] | add) == .bytes] | all),
	([.sites[] | .low < .bytes and .bytes < .high] | all)]' "$TMP/hotspots.single")" \
	"[true,true,true]" "its sites add up to the total, and lie in their intervals"
jq -r '.sites[] | "\(.samples) \(.symbol)"' "$TMP/hotspots.single" | sort >"$TMP/got"
jq -r 'select(.kind == "alloc") | "\(.samples) \(.stack[-1] | sub("@.*"; ""))"' "$TMP/events" |
	awk '{ n[$2] += $1 } END { for (s in n) print n[s], s }' | sort >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "they have the samples of the innermost functions"
live=$(command jq -s '(reduce (.[] | select(.kind == "collect").obj) as $obj ({}; .["\($obj)"] = 1)) as $gone | map(select(.kind == "alloc" and
	((.obj | tostring) as $obj | $gone | has($obj) | not)).samples) | add' "$TMP/events")
is "$(jq -c '[.total.samples, ([.sites[].samples] | add)]' "$TMP/live.single")" "[$live,$live]" \
	"live has the samples of what was not collected"
is "$(jq '.totals.live.bytes' "$TMP/summary.single")" $((live * 800)) "so has the summary"
is "$(jq '[.sites[] | .live_bytes + .collected_bytes] | add' "$TMP/lifetimes.single")" \
	$((samples * 800)) "lifetimes divides all into what is alive and what was collected"
is "$(jq '[.sites[] | ([.lifetimes[].bytes] | add // 0) == .collected_bytes] | all' \
	"$TMP/lifetimes.single")" true "whose bytes are those of the buckets"
is "$("$ebt" mem hotspots --json --top 2 "$TMP/single.ctf" | jq -c '[.sites, .functions | length]')" \
	"[2,2]" "--top limits the lists"
"$ebt" mem lifetimes -f pprof "$TMP/single.ctf" >"$TMP/got" 2>"$TMP/log"
is $? 2 "a report refuses a format that it has not"
"$ebt" mem live --no-wrappers -o "$TMP/live.json" "$TMP/single.ctf"
same_file "$TMP/live.json" "$TMP/live.single" "a file with the suffix .json has the same"

# Over time. The events of a microsecond are in one bucket, as its bounds are whole microseconds.
timeline() { "$ebt" mem timeline --no-wrappers -q --json "$@" "$TMP/single.ctf"; }
is "$(jq -c '[([.points[].allocated_bytes] | add), (.points[-1].bytes == .live.bytes), .live.bytes,
	([.points[].max_bytes] | max == $peak[0].totals.peak_bytes), .peak.bytes == $peak[0].totals.peak_bytes,
	([.points[] | .low <= .bytes and .bytes <= .high] | all), (.bands | length)]' \
	--slurpfile peak "$TMP/summary.single" "$TMP/timeline.single")" \
	"[$((samples * 800)),true,$((live * 800)),true,true,true,8]" "the timeline has all bytes, those alive at the end and the peak"
is "$(jq -c '. as $r | [range(.points | length) as $i |
	([.bands[].live_bytes[$i]] | add) + .other.live_bytes[$i] == .points[$i].bytes] | all' "$TMP/timeline.single")" \
	true "its bands add up to what is alive"
is "$(jq '([.points[].promoted_bytes] | add) == $all[0].totals.promoted.bytes' \
	--slurpfile all "$TMP/summary.single" "$TMP/timeline.single")" true "what is promoted is that of the summary"
# What is alive behind each bucket, by site, of objects whose lifetime is in a range.
truth() { # LEAST MOST
	jq -r 'select(.obj != null) | [.kind, .ts, .obj, .samples // 0, ((.stack // ["?"])[-1] | sub("@.*"; ""))] | @tsv' \
		"$TMP/events" | awk -F'\t' -v least="$1" -v most="$2" -v begin="$begin" -v width="$width" -v n="$points" '
		# As numbers here are doubles, to whole microseconds.
		function us(ns) { return int(ns / 1000 + 0.5) * 1000 }
		function bucket(ts) { return int(us(ts - begin) / width) }
		$1 == "alloc" { from[$3] = $2; samples[$3] = $4; site[$3] = $5; to[$3] = ""; at[++count] = $3 }
		$1 == "collect" { to[$3] = $2 }
		{ end = $2 }
		END {
			for (i = 1; i <= count; i++) {
				k = at[i]
				age = us((to[k] == "" ? end : to[k]) - from[k])
				if (age < least || age > most)
					continue
				change[site[k], bucket(from[k])] += samples[k]
				if (to[k] != "")
					change[site[k], bucket(to[k])] -= samples[k]
				sites[site[k]]
			}
			for (s in sites)
				for (i = live = 0; i < n; i++)
					print s, i, (live += change[s, i]) * 800
		}' | LC_ALL=C sort
}
shown() { jq -r '.bands[] | .symbol as $s | .live_bytes | to_entries[] | "\($s) \(.key) \(.value)"' | LC_ALL=C sort; }
begin=$(jq -s '.[0].start_ns' "$TMP/events")
while read -r least most filter; do
	timeline --top 1000 ${filter:+--filter "$filter"} >"$TMP/got.json"
	width=$(jq .bucket_ns "$TMP/got.json") points=$(jq '.points | length' "$TMP/got.json")
	shown <"$TMP/got.json" >"$TMP/got"
	# A site of which nothing was alive at the end of any bucket has no band.
	truth "$least" "$most" | awk 'NR == FNR { of[$1]; next } $1 in of || $3 > 0' "$TMP/got" - >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "each site's live bytes are those of the events${filter:+, with $filter}"
done <<-END
	0 1e18
	1e6 1e18 lifetime>=1ms
	0 500000 lifetime<=500us
END
is "$(timeline --filter 'lifetime>=1ms,site=*Map.Make*' | jq -c '[([.points[].allocated_bytes] | add), .live.bytes]')" \
	"$("$ebt" mem live --no-wrappers -q --json --filter 'lifetime>=1ms,site=*Map.Make*' "$TMP/single.ctf" | jq -c --argjson all "$(
	"$ebt" mem hotspots --no-wrappers -q --json --filter 'lifetime>=1ms,site=*Map.Make*' "$TMP/single.ctf" | jq .total.bytes)" '[$all, .total.bytes]')" \
	"filters by lifetime and site are those of the other reports"
"$ebt" mem timeline --filter 'lifetime>1ms' - <"$TMP/single.ctf" >"$TMP/got" 2>"$TMP/log"
is "$? $(wc -l <"$TMP/log") $(grep -c 'needs a FILE, not a pipe or a process$' "$TMP/log")" "2 1 1" \
	"a pipe, which cannot be read twice, has no timeline by lifetime"
"$ebt" mem timeline --filter 'lifetime>1ms' -p 1 >"$TMP/got" 2>"$TMP/log"
is "$? $(wc -l <"$TMP/log")" "2 1" "nor has a process"
is "$("$ebt" mem --json --filter 'lifetime>1ms' - <"$TMP/single.ctf" | jq -c '.totals | has("peak_bytes", "peak_ns"), .peak_bytes')" \
	"$(printf 'true\ntrue\nnull')" "of a pipe the summary by lifetime has no peak"
"$ebt" mem timeline --filter 'lifetime>1ms' "$TMP/none.ctf" >"$TMP/got" 2>"$TMP/log"
is "$? $(wc -l <"$TMP/log")" "1 1" "a file that is missing is an error"
"$ebt" mem timeline --filter 'lifetime>1ms' "$TMP/part.ctf" >"$TMP/got" 2>"$TMP/log"
is "$? $(wc -l <"$TMP/log")" "0 1" "of two runs over a damaged file one reports it" || diag "$(<"$TMP/log")"

# Two traces. The reports of each have the same sites.
"$ebt" mem hotspots --no-wrappers --json "$TMP/part.ctf" >"$TMP/hotspots.part" 2>"$TMP/log"
diff_of() { "$ebt" mem diff --no-wrappers -q "$@" 2>"$TMP/log"; }
expected() { # factors of both
	jq -S -n --slurpfile a "$TMP/hotspots.part" --slurpfile b "$TMP/hotspots.single" "$@" '
		def by_site: INDEX(.[]; .symbol + "@" + .file);
		($a[0].sites | by_site) as $a | ($b[0].sites | by_site) as $b |
		[$a + $b | keys[] | . as $k | {key: $k, before: (($a[$k].bytes // 0) * $fa),
			after: (($b[$k].bytes // 0) * $fb)}] |
		map(.change = .after - .before | map_values(if type == "number" then . * 1000 | round else . end))'
}
got() {
	jq -S '[.sites[] | {key: (.symbol + "@" + .file), before: .before.value, after: .after.value,
		change: .change.value}] | sort_by(.key) |
		map(map_values(if type == "number" then . * 1000 | round else . end))'
}
factor() { jq "$2" "$TMP/hotspots.$1"; }
for per in run time alloc; do
	case $per in
	run) what=1 ;;
	time) what='1e9 / .elapsed_ns' ;;
	alloc) what='100 / .total.bytes' ;;
	esac
	diff_of --json --per $per "$TMP/part.ctf" "$TMP/single.ctf" >"$TMP/diff.$per"
	is "$(valid "$TMP/diff.$per")" "" "diff --per $per follows the schema"
	got <"$TMP/diff.$per" >"$TMP/got"
	expected --argjson fa "$(factor part "$what")" --argjson fb "$(factor single "$what")" >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "its values are those of the reports"
	is "$(jq '[.sites[].change.value | fabs] | . == (sort | reverse)' "$TMP/diff.$per")" true \
		"the largest changes are first"
	is "$(jq '[.sites[], .total | .noise == (.change.low != null and .change.low <= 0 and .change.high >= 0) and
		(.change.low // .change.value) <= .change.value and .change.value <= .change.high] | all' "$TMP/diff.$per")" \
		true "noise is what may be no change"
	is "$(jq '[.sites[], .total | .change.low == null and .before.high == null] | all' "$TMP/diff.$per")" true \
		"how much more was allocated before the trace was cut is not known"
done
is "$(diff_of --json "$TMP/single.ctf" "$TMP/multidomain.ctf" | jq -c '[.sites[] | select(.in_before | not) |
	[.symbol, .before.value, .before.high > 0, .ratio]]')" '[["Dune__exe__Mt_multi.emit.(fun)",0,true,null]]' \
	"a site that is new was 0 before, or not sampled"
# The interval of a difference, from those of the reports.
is "$(jq -n --slurpfile d "$TMP/diff.run" --slurpfile a "$TMP/hotspots.part" --slurpfile b "$TMP/hotspots.single" '
	def site($r): $r[0].sites[] | select(.symbol == "Stdlib__Map.Make.bal");
	site($d) as $d | site($a) as $a | site($b) as $b |
	($d.change.value + ((($b.high - $b.bytes) | . * .) + (($a.bytes - $a.low) | . * .) | sqrt) - $d.change.high |
	fabs) < 0.01')" true "its interval is made of theirs"
is "$(diff_of --json "$TMP/single.ctf" "$TMP/single.ctf" | jq -c '[([.sites[].noise] | all), .total.ratio, .total.noise]')" \
	"[true,1,true]" "a trace and itself differ in nothing"
diff_of "$TMP/single.ctf" "$TMP/multidomain.ctf" >"$TMP/got"
ok $(($(grep -cE '^before: .*mt_single.exe, 8.3 MiB|^after : mt_multi, 237.8 MiB|new +Dune__exe__Mt_multi.emit|gone +Stdlib__Map.Make.bal \(map.ml\)$|more sites with changes' "$TMP/got") != 5)) \
	"as text it names both programs, what is new and what is gone" || diag "$(<"$TMP/got")"
diff_of --per alloc --top 1 "$TMP/single.ctf" "$TMP/multidomain.ctf" | grep -q ' +100.00 % .* new .*emit'
ok $? "with values in per cent of what was allocated"
# What is alive, against the report of each.
for name in part single; do
	"$ebt" mem live --no-wrappers --json "$TMP/$name.ctf" >"$TMP/hotspots.$name" 2>"$TMP/log"
done
diff_of --live --json "$TMP/part.ctf" "$TMP/single.ctf" >"$TMP/diff.live"
is "$(jq -r .of "$TMP/diff.live")$(valid "$TMP/diff.live")" live "diff --live follows the schema"
got <"$TMP/diff.live" >"$TMP/got"
expected --argjson fa 1 --argjson fb 1 >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "its values are those of the reports of what is alive"
diff_of --live "$TMP/part.ctf" "$TMP/single.ctf" >"$TMP/got"
is "$(grep -cE '^(before|after ): .*mt_single.exe, [0-9.]+ KiB alive \(.*\) at ' "$TMP/got")" 2 \
	"as text it names what was alive, and when" || diag "$(<"$TMP/got")"
diff_of --live --at 10ms --json "$TMP/single.ctf" "$TMP/single.ctf" >"$TMP/diff.live"
is "$(jq .before.bytes "$TMP/diff.live")" "$("$ebt" mem live --json --at 10ms "$TMP/single.ctf" | jq .total.bytes)" \
	"--at compares what was alive then"
is "$(diff_of --live --per alloc --json "$TMP/part.ctf" "$TMP/single.ctf" | jq '[.sites[].after.value] | add | round')" 100 \
	"--per alloc compares shares of it"
for options in "diff --live --per time $TMP/part.ctf" "live --live" "--live"; do
	# shellcheck disable=SC2086
	"$ebt" mem $options "$TMP/single.ctf" >"$TMP/got" 2>"$TMP/log"
	is "$? $(wc -l <"$TMP/log")" "2 1" "mem ${options%%/*} is refused"
done
diff_of "$TMP/single.ctf" >"$TMP/got"
is $? 2 "one file cannot be compared"
"$ebt" mem hotspots --per time "$TMP/single.ctf" >"$TMP/got" 2>"$TMP/log"
is $? 2 "other reports have no --per"
diff_of "$TMP/none.ctf" "$TMP/single.ctf" >"$TMP/got"
is $? 1 "a first file that is missing is an error"
done_testing
