#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# OCaml programs that were never prepared: no ring, no restart, probes on the runtime's functions.
. tests/lib.sh
ocaml_root
need_command jq

# build SOURCE NAME COMPILER FLAGS...
build() {
	local source=$1 name=$2 compiler=$3
	shift 3
	local ext=cmxa
	[ "$compiler" = ocamlc ] && ext=cma
	chroot "$ROOT" sh -c "cd $DIR_IN && $compiler $* -I +runtime_events -I +unix \
		runtime_events.$ext unix.$ext $source.ml -o $name" >"$TMP/build.log" 2>&1 && return
	ok 1 "$name compiles"
	diag "$(cat "$TMP/build.log")"
	done_testing
}

# start PROGRAM ARGS...: inside the root, reading from $go; sets PID. Run by the words of WRAP.
WRAP=
start() {
	rm -f "$TMP/go" "$TMP/said" && mkfifo "$TMP/go"
	$WRAP chroot "$ROOT" sh -c "cd $DIR_IN && exec ./$*" <"$TMP/go" >"$TMP/out" 2>"$TMP/said" &
	PID=$!
	children+=("$PID")
	exec 9>"$TMP/go"
	wait_for grep -q ready "$TMP/said"
}
go() { echo >&9 && exec 9>&-; }

# attach LOG OPTIONS...: follows PID in the background; sets TRACER.
attach() {
	local log=$1
	shift
	rm -f "$log"
	"$O/ebtrace" trace -v -p "$PID" "$@" 2>"$log" &
	TRACER=$!
	children+=("$TRACER")
	wait_for grep -sqE 'attached to|reading the ring' "$log"
}

count() { jq -r "select($2)|.kind" "$1" | wc -l; }

# sequence FILE DOMAIN SINCE: its runtime events from then on, without what the ring says about
# itself.
sequence() {
	jq -r "select(.domain == $2 and .ts >= $3 and (.kind == \"begin\" or .kind == \"end\" or
		.kind == \"counter\" or .kind == \"lifecycle\") and
		(.name | startswith(\"ring_\") | not))|[.kind, .name, .value]|@tsv" "$1"
}

DIR=$(mktemp -d "$ROOT/tmp/ebtrace.XXXXXX")
DIR_IN=/tmp/${DIR##*/}
chmod 755 "$DIR"
at_end "rm -rf '$DIR'"
cp tests/ocaml/{gcwork,lategc,forkgc,manykids,embedded}.ml tests/ocaml/{embed,twice}.c "$DIR"
build gcwork native ocamlopt
build gcwork pic ocamlopt -runtime-variant _pic
build gcwork debug ocamlopt -runtime-variant d
build gcwork nopie ocamlopt -ccopt -no-pie
build gcwork static ocamlopt -ccopt -static
build gcwork bytecode ocamlc
build gcwork custom ocamlc -custom
# The runtime in a library of its own, libasmrun_shared and libcamlrun_shared.
lib=$(chroot "$ROOT" ocamlopt -where)
build gcwork shared-bytecode ocamlc -custom -runtime-variant _shared -ccopt "-Wl,-rpath,$lib"
build gcwork object.o ocamlopt -output-obj
echo '#include <caml/callback.h>
int main(int argc, char **argv) { caml_main(argv); return argc < 0; }' >"$DIR/main.c"
chroot "$ROOT" sh -c "cd $DIR_IN && gcc -I$lib main.c object.o -o shared-native -L$lib -Wl,-rpath,$lib \
	-lasmrun_shared -lunixnat -lcamlruntime_eventsnat -lm -lzstd" >"$TMP/build.log" 2>&1
ok $? "native code is linked to the shared runtime" || diag "$(cat "$TMP/build.log")"
build lategc late ocamlopt
build forkgc forker ocamlopt
build manykids manykids ocamlopt
strip -o "$DIR/stripped" "$DIR/native"
strip -o "$DIR/no-symbols" "$DIR/static"

# rows FILE: of each line of it kind, name, domain, and what its header and its summary say.
rows() {
	jq -r '[.kind, .name // "-", .domain // "-", .producer // "-", .lost_events // "-", .late // "-"] | @tsv' \
		"$1" >"$TMP/rows"
}
# rows_of KIND [NAME]: how many of them are of it.
rows_of() { awk -F'\t' -v k="$1" -v n="${2:-}" '$1 == k && (n == "" || $2 == n) { c++ } END { print c + 0 }' "$TMP/rows"; }

# Every 5th of the rounds of each domain collects explicitly.
for how in native stripped pic debug nopie static bytecode custom shared-native shared-bytecode; do
	start "$how" 4 200 wait
	attach "$TMP/log" -f ndjson -o "$TMP/$how.ndjson"
	go
	wait "$PID"
	is $? 0 "$how: the program ends as it would"
	wait "$TRACER"
	is $? 0 "$how: so does ebtrace"
	rows "$TMP/$how.ndjson"
	is "$(rows_of begin explicit_gc_minor)" 160 "$how: every explicit collection is seen"
	# One that starts when another has ended gets its number.
	domains=$(awk -F'\t' '$1 == "begin" { print $3 }' "$TMP/rows" | sort -un | tr -d '\n')
	case $domains in 0 | 01 | 012 | 0123) ok 0 "$how: threads are mapped to domains" ;;
	*) is "$domains" 0123 "$how: threads are mapped to domains" ;; esac
	is "$(rows_of lifecycle domain_spawn)" 3 "$how: three domains are seen to start"
	is "$(rows_of begin)" "$(rows_of end)" "$how: every phase ends"
	is "$(awk -F'\t' '$1 == "summary" { print $5, $6 }' "$TMP/rows")" "0 0" "$how: nothing is lost or late"
	is "$(awk -F'\t' '$1 == "header" { print $4 }' "$TMP/rows")" "ocaml 5.3" "$how: the release is reported"
done
is "$(jq -r 'select(.kind == "begin")|[.tid > 0, has("cpu")]|@tsv' "$TMP/native.ndjson" | sort -u)" \
	"$(printf 'true\ttrue')" "the thread and the CPU are told"

start no-symbols 1 10 wait
"$O/ebtrace" -p "$PID" 2>"$TMP/err"
is $? 4 "a program without any symbols cannot be probed"
grep -q 'symbols have all been stripped.*OCAML_RUNTIME_EVENTS_START=1' "$TMP/err"
ok $? "which is said, with the alternatives" || diag "$(cat "$TMP/err")"
go
wait "$PID"

# Counters that nobody wants are not probed.
sites() { sed -nE 's/.*attached to ([0-9]+) markers.*/\1/p' "$1"; }
start native 2 200 wait
attach "$TMP/log.all" --mode probes -o "$TMP/all.ebt"
ALL=$TRACER
attach "$TMP/log.named" --mode probes -e minor_promoted -e alloc_sizes -f ndjson -o "$TMP/named.ndjson"
NAMED=$TRACER
attach "$TMP/log.some" --mode probes -e '!counter' -f ndjson -o "$TMP/some.ndjson"
SOME=$TRACER
"$O/ebtrace" stat -v --mode probes -e '!counter' --json -o "$TMP/stat.json" -p "$PID" 2>"$TMP/log.stat" &
STAT=$!
wait_for grep -sq 'attached to' "$TMP/log.stat"
go
wait "$PID"
end_well "$ALL" "$NAMED" "$SOME" "$STAT"
"$O/ebtrace" -q "$TMP/all.ebt" -f ndjson -o "$TMP/all.ndjson" && "$O/ebtrace" stat -q --json -o "$TMP/all.json" "$TMP/all.ebt"
is $? 0 "one tracer has all events"
is "$(sites "$TMP/log.some") $(sites "$TMP/log.stat") $(sites "$TMP/log.named")" \
	"$(($(sites "$TMP/log.all") - 1)) $(($(sites "$TMP/log.all") - 1)) $(sites "$TMP/log.all")" \
	"-e '!counter' leaves the runtime's counters without a probe, the name of one does not"
since=$(jq 'select(.kind == "header").start_ns' "$TMP/some.ndjson")
for domain in 0 1; do
	sequence "$TMP/all.ndjson" $domain "$since" | grep -v ^counter >"$TMP/wanted"
	sequence "$TMP/some.ndjson" $domain "$since" >"$TMP/got"
	same_file "$TMP/got" "$TMP/wanted" "domain $domain: all else is traced as with it"
done
is "$(jq -r '[.kind, .name] | join(" ")' "$TMP/named.ndjson" | grep -c '^counter minor_promoted$')" \
	"$(jq -r '[.kind, .name] | join(" ")' "$TMP/all.ndjson" | grep -c '^counter minor_promoted$')" \
	"a counter that is selected by its name has all its values"
is "$(jq -c '.total | [.words.minor_allocated, .words.promoted, .collections.minor, .pauses.count]' "$TMP/stat.json")" \
	"$(jq -c '.total | [null, null, .collections.minor, .pauses.count]' "$TMP/all.json")" \
	"stat then has the collections, and not how many words were allocated"

# The same run by the ring and by the functions.
for how in native bytecode; do
	mkdir -p "$DIR/rings"
	export OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR=$DIR_IN/rings OCAMLRUNPARAM=e=20
	start "$how" 4 400 wait
	unset OCAML_RUNTIME_EVENTS_START OCAML_RUNTIME_EVENTS_DIR OCAMLRUNPARAM
	attach "$TMP/log.ring" --mode ring -f ndjson -o "$TMP/ring.ndjson"
	BY_RING=$TRACER
	attach "$TMP/log.probes" --mode probes -f ndjson -o "$TMP/probes.ndjson"
	go
	wait "$PID"
	end_well "$BY_RING" "$TRACER"
	diag "$(tail -qn 1 "$TMP/ring.ndjson" "$TMP/probes.ndjson")"
	# The ring also holds what was before.
	since=$(jq -r 'select(.domain >= 0)|.ts' "$TMP/probes.ndjson" | head -1)
	for d in $(jq -r 'select(.kind == "begin")|.domain' "$TMP/ring.ndjson" | sort -un); do
		sequence "$TMP/ring.ndjson" $d "$since" >"$TMP/ring.$d"
		# The last phases of all come after the ring has been closed.
		sequence "$TMP/probes.ndjson" $d 0 | head -"$(wc -l <"$TMP/ring.$d")" >"$TMP/probes.$d"
		same_file "$TMP/probes.$d" "$TMP/ring.$d" \
			"$how, domain $d: the functions tell what the ring tells, in order"
	done
	is "$(($(sequence "$TMP/probes.ndjson" 0 0 | wc -l) - $(wc -l <"$TMP/ring.0") < 10))" 1 \
		"$how: and hardly more"
	for f in ring probes; do
		jq -r 'select(.kind|test("unit|int|span|custom"))|[.domain,.kind,.name,.value]|@tsv' \
			"$TMP/$f.ndjson" | sort >"$TMP/$f.user"
	done
	same_file "$TMP/probes.user" "$TMP/ring.user" "$how: user events are the same, too"
done

# The program switches its ring on while it is probed. Where the host takes the CPU of the tracer, it may end
# before its ring can be opened, which is told: then it runs once more.
for _ in 1 2 3 4 5; do
	start late 500
	attach "$TMP/log" -f ndjson -o "$TMP/late.ndjson"
	go
	wait "$PID"
	end_well "$TRACER"
	grep -q '"kind":"lost"' "$TMP/late.ndjson" || break
done
is "$(count "$TMP/late.ndjson" '.kind == "begin" and .name == "explicit_gc_minor"')" 1000 \
	"a ring that is switched on takes over: nothing is missed, nothing comes twice"
is "$(count "$TMP/late.ndjson" '.kind == "lifecycle" and .name == "ring_start"')" 1 \
	"its start is seen"
is "$(jq -r 'select(.kind|test("unit|int|span"))|[.kind, .name]|@tsv' "$TMP/late.ndjson" |
	sort | uniq -c | awk '{print $1, $2, $3}' | tr '\n' ',')" \
	"500 int lategc.size,500 span_begin lategc.round,500 span_end lategc.round,500 unit lategc.tick," \
	"user events that reach the runtime are seen while the ring is off, by name"
is "$(jq -r 'select(.kind == "int")|.value' "$TMP/late.ndjson" | sed -n '1p;$p' | tr '\n' ' ')" \
	"-1 -500 " "with their values"
start late 500
attach "$TMP/log" -f ndjson -o "$TMP/missed.ndjson"
kill -STOP "$TRACER"
go
wait "$PID"
kill -CONT "$TRACER"
end_well "$TRACER"
is "$(count "$TMP/missed.ndjson" '.kind == "begin" and .name == "explicit_gc_minor"') $(count "$TMP/missed.ndjson" '.kind == "lost"')" "500 1" \
	"what only a ring had that its program removed before it was opened is lost, and that is told"
is "$(jq -r 'select(.kind == "summary").lost_events' "$TMP/missed.ndjson")" null "nobody knows how much it was"
grep -q "^ebtrace: process $PID ended before its ring could be read$" "$TMP/log"
ok $? "a line says so" || cat "$TMP/log"

# Children.
start forker 300
attach "$TMP/log" -f ndjson -o "$TMP/fork.ndjson"
go
wait "$PID"
is $? 7 "a program that forks ends with its own status"
end_well "$TRACER"
is "$(count "$TMP/fork.ndjson" ".name == \"explicit_gc_minor\" and .kind == \"begin\" and .pid == $PID")" \
	300 "the parent is seen"
is "$(count "$TMP/fork.ndjson" ".name == \"explicit_gc_minor\" and .kind == \"begin\" and .pid != $PID")" \
	600 "and the child, that has no ring either"

# More of them than there are places for runtimes, and faster than a probe is taken off.
start manykids 1100 3
attach "$TMP/log" -f ndjson -o "$TMP/many.ndjson"
go
wait "$PID"
end_well "$TRACER"
is "$(count "$TMP/many.ndjson" ".name == \"explicit_gc_minor\" and .kind == \"begin\" and .pid != $PID")" \
	3300 "none of many children is missed"
is "$(jq -c 'select(.kind == "summary")|[.lost_events, .unwatched_ns // 0]' "$TMP/many.ndjson")" "[0,0]" \
	"nor is a moment of any"
is "$(jq -r "select(.name == \"explicit_gc_minor\" and .kind == \"begin\" and .pid == $PID)|.domain" \
	"$TMP/many.ndjson" | sort | uniq -c | awk '{print $1, $2}')" "9 0" \
	"a program that executes itself has the domains that it had"

# Two runtimes in one process, each in a library of its own.
chroot "$ROOT" sh -c "cd $DIR_IN && ocamlopt -runtime-variant _pic -output-complete-obj \
	-o one.so embed.c embedded.ml && cp one.so two.so && gcc twice.c -o twice" \
	>"$TMP/build.log" 2>&1
ok $? "OCaml runtimes can be shared libraries" || diag "$(cat "$TMP/build.log")"
start twice
attach "$TMP/log" -f ndjson -o "$TMP/twice.ndjson"
go
wait "$PID"
end_well "$TRACER"
for domain in 0 128; do
	count "$TMP/twice.ndjson" \
		".kind == \"begin\" and .name == \"explicit_gc_minor\" and .domain == $domain"
done | sort -n | tr '\n' ' ' >"$TMP/counts"
is "$(cat "$TMP/counts")" "100 200 " \
	"two runtimes in one process are both seen, the domains of the second from 128 up"

# Where programs live.
WRAP="unshare -mpf" start native 2 200 wait
outer=$PID
PID=$(pgrep -P "$outer")
attach "$TMP/log" -f ndjson -o "$TMP/ns.ndjson"
go
wait "$outer"
end_well "$TRACER"
is "$(count "$TMP/ns.ndjson" '.kind == "begin" and .name == "explicit_gc_minor"')" 80 \
	"a program in namespaces of its own is seen"
is "$(jq -r 'select(.kind == "begin")|.pid' "$TMP/ns.ndjson" | sort -u)" "$PID" \
	"by the pid that it has here"
cp "$DIR/native" "$DIR/gone"
start gone 2 200 wait
rm "$DIR/gone"
attach "$TMP/log" -f ndjson -o "$TMP/gone.ndjson"
go
wait "$PID"
end_well "$TRACER"
is "$(count "$TMP/gone.ndjson" '.kind == "begin" and .name == "explicit_gc_minor"')" 80 \
	"a program whose file has been deleted is seen"
cp "$O/ebtrace" "$TMP/ebtrace"
chmod 755 "$TMP" "$TMP/ebtrace"
user="setpriv --reuid 65534 --regid 65534 --clear-groups"
start native 2 200 wait
$user "$TMP/ebtrace" -p "$PID" 2>"$TMP/err"
is "$?" 7 "somebody else's program is refused"
grep -q "sudo ebtrace -p $PID" "$TMP/err"
ok $? "with the command that would do" || diag "$(cat "$TMP/err")"
go
wait "$PID"

# Either side ends first.
start native 2 3000 wait
attach "$TMP/log" -o "$TMP/first.txt"
go
sleep 0.2
kill -INT "$TRACER"
wait "$TRACER"
is $? 0 "ebtrace ends on Ctrl-C"
tail -1 "$TMP/first.txt" | grep -q '^#.*events'
ok $? "its file is whole"
wait "$PID"
is $? 0 "the program goes on to its end"
is "$(grep -c . "$TMP/out")" 5 "and does what it does"

start native 2 100000 wait
attach "$TMP/log" -f ndjson -o "$TMP/killed.ndjson"
go
sleep 0.3
kill -KILL "$TRACER"
sleep 0.3
kill -0 "$PID"
ok $? "a program survives the kill of its tracer"
attach "$TMP/log" -f ndjson -o "$TMP/killed.ndjson"
sleep 0.3
kill -KILL "$PID"
wait "$TRACER"
is $? 0 "and ebtrace the kill of the program"
[ "$(count "$TMP/killed.ndjson" '.kind == "begin"')" -gt 100 ]
ok $? "what it did until then is there"
done_testing
