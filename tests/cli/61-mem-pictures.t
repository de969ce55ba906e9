#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The pictures of mem: as text against what memtrace's own tool prints, and in a browser, used as by
# a mouse and a keyboard.
. tests/lib.sh
. tests/browser.sh
need_command xz
need_command xmllint
need_command chromium
ebt=$O/ebtrace
data=tests/data/memtrace
for name in single longbt deepbt bare external fork multidomain wrongpid synth; do
	xz -dc "$data/$name.ctf.xz" >"$TMP/$name.ctf"
	"$ebt" mem flame -f folded "$TMP/$name.ctf" >"$TMP/$name.folded" 2>"$TMP/$name.log"
	[ $name = synth ] && continue # at which memtrace's tool fails
	xz -dc "$data/$name.flamegraph.xz" | grep -v '^skipping' >"$TMP/want"
	same_file "$TMP/$name.folded" "$TMP/want" "$name: folded stacks are those of memtrace's own tool"
done
left_out=$(sed -n 's/^ebtrace: \([0-9]*\) samples are left out.*/\1/p' "$TMP/single.log")
total=$(($(awk '{ n += $NF } END { print n }' "$TMP/single.folded") + left_out))
is "$total" 10866 "with the samples that are left out, as the message counts them, none is missing"

mem() { "$ebt" mem "$@" 2>/dev/null; }
mem flame -o "$TMP/flame.svg" "$TMP/single.ctf"
# Strings of the same length, so that the trace stays whole.
perl -0pe 's|Stdlib__List\.init|</svg>]]><a b="\x27&|g; s|Stdlib\.string_of_int|\x01\x1b\xff\x80lib.string_of_int|g;
	s|Dune__exe__Mt_single\.big|"/><script>ran=1</scrip|g' <"$TMP/single.ctf" >"$TMP/hostile.ctf"
mem flame -f svg "$TMP/hostile.ctf" >"$TMP/hostile.svg"
mem flame -f svg "$TMP/synth.ctf" >"$TMP/synth.svg"
mem timeline -o "$TMP/timeline.svg" "$TMP/single.ctf"
for name in flame hostile synth timeline; do
	xmllint --noout "$TMP/$name.svg" 2>"$TMP/log"
	ok $? "$name.svg is well-formed XML"
done
is "$(cat "$TMP/flame.svg" "$TMP/timeline.svg" | grep -cE '(href|src|@import|url\()')" 0 "they refer to no other file"
mem flame -f svg "$TMP/single.ctf" | cmp -s - "$TMP/flame.svg"
ok $? "two pictures of one trace are the same"

# Live bytes as the dump has them: a sample is 100 words of 8 bytes.
xz -dc "$data/single.dump.xz" | awk '
	$3 ~ /^alloc/ { n[$2] = $4; live += $4; if (live > peak) peak = live }
	$3 == "collect" { live -= n[$2] }
	END { printf "peak %.1f MiB alive %.1f KiB max %d\n", peak * 800 / 1048576, live * 800 / 1024, peak * 800 }' >"$TMP/want"
mem timeline --no-wrappers "$TMP/single.ctf" >"$TMP/timeline"
{
	sed -n 's/^peak \([0-9.]* MiB\) (.*) at .*, \([0-9.]* KiB\) (.*) alive at the end$/peak \1 alive \2 max/p' "$TMP/timeline" | tr '\n' ' '
	sed -n '/<metadata/,/<.metadata/p' "$TMP/timeline.svg" | sed '1d; $d' | sort -n | tail -1 | cut -d' ' -f1
} >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "the timeline's peak and its end are those of the trace's events"
ok $(($(awk 'length > 80' "$TMP/timeline" | tail -n +3 | wc -l))) "its chart has 80 columns"
# The strips of two sites: nothing, and all of their most.
is "$(grep -cE '^ *[0-9.]+ KiB \|[ .:=+*#-]*#' "$TMP/timeline")" 9 "under it the sites have a strip each, and all others one"
is "$(mem timeline --no-wrappers --top 2 "$TMP/single.ctf" | tail -4 | sed -n "2p; 4p")" \
	"$(printf '            %s\n' 'Dune__exe__Mt_single.build (progs/mt_single.ml)' 'all other sites')" \
	"--top limits them"
is "$(grep -c '^ *[0-9.]* [KM]iB +' "$TMP/timeline")" 6 "with labels of bytes"
"$ebt" mem timeline -f folded "$TMP/single.ctf" 2>"$TMP/log"
is "$? $(cat "$TMP/log")" "2 ebtrace: mem timeline has no format 'folded'; it has: text, svg, json" \
	"a format that a report does not have is refused"

# One start for all pictures: it takes seconds.
[ "${O##*/}" = asan ] && done_testing
share() { awk -v total="$total" -v re="$1" '$0 ~ re { n += $NF } END { print n / total }' "$TMP/single.folded"; }
cat >"$TMP/page.html" <<END
<!DOCTYPE html><meta charset="utf-8"><pre id="tap"></pre>
<iframe id="flame" src="flame.svg" width="1100" height="400"></iframe>
<iframe id="timeline" src="timeline.svg" width="700" height="560"></iframe>
<iframe id="hostile" src="hostile.svg" width="1100" height="400"></iframe>
<script>$(cat tests/browser/*.js)
addEventListener('load', () => {
	try {
		check_flame({map: $(share 'Map[.]Make'), churn: $(share '[.]churn'), fun: $(share '[.]churn[.][(]fun')});
		check_hostile();
		check_timeline();
	} catch (e) { tap.ok(false, 'the checks run: ' + e.stack); }
	tap.ok(true, 'all checks ran');
});
</script>
END
checked_in_browser "$TMP/page.html"
done_testing
