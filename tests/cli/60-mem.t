#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The reports of mem on memtrace traces, against what memtrace's own tools print of them.
. tests/lib.sh
need_command xz
ebt=$O/ebtrace
data=tests/data/memtrace
for path in $data/*.ctf.xz; do
	xz -dc "$path" >"$TMP/$(basename "$path" .xz)"
done
mem() { "$ebt" mem "$@" 2>"$TMP/log"; }

# Each caller's line with its site's: memtrace prints callers of equal numbers in any order.
with_site() { awk '/ at /{ site = $0 } { print / via /? site $0 : $0 }' | sort; }
for name in single longbt external fork multidomain wrongpid; do
	mem hotspots --no-wrappers --top 100000 "$TMP/$name.ctf" | tests/mem-hotspots.sh >"$TMP/got"
	xz -dc "$data/$name.hotspots.xz" | grep -v '^skipping' >"$TMP/want"
	grep ' at ' "$TMP/got" >"$TMP/got.sites"
	grep ' at ' "$TMP/want" >"$TMP/want.sites"
	same_file "$TMP/got.sites" "$TMP/want.sites" \
		"$name: hotspots names the sites of memtrace's own tool, in its order, with its percentages"
	with_site <"$TMP/got" >"$TMP/got.callers"
	with_site <"$TMP/want" >"$TMP/want.callers"
	same_file "$TMP/got.callers" "$TMP/want.callers" "$name: and its totals and callers"
done
mem hotspots "$TMP/single.ctf" >"$TMP/want"
cat "$TMP/single.ctf" | mem hotspots - >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "a trace is read from a pipe"
"$ebt" -q -o "$TMP/copy.ebt" "$TMP/single.ctf"
mem hotspots "$TMP/copy.ebt" >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "a capture of a trace has the same report"
mem hotspots -o "$TMP/got" "$TMP/single.ctf"
same_file "$TMP/got" "$TMP/want" "-o names the file of the report"
is "$(mem hotspots --top 2 "$TMP/single.ctf" | grep -c ' (.*:.*)$')" 2 "--top limits the sites"

# Sampled at 1 of 8 words; the samples of one allocation are 2^40.
mem hotspots "$TMP/synth.ctf" >"$TMP/got"
is $? 0 "a trace with large numbers has a report"
grep -q '64.0 TiB allocated (64.0 TiB to 64.0 TiB)' "$TMP/got"
ok $? "it adds them up" || diag "$(head -3 "$TMP/got")"

# What is alive, against the events of memtrace's dump.
alive() { # NAME MICROSECONDS
	xz -dc "$data/$1.dump.xz" | awk -v t="$2" '$1 + 0 <= t { n += ($3 ~ /^alloc/) - ($3 == "collect") } END { print n }'
}
for name in single external fork multidomain synth; do
	for at in 500 5000 100000000; do
		is "$(mem live --at ${at}us "$TMP/$name.ctf" | sed -n 's/.* in \([0-9]*\) sampled objects at .*/\1/p')" \
			"$(alive $name $at)" "$name: live has as many objects as are alive after $at us"
	done
done
mem live "$TMP/external.ctf" >"$TMP/got"
grep -q '^0 B alive (0 B to 2.9 KiB) in 0 sampled objects' "$TMP/got" &&
	grep -q '^ *0 B  at all other sites$' "$TMP/got"
ok $? "where nothing is alive all sites are at 0" || diag "$(cat "$TMP/got")"
is "$(mem live --no-wrappers --top 1 "$TMP/single.ctf" | awk '/at all other sites/ { print $(NF - 4) }')" 32 \
	"objects at sites that are not listed are in one line"

# Lifetimes.
mem lifetimes --no-wrappers --top 1 "$TMP/single.ctf" >"$TMP/got"
grep -q 'promoted 0.9 %, alive 0.0 % (0 B), collected 100.0 %' "$TMP/got" &&
	grep -q '1.049 ms to 2.097 ms *35.0 %  ##############$' "$TMP/got"
ok $? "lifetimes has a histogram, and what was promoted" || diag "$(cat "$TMP/got")"
is "$(mem lifetimes --no-wrappers --filter lifetime'<'1048us --top 1 "$TMP/single.ctf" | grep -c ' to .*%')" 4 \
	"a filter by lifetime leaves the buckets below"

mem lifetimes --top 1 "$TMP/stepped.ctf" >"$TMP/got"
is "$(grep -cE ' [0-9]+ ns to ' "$TMP/got") $(grep -cE '^ *0 ns to 1.024 us +88[.]9 %' "$TMP/got")" "1 1" \
	"below a microsecond, which is the clock's step, there is one bucket" || diag "$(cat "$TMP/got")"
is "$(mem lifetimes --json --top 1 "$TMP/stepped.ctf" | grep -o '"least_ns":0,"below_ns":[0-9]*')" \
	'"least_ns":0,"below_ns":1024' "also as JSON"
# Filters, against the same dump.
objects() { sed -n '1s/.*: \([0-9]*\) objects* that pass[es]* the filter .*/\1/p'; }
is "$(mem --filter 'function=*Map.Make.add,file=*map.ml' "$TMP/single.ctf" | objects)" \
	"$(xz -dc $data/single.dump.xz | grep ' alloc' | grep -c 'Map.Make.add@')" "a filter by function and file"
is "$(mem --filter 'domain=2' "$TMP/multidomain.ctf" | objects)" \
	"$(xz -dc $data/multidomain.dump.xz | grep ' alloc' | grep -c ' dom=2 ')" "a filter by domain"
is "$(mem --filter 'size>=2K' --filter 'size<8K' "$TMP/external.ctf" | objects)" \
	"$(xz -dc $data/external.dump.xz | grep ' alloc' | sed 's/.* len=\([0-9]*\) .*/\1/' | awk '$1 * 8 >= 2048 && $1 * 8 < 8192' | wc -l)" \
	"two filters by size: both hold"
words=$(xz -dc $data/external.dump.xz | sed -n '/ alloc/s/.* len=\([0-9]*\) .*/\1/p' | sort -n | uniq -c | awk '$1 > 1 && $2 > 100 { print $2; exit }')
for op in = '<' '<=' '>' '>='; do
	is "$(mem --filter "size$op$((8 * words))" "$TMP/external.ctf" | objects)" \
		"$(xz -dc $data/external.dump.xz | sed -n '/ alloc/s/.* len=\([0-9]*\) .*/\1/p' | awk "\$1 ${op/#=/==} $words" | wc -l)" \
		"size$op: objects of just this size"
done
is "$(mem hotspots --filter 'site=nothing' "$TMP/single.ctf")" "No allocation passes the filter." \
	"a filter that nothing passes is reported"
refused() { # CONDITION WHY
	mem --filter "$1" "$TMP/single.ctf" >"$TMP/got"
	[ $? = 2 ] && [ "$(wc -l <"$TMP/log")" = 1 ] && grep -qF -- "$2" "$TMP/log"
	ok $? "--filter $1 is refused: $2" || diag "$(cat "$TMP/log")"
}
refused 'colour=red' "'colour=red' begins with none of function"
refused 'file=*.ml,size>big' "'big' is not a size"
refused 'lifetime=1s' "lifetime takes one of < <= > >= ; not '=1s'"
refused 'function' "function takes one of = != ; not ''"
refused 'site=' "'site=' has no value"
refused 'domain=-1' "'-1' is not a number of a domain"

mem --no-wrappers "$TMP/single.ctf" >"$TMP/got"
is "$(grep -cE '^  (allocated +8.3 MiB|alive +31.2 KiB|peak +1.5 MiB)|^(Allocated at|Alive at|Churn)' "$TMP/got")" 6 \
	"without a report there is a summary"
[ "$(wc -l <"$TMP/got")" -le 30 ]
ok $? "of one screen"

rows=$(sed -n '/^Allocated at:/,$p' "$TMP/got" | grep -c ' %  ')
is "$rows $(sed -n '/^Allocated at:/,$p' "$TMP/got" | grep -cE '^ +[0-9.]+ [A-Z]?i?B +[0-9.]+ [A-Z]?i?B to [0-9.]+ [A-Z]?i?B +[0-9.]+ %  ')" "15 15" \
	"each site of it has the interval of its bytes" || diag "$(cat "$TMP/got")"
is "$(sed -n '/^Alive at/,/^Churn/p' "$TMP/got" | grep -cE 'Buffer.create .* \[only 8 samples\]$') $(grep -c ' \[only ' "$TMP/got")" "1 5" \
	"those that fewer than 30 samples carry say so" || diag "$(cat "$TMP/got")"

# Loss and damage.
(head -c 98312 "$TMP/single.ctf"; printf garbage; tail -c +98313 "$TMP/single.ctf") >"$TMP/bad.ctf"
mem hotspots "$TMP/bad.ctf" >"$TMP/got"
is $? 0 "a damaged trace has a report"
grep -q '^Not all is counted: [1-9][0-9]* places of the input are damaged' "$TMP/got"
ok $? "which says so" || diag "$(head -3 "$TMP/got")"
while read -r before after status; do
	mem diff --fail-on-loss "$TMP/$before.ctf" "$TMP/$after.ctf" >"$TMP/got"
	is $? "$status" "diff --fail-on-loss of $before and $after ends with status $status"
done <<'EOF'
bad single 3
single bad 3
single single 0
EOF
# Without two of its packets, most codes are of buckets that were not read.
perl -0777 -pe 'my @p; push @p, $-[0] while /\xc1\x1f\xfc\xc1/g;
	substr($_, $p[3], 4) = "xxxx"; substr($_, $p[4], 4) = "xxxx"' <"$TMP/single.ctf" >"$TMP/hole.ctf"
for report in summary hotspots live lifetimes timeline 'hotspots --json' 'live --json' "diff $TMP/single.ctf"; do
	# shellcheck disable=SC2086
	mem $report "$TMP/hole.ctf" >"$TMP/got"
	grep -qE '(^|[ "])[?]([ "]|$)' "$TMP/got" && ! grep -q '\$0' "$TMP/got"
	ok $? "${report%% /*}: a function that damage hides is ?" || diag "$(cat "$TMP/got")"
done
"$ebt" -q "$TMP/single.ctf" -e promote -e '!promote' -o "$TMP/empty.ctf" 2>/dev/null
is "$(mem "$TMP/empty.ctf")" "No allocation of this recording was sampled, as 1 word in 100 is. mem record with a higher --rate samples more, with --children also those of child processes." \
	"of a recording without allocations one line names the rate, --rate and --children"
mem "$TMP/none.ctf" >"$TMP/got"
is $? 1 "a file that is missing is an error"

# Where the name of a report stands: options may be before it (27-as-typed.t), a FILE may not.
for words in "mem single.ctf hotspots" "mem -q single.ctf record" "pages single.ctf heat"; do
	name=${words##* }
	# shellcheck disable=SC2086
	(cd "$TMP" && "$OLDPWD/$ebt" $words) >"$TMP/got" 2>&1
	is "$? $(cat "$TMP/got")" "2 ebtrace: the name of a report comes first: ebtrace ${words%% *} $name [OPTIONS] FILE; there is no file '$name'" \
		"$words: the name of a report comes first"
done
cp "$TMP/single.ctf" "$TMP/live"
(cd "$TMP" && "$OLDPWD/$ebt" mem -q live) >"$TMP/got" 2>&1
is $? 0 "a file may have the name of a report" || diag "$(cat "$TMP/got")"
done_testing
