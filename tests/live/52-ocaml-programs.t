#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Real OCaml 5.3 programs of every build, with their rings: all user events, by name and value, from
# ring_start to ring_stop, as the program itself says what it wrote.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root

# first_last TRACE: the first event of each process, and its last lifecycle event: behind ring_stop
# OCaml may write of the barrier under which it closes the ring.
first_last() {
	jq -sr '[.[] | select(.pos != null)] | group_by(.pid)[] |
		"\(.[0].name) \(.[0].pos) \([.[] | select(.kind == "lifecycle")][-1].name)"' "$1"
}
lost() { tail -1 "$1" | jq '.lost_events + .lost_words + .damaged'; }
# compare NAME TRACE TRUTH [sort]: in order, or as sets where domains take turns
compare() {
	user_events "$2" | ${4:-cat} >"$TMP/got"
	sort -s -n -k1,1 "$3" | ${4:-cat} >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "$1: its user events are those that it printed"
	is "$(lost "$2")" 0 "$1: nothing is lost or damaged"
}

# Every way to build. Bytecode and what is linked to a runtime in a library of its own included.
ocaml_build_here acts
here=$EXE
dir=$EXE_DIR
dir_in=${EXE_IN%/*}
cat >"$dir/build.sh" <<'END'
set -e
cd "$1"
native="ocamlopt -I +runtime_events -I +unix runtime_events.cmxa unix.cmxa acts.ml"
byte="ocamlc -I +runtime_events -I +unix runtime_events.cma unix.cma acts.ml"
lib=$(ocamlopt -where)
$native -o plain
$native -o static -ccopt -static
$native -o stripped && strip stripped
$native -o unknown -ccopt -static && strip unknown
$native -o pic -runtime-variant _pic
$native -o debug -runtime-variant d
$native -o instrumented -runtime-variant i
echo '#include <caml/callback.h>
int main(int argc, char **argv) { caml_main(argv); return argc < 0; }' >main.c
$native -output-complete-obj -o complete.o
gcc -I"$lib" main.c complete.o -o complete-obj -lm -lzstd
$native -output-obj -o object.o
gcc -I"$lib" main.c object.o -o shared-runtime -L"$lib" -Wl,-rpath,"$lib" -lasmrun_shared -lunixnat \
	-lcamlruntime_eventsnat -lm -lzstd
$byte -o bytecode
$byte -custom -o bytecode-custom
$byte -custom -runtime-variant _shared -ccopt -Wl,-rpath,"$lib" -o bytecode-shared-runtime
$byte -output-complete-exe -o bytecode-complete-exe
END
chroot "$ROOT" sh "$dir_in/build.sh" "$dir_in" >"$TMP/build.log" 2>&1
ok $? "the program can be built in every way" || {
	diag "$(tail -5 "$TMP/build.log")"
	done_testing
}

for build in plain static stripped pic debug instrumented complete-obj shared-runtime bytecode \
	bytecode-custom bytecode-shared-runtime bytecode-complete-exe; do
	rm -f "$TMP"/{in,err,t,log}
	mkfifo "$TMP/in"
	: >"$TMP/err"
	chroot "$ROOT" env OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR="$dir_in" \
		"$dir_in/$build" say ready wait users minor 2 ints 100 <"$TMP/in" >"$TMP/truth" 2>"$TMP/err" &
	program=$!
	children+=($program)
	exec 7>"$TMP/in"
	wait_for grep -qs ready "$TMP/err" || diag "$build: $(cat "$TMP/err")"
	"$O/ebtrace" -v --mode ring -p $program -f ndjson -o "$TMP/t" 2>"$TMP/log" 7>&- &
	tracer=$!
	children+=($tracer)
	wait_for grep -qs 'reading the ring' "$TMP/log" || diag "$(cat "$TMP/log")"
	exec 7>&-
	wait $program
	is $? 0 "$build: the program is not disturbed"
	wait $tracer
	is $? 0 "$build: ebtrace ends with it"
	is "$(head -1 "$TMP/t" | jq -r .producer)" "ocaml 5.3" "$build: the release is detected from the program" ||
		diag "$(cat "$TMP/log")"
	compare "$build" "$TMP/t" "$TMP/truth"
	is "$(first_last "$TMP/t")" "ring_start 0 ring_stop" "$build: the first and the last event are there"
done

# run NAME ENV... -- ACTS...: under `-- PROGRAM`; leaves $TMP/NAME, $TMP/NAME.truth, $status
run() {
	local name=$1 env=()
	shift
	while [ "$1" != -- ]; do env+=("$1"); shift; done
	shift
	: >"$TMP/$name.truth"
	env "${env[@]}" "$O/ebtrace" -q --mode "${mode:-ring}" -f ndjson -o "$TMP/$name" -- "$here" "$@" \
		>>"$TMP/$name.truth" 2>"$TMP/$name.err"
	status=$?
}
mode=ring
for mode in ring auto; do
	run started -- users minor 3 ints 50
	is $status 0 "$mode: a program of ours ends well"
	compare "$mode: a program of ours" "$TMP/started" "$TMP/started.truth"
	is "$(first_last "$TMP/started")" "ring_start 0 ring_stop" "$mode: from its first event to its last"
done
mode=ring

# A release that cannot be told, and one that is told wrong.
"$O/ebtrace" --mode ring -f ndjson -o "$TMP/t" -- "$dir/unknown" ints 3 minor 2 >/dev/null 2>"$TMP/err"
is "$? $(head -1 "$TMP/t" | jq -r .producer)" "0 ocaml 5.5" "static and stripped: the newest release is assumed"
is "$(grep -c 'does not record which release.*--ocaml-version' "$TMP/err")" 1 "and a message reports that, with what to do" ||
	diag "$(cat "$TMP/err")"
for version in 5.3 5.1; do
	ends_with 0 "$O/ebtrace" --mode ring -f ndjson --ocaml-version $version -o "$TMP/t.$version" -- "$dir/unknown" minor 2 \
		>/dev/null 2>"$TMP/err"
	is "$(head -1 "$TMP/t.$version" | jq -r .producer)" "ocaml $version" "--ocaml-version $version decides"
	is "$(grep -c "does not record" "$TMP/err")" 0 "--ocaml-version $version: then nothing is assumed"
done
is "$(grep -c '"name":"explicit_gc_minor"' "$TMP/t.5.3")" 4 "the right release names the phases right"
ends_with 0 "$O/ebtrace" -q --mode ring -f ndjson --ocaml-version 5.1 -o "$TMP/t" -- "$here" minor 2 >/dev/null
is "$(head -1 "$TMP/t" | jq -r .producer)" "ocaml 5.1" "--ocaml-version overrides what is detected from the program"

# Domains: 4 at a time with the first, 5 times; the slots are used again.
run domains OCAMLRUNPARAM=e=18 -- domains 3 5 minor 1
compare "15 domains" "$TMP/domains" "$TMP/domains.truth" sort
is "$(jq -r 'select(.kind == "int").domain' "$TMP/domains" | sort -u | xargs)" "1 2 3" \
	"domains: three slots serve all of them"
is "$(jq -s 'map(select(.name == "domain_spawn")) | length' "$TMP/domains")" \
	"$(jq -s 'map(select(.name == "domain_terminate")) | length' "$TMP/domains")" \
	"domains: as many end as begin"
jq -es '[.[] | select(.pos != null)] | group_by(.domain) | all(.[]; [.[].pos] | . == unique)' "$TMP/domains" >/dev/null
ok $? "domains: a position of a ring never comes twice, nor out of order"
jq -r 'select(.kind == "int") | [.domain, (.value / 1000 | floor), .value] | @tsv' "$TMP/domains" |
	sort -s -n -k1,2 >"$TMP/got"
sort -n -k1,1 -k2,2 -k3,3 "$TMP/got" | cmp -s - "$TMP/got"
ok $? "domains: the events of each come in the order in which it wrote them"
jq -es '[.[] | select(.ts != null).ts] | . == sort' "$TMP/domains" >/dev/null
ok $? "domains: all of them in time order"

# Forks, of which one forks again; each has its own ring.
run forks -- ints 5 fork fork ints 5 reap users
compare "a family of four" "$TMP/forks" "$TMP/forks.truth"
is "$(first_last "$TMP/forks" | sort | uniq -c | awk '{ $1 = $1; print }')" "4 ring_start 0 ring_stop" \
	"forks: each process from its first event to its last"
is "$(jq -r 'select(.name == "fork_parent").value' "$TMP/forks" | sort | xargs)" \
	"$(jq -r 'select(.name == "fork_child").pid' "$TMP/forks" | sort | xargs)" \
	"forks: each fork_parent names the process that emits fork_child"
"$O/ebtrace" -q --no-follow --mode ring -f ndjson -o "$TMP/alone" -- "$here" ints 5 fork ints 5 reap >/dev/null
is "$? $(jq -r 'select(.ts != null).pid' "$TMP/alone" | sort -u | wc -l)" "0 1" "--no-follow: the parent alone"

# A ring that the program starts when it likes, pauses and resumes.
run late OCAML_RUNTIME_EVENTS_START= -- users
jq -es '[.[] | select(.ts != null)] | length > 0' "$TMP/late" >/dev/null
ok $? "an empty OCAML_RUNTIME_EVENTS_START starts the ring, as OCaml has it"
run paused -- ints 10 pause ints 1000 users resume ints 20 pause resume users
compare "pause and resume" "$TMP/paused" "$TMP/paused.truth"
rm -f "$TMP"/{in,err,t,log}
mkfifo "$TMP/in"
: >"$TMP/err"
OCAML_RUNTIME_EVENTS_DIR=$TMP "$here" ints 10 say ready wait start users minor 1 ints 10 say started wait ints 5 \
	<"$TMP/in" >"$TMP/truth" 2>"$TMP/err" &
program=$!
children+=($program)
exec 7>"$TMP/in"
wait_for grep -qs ready "$TMP/err"
"$O/ebtrace" --mode ring -p $program -f ndjson -o "$TMP/t" 2>"$TMP/log"
is "$? $(grep -c OCAML_RUNTIME_EVENTS_START=1 "$TMP/log")" "4 1" "a program without a ring: the message names how to switch it on"
echo >&7
wait_for grep -qs started "$TMP/err"
"$O/ebtrace" -v --mode ring -p $program -f ndjson -o "$TMP/t" 2>"$TMP/log" 7>&- &
tracer=$!
children+=($tracer)
wait_for grep -qs 'reading the ring' "$TMP/log"
exec 7>&-
wait $program
end_well $tracer
compare "a ring that the program starts itself" "$TMP/t" "$TMP/truth"
is "$(first_last "$TMP/t")" "ring_start 0 ring_stop" "and that from its first event to its last"
done_testing
