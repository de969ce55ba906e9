#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# More than one runtime in a process: OCaml and our probes, which keep out of each other's way; OCaml
# that reads its own ring; and several OCamls, which all write to one file: that is said.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root
ocaml_build_here acts
here=$EXE_DIR
here_in=${EXE_IN%/*}
cp -r "$O/libebtrace-probes.a" include/ebtrace tests/ocaml/{both.ml,both_stubs.c,plugin.ml,two_runtimes.c} "$here"
cat >"$here/build.sh" <<END
set -e
cd "$here_in"
link="-Wl,--dynamic-linker=$ROOT/lib64/ld-linux-x86-64.so.2 -Wl,--disable-new-dtags"
link="\$link -Wl,-rpath,$ROOT/usr/lib/x86_64-linux-gnu"
libraries="-I +runtime_events -I +unix runtime_events.cmxa unix.cmxa"
mkdir include
mv ebtrace include
ocamlopt -ccopt -Iinclude -ccopt "\$link" \$libraries both_stubs.c both.ml libebtrace-probes.a -o both
ocamlopt -runtime-variant _pic -output-complete-obj \$libraries plugin.ml -o one.so
cp one.so two.so
gcc two_runtimes.c -o two -ldl \$link
END
chroot "$ROOT" sh "$here_in/build.sh" >"$TMP/build.log" 2>&1
ok $? "the programs are built" || {
	diag "$(tail -5 "$TMP/build.log")"
	done_testing
}

# start CMD...: with a ring; it waits for `exec 7>&-`
start() {
	rm -f "$TMP"/{in,err,t,log}
	mkfifo "$TMP/in"
	: >"$TMP/err"
	OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=$TMP "$@" <"$TMP/in" >/dev/null 2>"$TMP/err" &
	program=$!
	children+=($program)
	exec 7>"$TMP/in"
	wait_for grep -qs ready "$TMP/err" || diag "$(cat "$TMP/err")"
}
# follow RINGS: $program to its end
follow() {
	"$O/ebtrace" -v --mode ring -f ndjson -o "$TMP/t" -p $program 2>"$TMP/log" 7>&- &
	tracer=$!
	children+=($tracer)
	wait_for eval '[ "$(grep -sc "reading the ring" "$TMP/log")" = '"$1"' ]' || diag "$(cat "$TMP/log")"
	exec 7>&-
	wait $program
	is $? 0 "the program ends well"
	wait $tracer
	is $? 0 "and ebtrace with it"
}
whole() { is "$(tail -1 "$TMP/t" | jq '.lost_events + .lost_words + .damaged')" 0 "$1: nothing is lost or damaged"; }

start "$here/both"
follow 2
for what in '"begin","domain":0,"id":[0-9]*,"name":"major"' '"counter","domain":0,"id":[0-9]*,"name":"minor_allocated"' \
	'"int","domain":0,"id":0,"name":"both.ocaml"'; do
	got=$(grep -c "$what" "$TMP/t")
	[ "$got" -ge 101 ]
	ok $? "OCaml and our probes in one process: all of $what" || diag "$got"
done
whole "OCaml and our probes"
jq -r 'select(.name == "both.ocaml").value' "$TMP/t" | awk '$1 != NR { bad = 1 } END { exit bad || NR != 101 }'
ok $? "OCaml's events in their order"
"$O/ebtrace" -q --mode ring -f ndjson -o "$TMP/t" -- "$here/both" </dev/null 2>/dev/null
is "$? $(grep -c '"name":"both.ocaml"' "$TMP/t")" "0 101" "the same started by ebtrace"
whole "OCaml and our probes, started by ebtrace"

start "$EXE" "watch itself" ints 10 say ready wait ints 10
follow 1
is "$(grep -c '"name":"acts.number"' "$TMP/t")" 20 "a program that reads its own ring: its events come once"
is "$(grep -c several "$TMP/log")" 0 "and that is nothing to complain about"

start "$here/two" "$here/one.so" "$here/two.so"
follow 1
is "$(grep -c "process $program: several runtimes in it write to one ring file" "$TMP/log")" 1 \
	"two OCaml runtimes in one process: one message reports it" || diag "$(cat "$TMP/log")"
is "$(grep -c '"name":"plugin.two"' "$TMP/t")" 10 "the events of the one that started last are there"
is "$(head -1 "$TMP/t" | jq -r .producer)" "ocaml 5.3" "the release is detected from a library that was loaded later"
done_testing
