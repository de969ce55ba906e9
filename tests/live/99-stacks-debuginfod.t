#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Stacks of a stripped program that runs, by the debug file of a server: events wait for it, and no
# longer than a server may take.
. tests/lib.sh
need_root
need_command jq
need_command debuginfod
need_command python3

chmod 755 "$TMP"
unset XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH http_proxy HTTP_PROXY ALL_PROXY all_proxy
export HOME=$TMP/home
mkdir "$HOME" "$TMP/debug"
objcopy --only-keep-debug "$O/tests/prog/nested" "$TMP/debug/nested.debug"
install -m 755 "$O/tests/prog/nested" "$TMP"
strip "$TMP/nested"
id=$(readelf -n "$TMP/nested" | sed -n 's/.*Build ID: //p')

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
debuginfod -F -p "$port" -d "$TMP/index" "$TMP/debug" >"$TMP/log" 2>&1 &
children+=($!)
for ((i = 0; i < 300; i++)); do
	python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/buildid/$id/debuginfo')" \
		2>/dev/null && break
	sleep 0.1
done
python3 -c '
import socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(64)
with open(sys.argv[1], "w") as f: print(s.getsockname()[1], file=f)
connections = []
while True:
    connections.append(s.accept())
    open(sys.argv[1] + ".asked", "w").close()' "$TMP/silent" &
children+=($!)
until [ -s "$TMP/silent" ]; do sleep 0.05; done

# run URLS ARGS...: ebtrace with nested, 3 functions deeper and 2 rounds; its lines in printed.
run() {
	feed | DEBUGINFOD_URLS=$1 timeout 300 "$O/ebtrace" "${@:2}" -- "$TMP/nested" 3 2 \
		>"$TMP/printed" 2>"$TMP/err"
}
functions() {
	jq -r 'select(.kind == "begin" and .domain == 0) | .stack // [] | reverse[] |
		select(contains("nested.c:")) | sub("@.*nested\\.c:"; " ") | sub(":.*"; "")' "$1"
}

run "http://127.0.0.1:$port" --stack=begin -o "$TMP/x.ndjson"
is "$?" 0 "a stripped program is traced" || diag "$(<"$TMP/err")"
functions "$TMP/x.ndjson" >"$TMP/got"
cat "$TMP/printed" "$TMP/printed" >"$TMP/wanted" # of two rounds
same_file "$TMP/got" "$TMP/wanted" "the begins have the stacks that it has printed, by function and line"
is "$(find "$HOME" -mindepth 1)" "" "no file is written"

begins=$(jq -r 'select(.kind == "begin")' "$TMP/x.ndjson" | grep -c '"begin"')
run "http://127.0.0.1:$(<"$TMP/silent")" --stack=begin -o "$TMP/x.ndjson"
is "$? $(jq -r 'select(.kind == "begin")' "$TMP/x.ndjson" | grep -c '"begin"')" "0 $begins" \
	"with a silent server every event is there"
is "$(jq -r 'select(.kind == "begin") | .stack[-1]' "$TMP/x.ndjson" | grep -cv '^nested+0x')" 0 "with offsets"
is "$(grep -c 'does not answer in time' "$TMP/err")" 1 "and a line says so"

rm -f "$TMP/silent.asked"
mkfifo "$TMP/feed"
"$TMP/nested" 3 2 <"$TMP/feed" >/dev/null &
traced=$!
children+=("$traced")
exec 9>"$TMP/feed"
DEBUGINFOD_URLS="http://127.0.0.1:$(<"$TMP/silent")" "$O/ebtrace" -v --stack=begin -o "$TMP/y.ndjson" \
	-p $traced 2>"$TMP/err" 9>&- &
pid=$!
wait_for grep -q 'attached to [1-9]' "$TMP/err"
echo >&9
until [ -e "$TMP/silent.asked" ]; do sleep 0.05; done
kill -INT $pid
timeout 8 tail --pid=$pid -f /dev/null
ok $? "a signal ends the run while a server is silent"
is "$(jq -r 'select(.kind == "begin") | .stack[-1]' "$TMP/y.ndjson" | grep -c '^nested+0x' | sed 's/^[1-9].*/some/')" some \
	"with the events so far" || diag "$(<"$TMP/err")"
done_testing
