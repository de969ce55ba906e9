#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Files that hold no events that can be read: packed ones, and traces of other tools or formats. The message says what each
# one is, and what helps.
. tests/lib.sh
need_command xz
ebtrace=$PWD/$O/ebtrace
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/c.events"
cd "$TMP" || exit 1
gzip -k c.events
xz -k c.events
bzip2 -k c.events
printf '\x28\xb5\x2f\xfd\x04\x00' >c.events.zst
printf 'PERFILE2\x68\0\0\0\0\0\0\0' >perf.data
for f in pftrace fxt ndjson; do "$ebtrace" -q -o "c.$f" c.events; done
"$ebtrace" -q -f chrome -o c.json c.events
printf '<svg xmlns="http://www.w3.org/2000/svg">' >c.svg
printf '<!DOCTYPE html>\n<html>' >c.html
"$ebtrace" stat --json c.events >stat.json

# named FILE TEXT: each command that reads a FILE prints TEXT for it, alone.
named() {
	local command
	for command in trace stat mem pages info list; do
		"$ebtrace" "$command" "$1" >out 2>err
		is "$? $(cat out err)" "1 ebtrace: '$1' $2" "ebtrace $command $1: what the file is"
	done
	"$ebtrace" - <"$1" >out 2>err
	is "$? $(cat out err)" "1 ebtrace: standard input $2" "$1 on standard input: what it is"
	# shellcheck disable=SC2002
	cat "$1" | "$ebtrace" info - >out 2>err
	is "$? $(cat out err)" "1 ebtrace: standard input $2" "$1 in a pipe: what it is"
}
unread="which ebtrace writes, but does not read; a capture can be read again: -o FILE.ebt"
named c.events.gz "is a gzip file: unpack it first, with gunzip"
named c.events.xz "is an xz file: unpack it first, with unxz"
named c.events.bz2 "is a bzip2 file: unpack it first, with bunzip2"
named c.events.zst "is a zstd file: unpack it first, with unzstd"
named perf.data "is a recording of perf, which ebtrace does not read; perf script shows it"
named c.pftrace "is a Perfetto trace, $unread"
named c.fxt "is an FXT trace, $unread"
named c.ndjson "is JSON, $unread"
named c.json "is JSON, $unread"
named stat.json "is JSON, $unread"
named c.svg "is an SVG picture, $unread"
named c.html "is an HTML page, $unread"
cd "$OLDPWD" || exit 1

# The first bytes of what is read. A byte less, and nothing is known of the file.
xz -dc tests/data/memtrace/bare.ctf.xz >"$TMP/bare.ctf"
xz -dc tests/data/pagetrace/light-go122.pt.xz >"$TMP/light.pt"
cp tests/data/capture/blame.ebt "$TMP"
while read -r file bytes; do
	head -c $((bytes - 1)) "$TMP/$file" >"$TMP/less"
	head -c "$bytes" "$TMP/$file" >"$TMP/head"
	"$ebtrace" -q "$TMP/head" 2>&1 >"$TMP/out" | grep -q "is no trace"
	is $? 1 "$file is known by its first $bytes bytes"
	"$ebtrace" -q "$TMP/less" 2>&1 >"$TMP/out" | grep -q "is no trace"
	is $? 0 "not by $((bytes - 1))"
done <<'END'
c.events 8
blame.ebt 8
bare.ctf 4
light.pt 16
END
done_testing
