#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Names that others have chosen, with every byte in them: no control character reaches the terminal,
# and JSON has the members that it has otherwise.
. tests/lib.sh
need_command jq
need_command xz
attack=$O/tests/attack/escape_names
need_file "$attack"

# plain FILE "a sentence": newlines are its only control characters, and it is UTF-8.
plain() {
	if [ -s "$1" ] && ! LC_ALL=C grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1" &&
		iconv -f UTF-8 -t UTF-8 "$1" >/dev/null 2>&1; then
		ok 0 "$2"
	else
		ok 1 "$2"
		diag "$(LC_ALL=C grep -aP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1" | cat -v | head -3)"
	fi
}
# sound FILE "a sentence": all of it is JSON without a member of the names' making.
sound() {
	jq -e -n 'all(inputs | .. | objects; has("evil") or has("x") | not)' "$1" >/dev/null
	ok $? "$2" || diag "$(head -c 300 "$1" | cat -v)"
}

"$attack" capture "$TMP/names.ebt" || ok 1 "the capture is forged"
mkdir "$TMP/rings"
"$attack" rings "$TMP/rings" || ok 1 "the ring files are forged"
everything=$("$attack" dir; echo x)
dir=$TMP/${everything%x}
mkdir "$dir"
cp "$TMP/rings/1.events" "$TMP/names.ebt" "$dir"
printf 'no ring at all, but a file of some length, so that its header can be looked at closely' >"$dir/bad.events"

count=$(jq -n '[inputs | select(.kind == "unit")] | length' <("$O/ebtrace" -f ndjson "$TMP/names.ebt"))
[ "${count:-0}" -gt 20 ]
ok $? "the capture has an event of each piece"
rings=("$TMP"/rings/*.events)
is "$("$O/ebtrace" -f ndjson "${rings[@]}" | jq -n '[inputs | select(.kind == "unit")] | length')" \
	"${#rings[@]}" "each ring has its event"
for what in "of a capture:$TMP/names.ebt" "of rings:${rings[*]}"; do
	name=${what%%:*}
	# shellcheck disable=SC2206
	files=(${what#*:})
	for command in "trace" "stat" "info"; do
		"$O/ebtrace" $command "${files[@]}" >"$TMP/out" 2>"$TMP/err"
		is $? 0 "$command $name succeeds"
		plain "$TMP/out" "$command $name writes plain text"
	done
	for command in "trace -f ndjson" "trace -f chrome" "stat --json" "info --json"; do
		# shellcheck disable=SC2086
		"$O/ebtrace" $command "${files[@]}" >"$TMP/out" 2>"$TMP/err"
		is $? 0 "$command $name succeeds"
		plain "$TMP/out" "$command $name writes plain JSON"
		sound "$TMP/out" "$command $name: the members are its own"
	done
done

# U+202E shows what follows from right to left. The sample has an event whose name ends with another letter of three bytes.
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz | LC_ALL=C perl -0777 -pe 's/caf\xc3\xa9\.\K\xe2\x98\x95/\xe2\x80\xae/g' >"$TMP/bidi.events"
"$O/ebtrace" --ocaml-version 5.3 "$TMP/bidi.events" >"$TMP/out" 2>&1
is "$(LC_ALL=C grep -c $'caf\xc3\xa9\\.[?]' "$TMP/out") $(LC_ALL=C grep -c $'\xe2\x80\xae' "$TMP/out")" "1 0" \
	"a control of the direction of text in an event's name is replaced in text"
cp "$TMP/bidi.events" "$TMP/"$'gnp\u202e.events'
"$O/ebtrace" info --ocaml-version 5.3 "$TMP/"$'gnp\u202e.events' >"$TMP/out" 2>&1
is "$? $(LC_ALL=C grep -c $'\xe2\x80\xae' "$TMP/out")" "0 0" "and in a file's name"

# The names of files.
tries=0
while read -r what args; do
	for file in 1.events names.ebt bad.events gone.events; do
		# shellcheck disable=SC2086
		"$O/ebtrace" $args "$dir/$file" >"$TMP/out" 2>&1
		[ -s "$TMP/out" ] || echo nothing >"$TMP/out"
		plain "$TMP/out" "$what of '$file' in a directory called anything"
		tries=$((tries + 1))
	done
done <<-END
	trace trace
	verbose -v
	stat stat
	info info
	JSON info --json
	markers list
END
is $tries 24 "each was tried"
for out in out.txt gone/out.txt .; do
	"$O/ebtrace" -o "$dir/$out" "$TMP/names.ebt" >"$TMP/out" 2>&1
	plain "$TMP/out" "an output in such a directory: $out"
done
"$O/ebtrace" info --json "$dir/1.events" "$dir/names.ebt" >"$TMP/out"
sound "$TMP/out" "info --json of such files: the members are its own"
"$O/ebtrace" -p "$dir" 2>"$TMP/err"
plain "$TMP/err" "an argument that is no number is shown without its control characters"

# What running processes call themselves, and where their rings lie.
mkfifo "$TMP/in"
EBTRACE_DIR=$dir "$attack" comms <"$TMP/in" >"$TMP/ready" 2>"$TMP/err" &
parent=$!
children+=("$parent")
exec 9>"$TMP/in"
wait_for grep -qs ready "$TMP/ready" || diag "$(cat "$TMP/err")"
read -ra pids <"/proc/$parent/task/$parent/children"
[ ${#pids[@]} -gt 20 ]
ok $? "a process is called like each piece"
"$O/ebtrace" list >"$TMP/out" 2>"$TMP/err"
is "$(awk '{ print $1 }' "$TMP/out" | grep -cxF "$(printf '%s\n' "${pids[@]}")")" ${#pids[@]} "list has a line for each"
plain "$TMP/out" "list writes plain text"
"$O/ebtrace" list --json >"$TMP/out" 2>"$TMP/err"
plain "$TMP/out" "list --json writes plain JSON"
sound "$TMP/out" "list --json: the members are its own"
xz -dc tests/data/ocaml-5.3.0/d-wrapped.events.xz >"$dir/999999999.events"
for option in -v -vv --json; do
	"$O/ebtrace" list $option --ring-dir "$dir" >"$TMP/out" 2>"$TMP/err"
	[ $option = --json ] || cat "$TMP/err" >>"$TMP/out" # a busy machine may leave some out, and says so
	plain "$TMP/out" "list $option of what dead processes left in such a directory"
	grep -aq stale "$TMP/out"
	ok $? "list $option shows it"
done
sound "$TMP/out" "list --json of it: the members are its own"
"$O/ebtrace" info "${pids[@]/#/-p}" >"$TMP/out" 2>&1
is $? 0 "info -p of them succeeds" || diag "$(tail -3 "$TMP/out" | cat -v)"
plain "$TMP/out" "info -p writes plain text"
"$O/ebtrace" info --json "${pids[@]/#/-p}" >"$TMP/out" 2>&1
plain "$TMP/out" "info --json -p writes plain JSON"
sound "$TMP/out" "info --json -p: the members are its own"
for command in "trace -v --mode ring -d 0.1" "stat --mode ring -d 0.1" "stat -q --json --mode ring -d 0.1"; do
	# shellcheck disable=SC2086
	"$O/ebtrace" $command "${pids[@]/#/-p}" >"$TMP/out" 2>&1
	[ -s "$TMP/out" ] && plain "$TMP/out" "$command of them writes plain text"
done
exec 9>&-

# Markers of a binary.
if "$attack" asm >"$TMP/markers.s" && cc -o "$TMP/markers" "$TMP/markers.s" 2>"$TMP/err"; then
	"$O/ebtrace" list "$TMP/markers" >"$TMP/out" 2>"$TMP/err"
	is "$? $(wc -l <"$TMP/out")" "0 $(grep -c 'asciz "stapsdt"' "$TMP/markers.s")" "list shows a marker a line"
	plain "$TMP/out" "list BINARY writes plain text"
else
	ok 1 "the binary is forged" || diag "$(cat "$TMP/err")"
fi
done_testing
