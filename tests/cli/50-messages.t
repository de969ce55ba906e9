#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a new user types first, and what is said then: the cause, and what to type instead.
. tests/lib.sh
need_command xz
ebtrace=$PWD/$O/ebtrace
cp "$O/tests/prog/minigc" "$TMP/prog"
printf '#!/bin/sh\necho\n' >"$TMP/script"
chmod 755 "$TMP/script"
cd "$TMP" || exit 1

# says STATUS LINE ARGS...: this status, nothing on stdout, this line alone on stderr.
says() {
	local status=$1 line=$2
	shift 2
	"$ebtrace" "$@" >out 2>err </dev/null
	is "$? $(cat out)$(cat err)" "$status ebtrace: $line" "ebtrace $*: status $status, and what to do"
}
for command in "" trace stat info; do
	for prog in ./prog prog ./script; do
		# shellcheck disable=SC2086
		stat=${command/#trace/}
		stat=${stat/#info/}
		says 2 "'$prog' is a program and holds no events; to run and trace it: ebtrace ${stat:+$stat }-- ./${prog#./}" \
			$command "$prog"
	done
done
says 2 "no such command or file 'date'; the commands are trace, stat, spans, top, profile, mem, pages, list and info; to run and trace a program: ebtrace -- date" date
says 2 "no such command or file 'date'; the commands are trace, stat, spans, top, profile, mem, pages, list and info; to run and trace a program: ebtrace -- date" -v date -d 1s
# A letter is wrong, missing or too much, or two are swapped.
for word in stta:stat stab:stat tat:stat paages:pages ifno:info trce:trace hepl:help tpo:top; do
	says 2 "no such command or file '${word%:*}'; did you mean '${word#*:}'?" "${word%:*}" -p 1
done
says 1 "cannot open 'gone.events': No such file or directory" gone.events
says 1 "cannot open './top': No such file or directory" ./top
says 1 "cannot open 'top': No such file or directory" trace top
says 5 "no process 999999999; 'ebtrace list' shows what can be traced" -p 999999999

# Bytecode is told by its last 12 bytes.
bytecode() { printf '#!/usr/bin/ocamlrun\nCODE\0\0\0\1\0\0\0\1Caml1999X%s' "$2" >"$1"; }
bytecode five.byte 035
"$ebtrace" list five.byte >out 2>err
is "$? $(cat out err)" "0 five.byte: bytecode of OCaml 5 (Caml1999X035); its markers are those of its interpreter, ocamlrun; to trace it: ebtrace -- ./five.byte" \
	"list of bytecode prints what it is, and how it is traced"
bytecode four.byte 031
says 4 "'four.byte' is bytecode of OCaml 4 (Caml1999X031), which has no runtime events; OCaml 5 has them" list four.byte
bytecode odd.byte 0x1
says 1 "'odd.byte' is not an ELF file" list odd.byte

# OCaml 4's runtime, as far as its symbols go.
for symbols in "caml_main" "caml_main caml_ev_begin caml_eventlog_init"; do
	{
		for s in $symbols; do echo "void $s(void) {}"; done
		echo 'int main(void) { return 0; }'
	} >four.c
	cc -o four four.c
	says 4 "'four' is a program of OCaml 4, which has no runtime events; OCaml 5 has them" list four
done
echo 'void caml_main(void) {} void caml_ev_begin(void) {} int main(void) { return 0; }' >five.c
cc -o five five.c
is "$("$ebtrace" list five)" "five: runtime of ocaml 5.0" "a program of OCaml 5 is none of OCaml 4"

# A summary only where a run took place.
xz -dc "$OLDPWD/tests/data/ocaml-5.3.0/c-user.events.xz" >ring.events
"$ebtrace" -q --ocaml-version 5.3 -e nothing ring.events >out 2>err
is "$? $(cat out err)" "0 # 0 events, 0 lost" "a run without events has a summary"
for args in "gone.events" "stat gone.events" "-p 999999999" "-- ./gone"; do
	# shellcheck disable=SC2086
	"$ebtrace" $args >out 2>err
	is "$(wc -l <err) $(cat out)" "1 " "ebtrace $args: one line, and no summary of no run"
done
cd "$OLDPWD" || exit 1
done_testing
