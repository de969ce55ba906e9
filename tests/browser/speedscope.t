#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Chrome's format in speedscope: it imports traces of rings that were overwritten or end in the
# middle of a phase, and of runs with stacks and counts, without a warning, and has every phase.
# speedscope is kept in $EBTRACE_SPEEDSCOPE, else /var/cache/ebtrace/speedscope.
. tests/lib.sh
. tests/browser.sh
need_command jq
need_command xz
need_command chromium
version=1.25.0
cache=${EBTRACE_SPEEDSCOPE:-/var/cache/ebtrace/speedscope}/$version
if [ ! -e "$cache/package/dist/release/index.html" ]; then
	need_command npm
	mkdir -p "$TMP/npm" "$cache"
	(cd "$TMP/npm" && timeout 600 npm pack --silent "speedscope@$version" && tar -xzf speedscope-*.tgz) \
		>"$TMP/log" 2>&1 || { diag "$(<"$TMP/log")"; skip_all "npm has no speedscope $version"; }
	# Only a whole package gets its name.
	cp -r "$TMP/npm/package" "$cache/package.$$" && mv -T "$cache/package.$$" "$cache/package"
fi

# add NAME FILE [OPTION...]: a trace of this file, and the frames that speedscope should have of it.
traces=()
add() {
	local name=$1
	"$O/ebtrace" -q -o "$TMP/$name.json" "${@:3}" "$2" && base64 -w0 "$TMP/$name.json" >"$TMP/$name.base64"
	"$O/ebtrace" -q -f ndjson "${@:3}" "$2" | jq -sc '[.[] | select(.kind == "begin") | .name +
		(if .stack then " " + ({stack: (.stack | reverse)} | tojson) else "" end)] | unique' >"$TMP/$name.frames"
	traces+=("$name")
}
for file in tests/data/ocaml-5.3.0/*.events.xz; do
	name=$(basename "$file" .events.xz)
	xz -dc "$file" >"$TMP/$name.events"
	add "$name" "$TMP/$name.events" --ocaml-version 5.3
done
add minigc-stacks tests/data/capture/minigc-stacks.ebt
if [ "$(id -u)" = 0 ]; then
	"$O/ebtrace" -q --mode probes --stack --blame -o "$TMP/blame.ebt" -- \
		"$O/tests/prog/minigc" -q -t 2 -n 2000 -c /dev/null
	is $? 0 "a run with stacks and intervals off CPU"
	add blame "$TMP/blame.ebt"
fi
for name in "${traces[@]}"; do
	printf '{"name":"%s","frames":%s,"base64":"%s"},\n' "$name" "$(<"$TMP/$name.frames")" "$(<"$TMP/$name.base64")"
done >"$TMP/traces"

cat >"$TMP/page.js" <<END
document.body.insertAdjacentHTML('beforeend', '<pre id="tap"></pre>');
$(cat tests/browser/lib.js tests/browser/speedscope.js)
(async () => {
	try {
		await check_imports([$(<"$TMP/traces")]);
	} catch (e) { tap.ok(false, 'the checks run: ' + e.stack); }
	tap.ok(true, 'all checks ran');
})();
END
checked_in_browser "$cache/package/dist/release/index.html#localProfilePath=$TMP/page.js" \
	'"speedscope v|"import: |WebGL'
done_testing
