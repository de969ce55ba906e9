#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Outputs of a limited size: the recording ends there, or goes on in another file that stands alone.
. tests/lib.sh
need_command jq
need_command protoc
need_command xz

# Room for all events in one of the rings: how the threads share the work is not the same in every run.
EBTRACE_LOG_WSIZE=18 EBTRACE_START=1 EBTRACE_PRESERVE=1 EBTRACE_DIR=$TMP \
	"$O/tests/prog/minigc" -q -t 2 -n 20000 -u -c /dev/null
ring=$(echo "$TMP"/*.events)
"$O/ebtrace" -q -f ndjson "$ring" >"$TMP/want"
dir=$TMP/dir
afresh() { rm -rf "$dir" && mkdir "$dir"; }
files() { (cd "$dir" && echo *); }
# The files of a rotation, oldest first.
in_order() {
	(cd "$dir" && printf '%s\n' run.*."$1" | sort -t. -k2,2nr | sed "s|^|$dir/|")
	echo "$dir/run.$1"
}
events_of() { grep '"ts"' "$@"; }
events_of "$TMP/want" >"$TMP/want.events"

afresh
"$O/ebtrace" "$ring" -o "$dir/run.ndjson" --max-size 300K --rotate 100 2>"$TMP/err"
is $? 0 "a rotation ends as any run does"
[ "$(in_order ndjson | wc -l)" -ge 5 ]
ok $? "it makes several files"
is "$(in_order ndjson | xargs -n1 head -1 | jq -r .kind | sort | uniq -c | xargs)" "$(in_order ndjson | wc -l) header" \
	"each has its header"
is "$(in_order ndjson | xargs cat | jq -s '[.[] | select(.kind == "summary").events] | add')" \
	"$(jq 'select(.kind == "summary").events' "$TMP/want")" "and a summary of its own: they add up"
in_order ndjson | xargs cat | events_of >"$TMP/got"
same_file "$TMP/got" "$TMP/want.events" "together they hold each event once, in order: the number 1 is the one before the last"
is "$(find "$dir" -type f -size +310k | wc -l) $(find "$dir" -type f -size -290k | wc -l)" "0 1" "all but the last have the size"
grep -q "^ebtrace: $(jq 'select(.kind == "summary").events' "$TMP/want") events, 0 lost" "$TMP/err"
ok $? "the line at the end counts the whole run"

afresh
"$O/ebtrace" -q "$ring" -o "$dir/run.ndjson" --max-size 300K --rotate 3
is "$(files)" "run.1.ndjson run.2.ndjson run.ndjson" "--rotate 3 keeps three"
cat "$dir"/run.{2,1}.ndjson "$dir/run.ndjson" | events_of >"$TMP/got"
tail -n "$(wc -l <"$TMP/got")" "$TMP/want.events" >"$TMP/tail"
same_file "$TMP/got" "$TMP/tail" "the newest"
cp "$dir/run.ndjson" "$TMP/last"
chmod 600 "$dir/run.ndjson"
"$O/ebtrace" -q "$ring" -e 'no such' -o "$dir/run.ndjson" --max-size 300K --rotate 3
same_file "$dir/run.1.ndjson" "$TMP/last" "a second run moves the file of the first on"
"$O/ebtrace" -q "$TMP/none" -o "$dir/run.ndjson" --max-size 300K --rotate 3 2>"$TMP/err"
same_file "$dir/run.1.ndjson" "$TMP/last" "one that is refused moves nothing"
afresh
echo old >"$dir/run.ndjson" && chmod 600 "$dir/run.ndjson"
"$O/ebtrace" -q "$ring" -o "$dir/run.ndjson" --max-size 300K --rotate 1
is "$(files) $(stat -c %a "$dir/run.ndjson")" "run.ndjson 600" "--rotate 1 keeps one, with the mode that it had"
afresh
"$O/ebtrace" -q "$ring" -f ndjson -o "$dir/run" --max-size 300K --rotate 2
is "$(files)" "run run.1" "without a suffix the number is at the end"
afresh
"$O/ebtrace" -q "$ring" -f ndjson -o "$dir/.run" --max-size 300K --rotate 2
is "$(cd "$dir" && ls -A | xargs)" ".run .run.1" "as it is where the name begins with its only dot"
afresh
ln -s "$TMP/elsewhere" "$dir/run.2.ndjson"
"$O/ebtrace" -q "$ring" -o "$dir/run.ndjson" --max-size 300K --rotate 3 2>"$TMP/err"
is "$? $(files)" "1 run.2.ndjson" "the last of the names is looked at before anything is written"

afresh
xz -dc tests/data/ocaml-5.3.0/d-wrapped.events.xz >"$TMP/1.lossy"
"$O/ebtrace" --ocaml-version 5.3 --fail-on-loss "$TMP/1.lossy" -o "$dir/run.ndjson" --max-size 8K --rotate 100 2>"$TMP/err"
is "$? $(tail -1 "$dir/run.ndjson" | jq -c '[.lost_words]')" "3 [0]" "a loss in an earlier file is no loss of the last, but of the run"
"$O/ebtrace" --ocaml-version 5.3 "$TMP/1.lossy" -o "$TMP/lossy.ndjson" 2>"$TMP/err.one"
is "$(sed 's/: [^:]*$//' "$TMP/err")" "$(sed 's/: [^:]*$//' "$TMP/err.one")" "whose totals are those of a run into one file"

# Every format: each file is one of its own.
for format in text ebt chrome perfetto fxt; do
	afresh
	"$O/ebtrace" -q "$ring" -f $format >"$TMP/whole"
	"$O/ebtrace" -q "$ring" -f $format -o "$dir/run.out" --max-size $(($(wc -c <"$TMP/whole") / 5)) --rotate 100
	n=$(in_order out | wc -l)
	[ $? = 0 ] && [ "$n" -ge 2 ]
	ok $? "$format: several files"
	bad=0
	for file in $(in_order out); do
		case $format in
		text) tail -1 "$file" | grep -q '^# [0-9]* events' ;;
		ebt) "$O/ebtrace" info --json "$file" | jq -e '.whole and .damaged == 0' >/dev/null ;;
		chrome) jq -e 'length > 1' "$file" >/dev/null ;;
		perfetto) protoc -I tests/perfetto --decode=perfetto.protos.Trace tests/perfetto/trace.proto \
			<"$file" 2>&1 | grep -q '"summary"' ;;
		fxt) "$O/tests/prog/fxt_dump" "$file" | grep -q summary ;;
		esac || bad=$((bad + 1))
	done
	is $bad 0 "$format: each is whole"
	[ $format = ebt ] || continue
	# shellcheck disable=SC2046
	"$O/ebtrace" -f ndjson $(in_order out) | sed 1d >"$TMP/got"
	sed 1d "$TMP/want" >"$TMP/rest"
	same_file "$TMP/got" "$TMP/rest" "captures: read together they yield the events of a single one, phases across them too"
done

# The limit alone ends the recording.
afresh
"$O/ebtrace" "$ring" -o "$dir/run.ndjson" --max-size 300K 2>"$TMP/err"
is "$? $(files)" "0 run.ndjson" "--max-size alone: one file, status 0"
grep -q "'$dir/run.ndjson' has its --max-size" "$TMP/err"
ok $? "and a line that names why it ends there"
is "$(tail -1 "$dir/run.ndjson" | jq -r .kind) $(find "$dir" -type f -size +310k | wc -l)" "summary 0" "it is whole, of that size"
events_of "$dir/run.ndjson" >"$TMP/got"
head -n "$(wc -l <"$TMP/got")" "$TMP/want.events" >"$TMP/head"
same_file "$TMP/got" "$TMP/head" "and holds the first events"
"$O/ebtrace" -q "$ring" -f ndjson --max-size 300K >"$TMP/got"
is "$? $(tail -1 "$TMP/got" | jq -r .kind)" "0 summary" "standard output has a limit, too"
timeout 300 "$O/ebtrace" -q --mode ring -o "$dir/run.ndjson" --max-size 64K -- sh -c \
	"'$O/tests/prog/minigc' -q -t 1 -n 20000 -r 50000 -c '$TMP/counts'; echo went on >'$TMP/after'; exit 9"
is "$? $(cat "$TMP/after") $(wc -l <"$TMP/counts" | grep -c '^0')" "9 went on 0" "the program goes on to its end, and its status is ours"

# While a program runs.
afresh
timeout 300 "$O/ebtrace" -q --mode ring -o "$dir/run.ebt" --max-size 20K --rotate 50 -- \
	"$O/tests/prog/minigc" -q -t 2 -n 60000 -r 100000 -u -c "$TMP/counts"
n=$(in_order ebt | wc -l)
[ "$n" -ge 3 ]
ok $? "a live run makes several captures" || diag "$n"
# shellcheck disable=SC2046
"$O/ebtrace" -q -f ndjson $(in_order ebt) >"$TMP/got"
is "$(jq -r 'select(.kind == "summary") | .events + .lost_events' "$TMP/got")" \
	"$(awk '{ n += $2 == "lifecycle" ? 1 : $3 } END { print n }' "$TMP/counts")" "which together hold every event"

# Refusals.
usage() { # "what" MESSAGE ARGS...
	local before
	before=$(ls -l "$dir")
	"$O/ebtrace" "${@:3}" >"$TMP/out" 2>"$TMP/err"
	is "$? $(grep -c -e "$2" "$TMP/err") $(ls -l "$dir")" "2 1 $before" "$1 is refused, with a line" || diag "$(cat "$TMP/err")"
}
afresh
usage "--rotate without a size" "rotate N needs --max-size SIZE and -o FILE" "$ring" -o "$dir/run.ebt" --rotate 2
usage "--rotate of standard output" "rotate N needs --max-size SIZE and -o FILE" "$ring" --max-size 1M --rotate 2
usage "a size below 4K" "must be 4K or more" "$ring" --max-size 1 -o "$dir/run.ebt"
usage "a report of a limited size" "--max-size is an option of trace, not of stat" stat "$ring" --max-size 1M
mkfifo "$dir/fifo.ebt"
cat "$dir/fifo.ebt" >/dev/null &
usage "--rotate into a FIFO" "is written in place" "$ring" --max-size 1M --rotate 2 -o "$dir/fifo.ebt"
# kept KIND COMMAND...: run.2.ebt is what COMMAND makes of it.
kept() {
	afresh
	echo old >"$dir/run.ebt"
	echo theirs >"$TMP/theirs"
	"${@:2}"
	"$O/ebtrace" "$ring" -o "$dir/run.ebt" --max-size 1M --rotate 3 2>"$TMP/err"
	is "$? $(cat "$dir/run.ebt") $(grep -c "cannot keep an older file as '$dir/run.2.ebt'" "$TMP/err")" "1 old 1" \
		"$1 in the place of an older file is refused before anything is moved" || diag "$(cat "$TMP/err")"
}
theirs() { cp "$TMP/theirs" "$dir/run.2.ebt" && chown 65534 "$dir/run.2.ebt"; }
kept "a directory" mkdir "$dir/run.2.ebt"
kept "a link" ln -s "$TMP/theirs" "$dir/run.2.ebt"
is "$(readlink "$dir/run.2.ebt") $(cat "$TMP/theirs")" "$TMP/theirs theirs" "and the link is left alone"
[ "$(id -u)" != 0 ] || kept "a file of another user" theirs

# What another process does beside a run, between two of its files: the input stops there. A link is never followed.
mkdir -m 700 "$TMP/long"
EBTRACE_LOG_WSIZE=20 EBTRACE_START=1 EBTRACE_PRESERVE=1 EBTRACE_DIR=$TMP/long \
	"$O/tests/prog/minigc" -q -t 2 -n 60000 -u -c /dev/null
"$O/ebtrace" -q "$TMP/long/"*.events -o "$TMP/long.ebt"
rm -rf "$TMP/long"
half=$(($(wc -c <"$TMP/long.ebt") / 2))
mkfifo "$TMP/input"
# meddled KEEP FILE COMMAND...: COMMAND is run as soon as FILE is there. Sets status.
meddled() {
	local input run
	afresh
	echo theirs >"$TMP/theirs"
	timeout 300 "$O/ebtrace" -q "$TMP/input" -o "$dir/run.ndjson" --max-size 1M --rotate "$1" 2>"$TMP/err" &
	run=$!
	exec {input}>"$TMP/input"
	head -c "$half" "$TMP/long.ebt" >&"$input"
	wait_for test -e "$dir/$2" || kill "$run"
	"${@:3}"
	tail -c +$((half + 1)) "$TMP/long.ebt" >&"$input" 2>"$TMP/tail.err"
	exec {input}>&-
	wait "$run"
	status=$?
}
refused() { # FILE MESSAGE "sentence"
	is "$status $(grep -c "$2" "$TMP/err") $(cat "$TMP/theirs")" "1 1 theirs" "$3" || diag "$(cat "$TMP/err")" "$(ls -l "$dir")"
	is "$(readlink "$dir/$1")" "$TMP/theirs" "and the link stays as it is"
}
meddled 3 run.1.ndjson ln -s "$TMP/theirs" "$dir/run.2.ndjson"
refused run.2.ndjson "cannot keep an older file as '$dir/run.2.ndjson'" "a link that appears where an older file would go is not replaced"
meddled 3 run.1.ndjson ln -sf "$TMP/theirs" "$dir/run.ndjson"
refused run.ndjson "cannot keep an older file as '$dir/run.1.ndjson'" "a link that replaces the last file is not moved"
meddled 1 run.ndjson ln -sf "$TMP/theirs" "$dir/run.ndjson"
refused run.ndjson "'$dir/run.ndjson' was written by another process meanwhile and is kept" "nor replaced where one file is kept"
if [ "$(id -u)" = 0 ]; then
	meddled 3 run.1.ndjson chown 65534 "$dir/run.1.ndjson"
	is "$status $(grep -c "cannot keep an older file as '$dir/run.2.ndjson'" "$TMP/err") $(stat -c %u "$dir/run.1.ndjson")" "1 1 65534" \
		"an older file that is another user's by now is not moved"
fi
renewed() { echo new >"$TMP/new" && mv "$TMP/new" "$dir/run.ndjson"; }
meddled 100 run.1.ndjson renewed
is "$status $(grep -lx new "$dir"/run.*.ndjson | wc -l)" "0 1" "a file that replaces the last one is kept as an older one"
done_testing
