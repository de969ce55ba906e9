#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Inputs that are not there yet, or come slowly, and a signal while they are read: whatever the input
# is, the first one ends the run with its output finished.
. tests/lib.sh
need_command jq
need_command xz

xz -dc tests/data/ocaml-5.3.0/b-domains4.events.xz >"$TMP/ring.events"
"$O/ebtrace" -q --ocaml-version 5.3 -o "$TMP/whole.ebt" "$TMP/ring.events"
for kind in ring capture; do
	[ $kind = ring ] && file=$TMP/ring.events || file=$TMP/whole.ebt
	"$O/ebtrace" --ocaml-version 5.3 -f ndjson "$file" >"$TMP/$kind.want"
done
size=$(stat -c %s "$TMP/whole.ebt")
events() { grep -vcE '"kind":"(header|lost|summary)"' "$1"; }
all=$(events "$TMP/capture.want")
mkfifo "$TMP/fifo"
has_events() { [ "$(events "$TMP/out")" -ge "$1" ]; }
is_whole() { tail -1 "$1" | jq -e '.kind == "summary"' >/dev/null 2>&1; }

# reader ARGS...: in the background, reading the FIFO.
reader() {
	"$O/ebtrace" --ocaml-version 5.3 "$@" "$TMP/fifo" >"$TMP/out" 2>"$TMP/err" &
	reader=$!
	children+=($reader)
}

for kind in ring capture; do
	[ $kind = ring ] && file=$TMP/ring.events || file=$TMP/whole.ebt
	reader -f ndjson
	wait_for rests $reader
	ok $? "$kind: a FIFO that nobody writes to yet is waited for" || diag "$(cat "$TMP/err")"
	cat "$file" >"$TMP/fifo"
	wait $reader
	is $? 0 "$kind: and read when its writer has come"
	same_file "$TMP/out" "$TMP/$kind.want" "$kind: as a file is"

	reader -f ndjson
	{
		head -c 5 "$file"
		sleep 0.1
		tail -c +6 "$file" | head -c 4000
		sleep 0.1
		tail -c +4006 "$file"
	} >"$TMP/fifo"
	wait $reader
	same_file "$TMP/out" "$TMP/$kind.want" "$kind: a writer may stop anywhere, also in the first bytes"
done

reader -f ndjson
wait_for rests $reader
kill -INT $reader
wait $reader
is $? 0 "Ctrl-C ends the wait for a writer"
is_whole "$TMP/out"
ok $? "with an output that is finished" || diag "$(cat "$TMP/out" "$TMP/err")"
"$O/ebtrace" "$TMP/fifo" >"$TMP/out" 2>"$TMP/err" &
reader=$!
cat "$TMP/ring.events" >"$TMP/fifo.half"
head -c 5000 "$TMP/ring.events" >"$TMP/fifo"
wait $reader
is $? 1 "half a ring file is an error" || diag "$(cat "$TMP/err")"

# All but the end of the capture: events come while the writer still has the pipe.
reader -f ndjson
exec 8>"$TMP/fifo"
head -c $((size - 8)) "$TMP/whole.ebt" >&8
wait_for has_events "$all"
ok $? "the events of a slow pipe are emitted as they come"
kill -INT $reader
tail -c 8 "$TMP/whole.ebt" >&8
exec 8>&-
wait $reader
is $? 0 "Ctrl-C: a writer that ends, too, has time for it"
same_file "$TMP/out" "$TMP/capture.want" "and what it still had to write is there"

reader -o "$TMP/cut.ndjson" -f ndjson
exec 8>"$TMP/fifo"
head -c $((size - 8)) "$TMP/whole.ebt" >&8
wait_for [ -e "$TMP/cut.ndjson.part" ]
wait_for rests $reader
kill -INT $reader
wait $reader
is $? 0 "Ctrl-C: one that does not end is not waited for"
exec 8>&-
is "$(events "$TMP/cut.ndjson")" "$all" "the file has all that came"
is_whole "$TMP/cut.ndjson"
ok $? "and its end"
"$O/ebtrace" stat "$TMP/fifo" >"$TMP/out" 2>"$TMP/err" &
reader=$!
exec 8>"$TMP/fifo"
head -c $((size - 8)) "$TMP/whole.ebt" >&8
wait_for rests $reader
kill -INT $reader
wait $reader
is $? 0 "stat: Ctrl-C ends a pipe"
exec 8>&-
grep -q minor "$TMP/out"
ok $? "stat: with its report" || diag "$(cat "$TMP/out" "$TMP/err")"

# A file whose output nobody takes: it is not read to its end when the signal comes.
EBTRACE_START=1 EBTRACE_LOG_WSIZE=20 EBTRACE_PRESERVE=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q \
	-t 1 -n 150000 -c /dev/null
ring=$(ls "$TMP"/[0-9]*.events)
convert() {
	"$O/ebtrace" -f ndjson -o "$TMP/fifo" "$ring" 2>"$TMP/err" &
	reader=$!
	children+=($reader)
	exec 8<"$TMP/fifo"
	wait_for rests $reader
}
convert
kill -STOP $reader # until its output is read
kill -INT $reader
cat <&8 >"$TMP/out" &
copy=$!
exec 8<&-
kill -CONT $reader
wait $reader
status=$?
wait $copy
is "$status $(grep -c 'ended by a signal' "$TMP/err")" "1 1" "a file that was cut short is an error, and reported" ||
	diag "$(cat "$TMP/err")"
is_whole "$TMP/out" && [ "$(tail -1 "$TMP/out" | jq .events)" = "$(events "$TMP/out")" ]
ok $? "its output is finished" || diag "$(tail -2 "$TMP/out")"
convert
kill -INT $reader
wait $reader
is "$? $(grep -c 'fifo took nothing more after the signal: [1-9][0-9]* bytes' "$TMP/err")" "1 1" \
	"a Ctrl-C ends ebtrace also while nobody reads its output" || diag "$(cat "$TMP/err")"
exec 8<&-
done_testing
