# SPDX-License-Identifier: BSD-2-Clause
# Runs the checks of a page in a browser; sourced behind tests/lib.sh.

# checked_in_browser PAGE [REGEX]: its <pre id="tap"> (browser/lib.js) as results of this test. It ends
# with "all checks ran". What matches REGEX on the console is no error.
checked_in_browser() {
	mkdir "$TMP/chromium"
	timeout 120 chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-breakpad \
		--disable-background-networking --disable-component-update --proxy-server=127.0.0.1:9 \
		--user-data-dir="$TMP/chromium" --allow-file-access-from-files --enable-logging=stderr \
		--virtual-time-budget=20000 --dump-dom "file://$1" >"$TMP/dom" 2>"$TMP/browser.log"
	is $? 0 "the browser shows the pictures"
	sed -n '/<pre id="tap">/,/<\/pre>/p' "$TMP/dom" | sed 's/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >"$TMP/tap"
	while IFS= read -r line; do
		case $line in
		"ok - all checks ran") ;;
		"ok - "*) ok 0 "${line#ok - }" ;;
		"not ok - "*) ok 1 "${line#not ok - }" ;;
		"#"*) echo "$line" ;;
		esac
	done <"$TMP/tap"
	is "$(grep -c '^ok - all checks ran$' "$TMP/tap")" 1 "every check ran"
	grep ':CONSOLE' "$TMP/browser.log" | grep -vE "${2:-^$}" >"$TMP/console"
	is "$(wc -l <"$TMP/console")" 0 "without an error of a script" || diag "$(<"$TMP/console")"
}
