#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program of OCaml that ebtrace starts gets larger rings, by its environment: never smaller ones than its user
# asks for, and nothing else of the environment changes, nor that of any other program.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root
ocaml_build_here acts
cp "$O/ebtrace" "$TMP/ebtrace"
chmod 755 "$TMP"
as=(setpriv --reuid 65534 --regid 65534 --clear-groups env -C / TMPDIR=/tmp)
unset OCAMLRUNPARAM CAMLRUNPARAM EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR XDG_RUNTIME_DIR

# gets WANT "sentence" ENV... -- OPTIONS...: both variables as the program has them
gets() {
	local want=$1 sentence=$2 vars=()
	shift 2
	while [ "$1" != -- ]; do vars+=("$1"); shift; done
	shift
	env "${vars[@]}" "$O/ebtrace" -v -o "$TMP/t.txt" "$@" -- "$EXE" getenv OCAMLRUNPARAM getenv CAMLRUNPARAM users exit 6 \
		>"$TMP/out" 2>"$TMP/err"
	is "$? $(grep 'CAMLRUNPARAM=' "$TMP/err" | grep -v '^ebtrace' | xargs)" "6 $want" "$sentence" || diag "$(cat "$TMP/err")"
}
gets "OCAMLRUNPARAM=e=18 CAMLRUNPARAM=" "by default rings have 2^18 words" --
is "$(grep -c "^ebtrace: larger rings: '$EXE', and what it starts, runs with OCAMLRUNPARAM=e=18\$" "$TMP/err")" 1 "-v says so"
gets "OCAMLRUNPARAM=s=4k,v=0x400,e=18 CAMLRUNPARAM=" "the other settings of the user stand" OCAMLRUNPARAM=s=4k,v=0x400 -- 
gets "OCAMLRUNPARAM=e=14,s=4k CAMLRUNPARAM=" "the user's own rings stay small" OCAMLRUNPARAM=e=14,s=4k --
gets "OCAMLRUNPARAM=e=20 CAMLRUNPARAM=" "or large" OCAMLRUNPARAM=e=20 --
gets "OCAMLRUNPARAM= CAMLRUNPARAM=s=8k,e=18" "the second variable is read where the first is not set, and extended" CAMLRUNPARAM=s=8k --
gets "OCAMLRUNPARAM= CAMLRUNPARAM=e=15" "a size in it is the user's own" CAMLRUNPARAM=e=15 --
gets "OCAMLRUNPARAM= CAMLRUNPARAM=" "without rings (--mode probes) nothing changes" -- --mode probes
(ulimit -f 170000; gets "OCAMLRUNPARAM=e=17 CAMLRUNPARAM=" "a limit of the size of files is kept" --)
tap_n=$((tap_n + 1))
(ulimit -f 80000; gets "OCAMLRUNPARAM= CAMLRUNPARAM=" "where it allows nothing more, nothing changes, and the program runs" --)
tap_n=$((tap_n + 1))
(ulimit -v 100000000; gets "OCAMLRUNPARAM= CAMLRUNPARAM=" "nor under a limit of address space" --)
tap_n=$((tap_n + 1))
ring=(EBTRACE_PRESERVE=1 "OCAML_RUNTIME_EVENTS_DIR=$TMP/rings")
mkdir "$TMP/rings"
env "${ring[@]}" "$O/ebtrace" -q -o "$TMP/t.txt" -- "$EXE" ints 3 >/dev/null 2>"$TMP/err"
[ "$(stat -c %s "$TMP"/rings/*.events)" -gt $((128 * 8 << 18)) ]
ok $? "the file has room for 128 rings of that size"

# Programs that are not of OCaml 5, also where the variables of rings are added to their environment.
for program in "env" "sh -c env" "$O/tests/prog/minigc -q -n 10 -c /dev/null"; do
	# shellcheck disable=SC2086
	ends_with 0 "$O/ebtrace" -v --mode ring -o "$TMP/t.txt" -- $program >"$TMP/out" 2>"$TMP/err"
	is "$(cat "$TMP/out" "$TMP/err" | grep -c -e CAMLRUNPARAM -e 'larger rings')" 0 "the environment of '${program%% -q*}' has no size of rings"
done
printf '#!/bin/sh\nenv\n' >"$TMP/script"
chmod 755 "$TMP/script"
"${as[@]}" "$TMP/ebtrace" -v -o /dev/null -- "$TMP/script" >"$TMP/out" 2>"$TMP/err"
is "$(grep -c '^OCAML_RUNTIME_EVENTS_START=1' "$TMP/out") $(cat "$TMP/out" "$TMP/err" | grep -c CAMLRUNPARAM)" "1 0" \
	"nor that of a script, which starts what it wants"
"${as[@]}" "$TMP/ebtrace" -v -o /dev/null -- "$EXE" getenv OCAMLRUNPARAM >"$TMP/out" 2>"$TMP/err"
is "$(grep -cx 'OCAMLRUNPARAM=e=18' "$TMP/err")" 1 "an ordinary user's program gets larger rings, too" || diag "$(cat "$TMP/err")"

# burst ENV...: 150,000 words while the tracer does not run; prints what was lost
burst() {
	rm -f "$TMP"/{in,said,t.ndjson}
	mkfifo "$TMP/in"
	env "$@" "$O/ebtrace" --mode ring -o "$TMP/t.ndjson" -- "$EXE" say ready wait ints 50000 say over wait <"$TMP/in" >/dev/null 2>"$TMP/said" &
	tracer=$!
	children+=($tracer)
	exec 7>"$TMP/in"
	wait_for grep -qs ready "$TMP/said"
	wait_for tracer_rests
	kill -STOP $tracer
	echo >&7
	wait_for grep -qs over "$TMP/said"
	kill -CONT $tracer
	exec 7>&-
	end_well $tracer
	tail -1 "$TMP/t.ndjson" | jq .lost_words
}
burst A=1 >"$TMP/lost"
is "$(cat "$TMP/lost")" 0 "while the tracer gets no CPU, a ring holds a burst of 150,000 words"
burst OCAMLRUNPARAM=e=16 >"$TMP/lost"
[ "$(cat "$TMP/lost")" -gt 50000 ]
ok $? "which the runtime's own size does not"
is "$(grep -c 'larger rings, start the program with OCAMLRUNPARAM=e=18$' "$TMP/said")" 1 "the advice is a larger ring than there was" || diag "$(cat "$TMP/said")"
burst OCAMLRUNPARAM=e=17 >"$TMP/lost"
is "$(grep -c 'larger rings, start the program with OCAMLRUNPARAM=e=19$' "$TMP/said")" 1 "also where that was not the smallest" || diag "$(cat "$TMP/said")"
done_testing
