#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The pictures of pages: the formats, and the page that zooms in a browser, used as by a mouse.
. tests/lib.sh
. tests/browser.sh
need_command xz
need_command xmllint
need_command chromium
ebt=$O/ebtrace
xz -dc tests/data/pagetrace/gcbig-p2-go122.pt.xz >"$TMP/gc.pt"
for format in png svg html; do
	"$ebt" pages -o "$TMP/map.$format" "$TMP/gc.pt" 2>"$TMP/log"
	ok $? "pages -o map.$format" || diag "$(<"$TMP/log")"
	"$ebt" pages map -f $format "$TMP/gc.pt" 2>/dev/null | cmp -s - "$TMP/map.$format"
	ok $? "pages map -f $format writes the same"
done
is "$(head -c 8 "$TMP/map.png" | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a "map.png is a PNG"
is "$(od -An -tu1 -j16 -N8 "$TMP/map.png" | xargs)" "0 0 5 0 0 0 3 92" "of 1280 x 860 pixels"
xmllint --noout "$TMP/map.svg" 2>"$TMP/log"
ok $? "map.svg is well-formed XML"
grep -q '<title>Pages of the heap over time</title>' "$TMP/map.svg" && ! grep -q '<svg [^>]* height=' "$TMP/map.svg" &&
	grep -q '<svg [^>]* width="100%"[^>]* viewBox="0 0 1280 860"' "$TMP/map.svg"
ok $? "map.svg has a title, and is as large as the window allows" || diag "$(head -2 "$TMP/map.svg")"
is "$(grep -o '<use .* y="72"/>' "$TMP/map.svg" | sed 's/.* x="//; s/".*//' | sort -C -g && echo apart)" apart \
	"no text of its legend begins before the one to the left of it ends"
is "$(grep -oE '(href|src)="[^"#d]' "$TMP/map.svg" "$TMP/map.html" | wc -l)" 0 "they refer to no other file"

# Its columns of time, in characters: the heap grows to its peak of 240 MiB at 284 of 661 ms.
"$ebt" pages map "$TMP/gc.pt" >"$TMP/map" 2>/dev/null
is "$(grep -c '0xc0[0-9a-f]* |' "$TMP/map")" 16 "the map in characters has rows of addresses"
grep -q '^ *0xc000000000 |#' "$TMP/map"
ok $? "the lowest one is allocated from the begin on"
is "$(grep '0xc00f' "$TMP/map" | grep -o '|.*' | grep -bo '[#+.]' | head -1 | cut -d: -f1)" 27 \
	"the highest one when the heap is at its peak, in column 26 of 60"

is "$(grep -o '<title>[^<]*' "$TMP/map.html") $(grep -o '"mappings":[^]]*]' "$TMP/map.html")" \
	'<title>Pages of the heap over time "mappings":[]' "so does map.html; a heap has no mappings"

# Two stretches of addresses, 127 TiB apart: a P, a time, and a page of each.
perl -e 'print pack("Q<*", 4, 1000 << 3, 0xc000000000 | 1 << 3 | 1, 0x7f0000000000 | 1 << 3 | 1)' |
	"$ebt" pages -f html - >"$TMP/regions.html"
ok $? "a trace from a pipe"
is "$(grep -o '"regions":[^]]*]' "$TMP/regions.html")" \
	'"regions":[{"addr":"0xc000000000","row":0},{"addr":"0x7f0000000000","row":512}]' \
	"addresses that the heap never used are left out"
"$ebt" pages -f html "$TMP/gc.pt" --from 100ms --to 200ms >"$TMP/part.html"
is "$(grep -o '"ns":[0-9]*' "$TMP/part.html" | cut -c6-8)" 100 "--from and --to: the map of that time"
"$ebt" pages -f webp "$TMP/gc.pt" 2>"$TMP/log"
is "$? $(cat "$TMP/log")" "2 ebtrace: pages summary has no format 'webp'; it has: text, json, png, svg, html, ebt, pagetrace" \
	"a format that there is not is refused"
"$ebt" pages -f png "$TMP/gc.pt" >/dev/full 2>"$TMP/log"
is "$?" 1 "a full disk is an error"

echo none >"$TMP/libcairo.so.2"
without() { LD_LIBRARY_PATH=$TMP "$ebt" pages -f "$1" "$TMP/gc.pt" >"$TMP/got" 2>"$TMP/log"; }
for form in png svg; do
	without $form
	is "$? $(wc -c <"$TMP/got") $(grep -c 'pictures need libcairo: apt-get install libcairo2' "$TMP/log")" "1 0 1" \
		"without libcairo there is no $form, and a line says what to install"
done
for form in html text; do
	without $form
	is "$? $(wc -l <"$TMP/log")" "0 0" "$form needs none"
done

# One start of the browser: it takes seconds.
[ "${O##*/}" = asan ] && done_testing
cat >"$TMP/page.html" <<END
<!DOCTYPE html><meta charset="utf-8"><pre id="tap"></pre>
<iframe id="pages" src="map.html" width="1200" height="800"></iframe>
<script>$(cat tests/browser/lib.js tests/browser/pages.js)
addEventListener('load', async () => {
	try {
		await check_pages();
	} catch (e) { tap.ok(false, 'the checks run: ' + e.stack); }
	tap.ok(true, 'all checks ran');
});
</script>
END
checked_in_browser "$TMP/page.html"
done_testing
