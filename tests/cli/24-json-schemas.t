#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What info and list print as JSON follows the schemas that they print.
. tests/lib.sh
need_command jq
need_command xz
ebt=$O/ebtrace
export XDG_RUNTIME_DIR=$TMP/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR
# wrong SCHEMA FILE...: what in the values of the files the schema does not allow
wrong() {
	local schema=$1
	shift
	jq -r --slurpfile s "$schema" '$s[0] as $schema | '"$(grep -v '^#' tests/stat-schema.jq)" "$@" 2>&1
}
# follows COMMAND FORMS NAME: all of $TMP/COMMAND.lines; FORMS: how many of each one of oneOf there must be
follows() {
	is "$(wrong "$TMP/$1.schema" "$TMP/$1.lines" | head -5)" "" "$3"
	is "$(jq -r "$2" "$TMP/$1.lines" | sort | uniq -c | awk '{ print $2 }' | xargs)" "$4" "$5"
	# A key that is named otherwise, or is missing, in each of them.
	local lines
	lines=$(wc -l <"$TMP/$1.lines")
	jq -c 'to_entries | (last | .key) as $k | map(if .key == $k then .key += "_" else . end) | from_entries' \
		"$TMP/$1.lines" >"$TMP/renamed"
	is "$(wrong "$TMP/$1.schema" "$TMP/renamed" | grep -c ': 0 of oneOf match')" "$lines" "$1: another key is none of the schema's"
	command jq -c 'del(.[keys_unsorted[0]])' "$TMP/$1.lines" >"$TMP/less"
	is "$(wrong "$TMP/$1.schema" "$TMP/less" | grep -c ': 0 of oneOf match')" "$lines" "$1: none may be missing"
}

"$ebt" info --json-schema >"$TMP/info.schema"
is $? 0 "info --json-schema succeeds"
is "$(jq -c '[.oneOf[]."$ref" | ltrimstr("#/$defs/")]' "$TMP/info.schema")" '["ring","capture","memtrace","pagetrace"]' \
	"it describes each kind of input"
: >"$TMP/info.lines"
# info_of FILE [OPTION...]
info_of() {
	"$ebt" info -q --json "$@" >>"$TMP/info.lines" 2>"$TMP/err" || diag "info $*: $(cat "$TMP/err")"
}
for version in $RELEASES; do
	for file in "tests/data/ocaml-$version"/*.events.xz; do
		xz -dc "$file" >"$TMP/in.events"
		info_of --ocaml-version "$version" "$TMP/in.events"
	done
done
xz -dc tests/data/ocaml-5.3.0/b-domains4.events.xz >"$TMP/in.events"
"$ebt" -q --ocaml-version 5.3 -o "$TMP/ring.ebt" "$TMP/in.events"
"$ebt" -q --ocaml-version 5.3 --trigger 'minor>1us' --max 1 -o "$TMP/trigger.ebt" "$TMP/in.events" 2>"$TMP/err"
for file in tests/data/memtrace/*.ctf.xz; do
	xz -dc "$file" >"$TMP/in.ctf"
	info_of "$TMP/in.ctf"
done
"$ebt" -q -o "$TMP/alloc.ebt" "$TMP/in.ctf"
for file in tests/data/pagetrace/*.pt.xz; do
	xz -dc "$file" >"$TMP/in.pt"
	[ ! -s "$TMP/in.pt" ] || info_of "$TMP/in.pt"
done
for file in "$TMP"/*.ebt tests/data/capture/*.ebt; do
	info_of "$file"
done
follows info .format "what info --json prints of rings, captures and traces follows it" \
	"capture memtrace pagetrace ring" "these are all kinds"
jq -se 'any(.[]; .trigger) and any(.[]; .processes[0]?.sample_rate)' "$TMP/info.lines" >/dev/null
ok $? "among them a capture of a trigger, and one of allocations"
jq -c 'select(.format == "ring") | .domains[0].phantom = 1' "$TMP/info.lines" | head -1 >"$TMP/renamed"
is "$(wrong "$TMP/info.schema" "$TMP/renamed")" ": 0 of oneOf match" "a kind that there is not is noticed"

"$ebt" list --json-schema >"$TMP/list.schema"
is $? 0 "list --json-schema succeeds"
mkdir "$TMP/left"
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/left/999999999.events"
echo none >"$TMP/left/999999998.events"
mkfifo "$TMP/in"
EBTRACE_START=1 EBTRACE_DIR=$TMP/left "$O/tests/prog/minigc" -q -w -n 1 -c /dev/null <"$TMP/in" >/dev/null 2>&1 &
program=$!
children+=("$program")
exec 9>"$TMP/in"
wait_for test -e "$TMP/left/$program.events"
"$ebt" list -q --json --ring-dir "$TMP/left" --prune >"$TMP/list.lines" 2>"$TMP/err"
"$ebt" list -q --json --events >>"$TMP/list.lines"
"$ebt" list "$O/tests/prog/minigc" >"$TMP/markers" && "$ebt" list --json "$O/tests/prog/minigc" | tee -a "$TMP/list.lines" |
	jq -r '.markers[] | "\(.provider):\(.name) \(.args)"' >"$TMP/got"
sed 's/  at 0x[0-9a-f]*\(, semaphore\)\?  / /' "$TMP/markers" >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "list --json BINARY has its markers"
exec 9>&-
follows list 'if .pid then "process" elif .stale then "stale" elif .kept then "kept" elif .file then "binary" else "event" end' \
	"what list --json prints follows it" "binary event kept process stale" \
	"processes, stale files, those that are kept, events, and files"
done_testing
