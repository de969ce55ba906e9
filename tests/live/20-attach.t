#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Attaching to processes that run already: what their rings hold comes first, then what they do,
# without a gap and without a double; however the program was linked, named or put into a namespace.
. tests/lib.sh
. tests/counts.sh
need_root
gc=$O/tests/prog/minigc
need_file "$gc"
so=$(realpath "$O/libebtrace-probes.so")

# Runs in the background, without our ends of the programs' pipes: a program's stdin ends when ours does.
alone() {
  local f
  for f in "${fd[@]}"; do eval "exec $f>&-"; done
  exec "$@"
}
# start NAME [VAR=VALUE...] [WRAPPER...] MINIGC -- ARGS...: a minigc that waits for its line. Sets pid.
declare -A pid fd tracer
start() {
  local name=$1 cmd=() in
  shift
  while [ "$1" != -- ]; do cmd+=("$1"); shift; done
  shift
  mkfifo "$TMP/$name.in"
  alone env EBTRACE_DIR="$TMP" "${cmd[@]}" -q -w -l -c "$TMP/$name.counts" "$@" <"$TMP/$name.in" 2>"$TMP/$name.err" &
  pid[$name]=$!
  children+=($!)
  exec {in}>"$TMP/$name.in"
  fd[$name]=$in
  wait_for grep -q ready "$TMP/$name.err"
}
# attach NAME ARGS...: a tracer that has attached.
attach() {
  local name=$1
  shift
  alone "$O/ebtrace" -v -f ndjson -o "$TMP/$name.ndjson" "$@" 2>"$TMP/$name.log" &
  tracer[$name]=$!
  children+=($!)
  wait_for grep -q 'attached to [1-9]' "$TMP/$name.log" || diag "$(cat "$TMP/$name.log")"
}
go() { echo >&"${fd[$1]}"; }
leave() { # NAME: the program has counted; its stdin ends, and so does it
  wait_for test -s "$TMP/$1.counts"
  eval "exec ${fd[$1]}>&-"
  unset "fd[$1]"
}
count() { # NAME: the tracer has ended
  wait "${tracer[$1]}"
  is $? 0 "$1: the tracer ends with the program" || diag "$(cat "$TMP/$1.log")"
  "$O/tests/prog/tally" <"$TMP/$1.ndjson" >"$TMP/$1.tally"
}
threads_known() {
  jq -es 'map(select(.kind == "begin" or .kind == "end")) | length > 0 and all(.[]; .tid > 0 and .cpu >= 0)' \
    "$TMP/$1.ndjson" >/dev/null
  ok $? "$1: every phase comes with its thread and its CPU"
}
# simple NAME PID: attach to a program that waits, let it run, all of it comes with threads.
simple() {
  attach "$1" -p "$2"
  go "$1"
  leave "$1"
  count "$1"
  whole "$1"
  threads_known "$1"
}

# A ring that has wrapped before anybody came, and a program in full run while the tracer comes.
for mode in stream watermark ring; do
  start "seam-$mode" EBTRACE_START=1 EBTRACE_LOG_WSIZE=12 "$gc" -- -t 2 -n 200000 -r 50000
  go "seam-$mode"
  sleep 0.5
  alone "$O/ebtrace" -q --mode $mode -f ndjson -o "$TMP/seam-$mode.ndjson" -p "${pid[seam-$mode]}" &
  tracer[seam-$mode]=$!
  children+=($!)
  leave "seam-$mode"
  count "seam-$mode"
  balanced "seam-$mode"
  [ "$(value "seam-$mode" summary history_events)" -gt 0 ]
  ok $? "seam-$mode: what the ring had overwritten before is reported"
  # The other modes are in time only if the machine lets them.
  [ $mode = stream ] || continue
  jq -es '[.[] | select(.kind == "lost") | .history // false] | length > 0 and all' "$TMP/seam-$mode.ndjson" >/dev/null
  ok $? "seam-$mode: and nothing was lost after that"
done

# No ring: it is switched on from outside.
start switched "$gc" -- -t 3 -n 30000 -u
simple switched "${pid[switched]}"
is "$(ls "$TMP" | grep -c events)" 0 "switched: the ring file is gone after the program"

# Several at once.
for i in 1 2 3; do start "many$i" EBTRACE_START=1 "$gc" -- -t 2 -n 20000; done
attach many -p "${pid[many1]}" -p "${pid[many2]}" -p "${pid[many3]}"
all_attached() { [ "$(grep -c 'attached to [1-9]' "$TMP/many.log")" = 3 ]; }
wait_for all_attached
for i in 1 2 3; do go "many$i"; done
for i in 1 2 3; do leave "many$i"; done
count many
cat "$TMP"/many[123].counts >"$TMP/many.counts"
whole many
is "$(jq -s '[.[] | select(.kind == "begin").pid] | unique | length' "$TMP/many.ndjson")" 3 \
  "many: events carry the pid of their process"

# The shared library, and a file that is not there any more.
gcc -O2 -D_GNU_SOURCE -Iinclude -Itests/prog -I. tests/prog/minigc.c tests/prog/heap/*.c -o "$TMP/shared" \
  "$so" -Wl,-rpath,"${so%/*}" -pthread -lm
start shared "$TMP/shared" -- -t 2 -n 20000
simple shared "${pid[shared]}"
cp "$gc" "$TMP/deleted"
start gone "$TMP/deleted" -- -t 2 -n 20000
rm "$TMP/deleted"
simple gone "${pid[gone]}"

# Another mount namespace: an empty directory hides the program, its library and its ring.
mkdir "$TMP/hidden"
cp "$TMP/shared" "$so" "$TMP/hidden"
ln -s libebtrace-probes.so "$TMP/hidden/libebtrace-probes.so.1"
cat >"$TMP/hide.sh" <<EOF
mount -t tmpfs none "$TMP/hidden"
cp "$TMP/shared" "$so" "$TMP/hidden"
ln -s libebtrace-probes.so "$TMP/hidden/libebtrace-probes.so.1"
mkdir "$TMP/hidden/rings"
EBTRACE_DIR=$TMP/hidden/rings LD_LIBRARY_PATH=$TMP/hidden exec "\$@"
EOF
start mount EBTRACE_START=1 unshare -m bash "$TMP/hide.sh" "$TMP/hidden/shared" -- -t 2 -n 20000
simple mount "${pid[mount]}"

# An overlay with layers on two file systems: of what it has copied, and has other names, stat() has other numbers than
# mappings have.
mkdir "$TMP/lower" "$TMP/layer" "$TMP/merged"
cp "$TMP/shared" "$so" "$TMP/lower"
for name in shared libebtrace-probes.so; do ln "$TMP/lower/$name" "$TMP/lower/other-$name"; done
ln -s libebtrace-probes.so "$TMP/lower/libebtrace-probes.so.1"
cat >"$TMP/overlay.sh" <<EOF
mount -t tmpfs none "$TMP/layer"
mkdir "$TMP/layer/upper" "$TMP/layer/work"
mount -t overlay -o "lowerdir=$TMP/lower,upperdir=$TMP/layer/upper,workdir=$TMP/layer/work" none "$TMP/merged"
chmod 700 "$TMP"/merged/*
LD_LIBRARY_PATH=$TMP/merged exec "\$@"
EOF
start overlay unshare -m bash "$TMP/overlay.sh" "$TMP/merged/shared" -- -t 2 -n 20000
simple overlay "${pid[overlay]}"

# Another pid namespace: the program is pid 1 there and calls its ring so.
start inner unshare -p -f "$gc" -- -t 2 -n 20000
simple inner "$(pgrep -P "${pid[inner]}")"
start inner-ring EBTRACE_START=1 unshare -p -f "$gc" -- -t 2 -n 20000
simple inner-ring "$(pgrep -P "${pid[inner-ring]}")"
# And the tracer in one, with its program.
unshare -pf --mount-proc "$O/ebtrace" -q --mode stream -f ndjson -o "$TMP/nested.ndjson" -- \
  "$gc" -q -t 2 -n 20000 -c "$TMP/nested.counts"
is $? 0 "nested: a tracer in a pid namespace of its own"
"$O/tests/prog/tally" <"$TMP/nested.ndjson" >"$TMP/nested.tally"
whole nested
threads_known nested
[ "$(jq -s '[.[] | select(.kind == "begin") | .pid, .tid] | max' "$TMP/nested.ndjson")" -lt 100 ]
ok $? "nested: numbers are those of the tracer's own namespace"
# In one below that, the program is a child, which is attached to while it begins: it waits.
mkfifo "$TMP/deep.in"
unshare -pf --mount-proc "$O/ebtrace" -v --mode stream -f ndjson -o "$TMP/deep.ndjson" -- \
  unshare -pf "$gc" -q -w -t 2 -n 20000 -c "$TMP/deep.counts" <"$TMP/deep.in" 2>"$TMP/deep.log" &
deep=$!
children+=("$deep")
exec 8>"$TMP/deep.in"
wait_for grep -q -e 'attached to [1-9]' -e 'not watched for' "$TMP/deep.log" || diag "$(cat "$TMP/deep.log")"
echo >&8
exec 8>&-
end_well "$deep"
threads_known deep

# Children: those that are there already, those that come, and exec.
mkfifo "$TMP/family.in" "$TMP/later.in" "$TMP/exec.in"
exec 5<>"$TMP/later.in" 6<>"$TMP/exec.in"
cat >"$TMP/family.sh" <<EOF
"$gc" -q -w -t 1 -n 5000 -c "$TMP/child.counts" <"$TMP/family.in" 2>"$TMP/family.err" &
while [ ! -e "$TMP/family.go" ]; do sleep 0.05; done
export EBTRACE_START=1 # what they do before the tracer has attached is in their rings
"$gc" -q -w -t 1 -n 5000 -r 10000 -c "$TMP/later.counts" <"$TMP/later.in" 2>"$TMP/later.err"
wait
exec "$gc" -q -w -t 1 -n 5000 -r 10000 -c "$TMP/exec.counts" <"$TMP/exec.in" 2>"$TMP/exec.err"
EOF
EBTRACE_DIR=$TMP bash "$TMP/family.sh" &
family=$!
children+=("$family")
exec 8>"$TMP/family.in"
wait_for grep -q ready "$TMP/family.err"
attach family -p "$family"
touch "$TMP/family.go"
echo >&8
exec 8>&-
# A process removes its ring at its end: it goes on when the ring has been found.
reads() { grep -q "reading the ring .* of process $1\$" "$TMP/family.log"; }
wait_for grep -qs ready "$TMP/later.err"
wait_for reads "$(pgrep -n -P "$family")"
echo >&5
wait_for grep -qs ready "$TMP/exec.err"
wait_for reads "$family"
echo >&6
end_well "$family"
exec 5>&- 6>&-
count family
cat "$TMP"/{child,later,exec}.counts >"$TMP/family.counts"
whole family
is "$(jq -s '[.[] | select(.kind == "begin" and .tid > 0).pid] | unique | length' "$TMP/family.ndjson")" 3 \
  "family: a child that was there, one that came, and one behind exec are attached to"

# A library that is loaded while the tracer is there.
fired() { # NAME EXTRA DOMAIN: all pairs came, and once, of one domain
  is "$(jq -s '[.[] | select(.kind == "begin" or .kind == "end")] | length' "$TMP/$1.ndjson")" \
    "$(($(sed -n 's/fired //p' "$TMP/$1.out") + $2))" "$1: every probe of the library is delivered once"
  is "$(jq -c 'select(.kind == "begin" or .kind == "end").domain' "$TMP/$1.ndjson" | sort -u) $(grep -c '"lost",.*"events"' "$TMP/$1.ndjson")" \
    "$3 0" "$1: as domain $3, and none is lost"
}
for mode in stream auto; do
  (wait_for tracer_rests >&2; echo) | "$O/ebtrace" -q --mode $mode -f ndjson -o "$TMP/late.ndjson" -- \
    "$O/tests/prog/late" "$so" 500 >"$TMP/late.out"
  is "$(sed -n 2p "$TMP/late.out")" "fired 1000" "late, --mode $mode: the program waited for the tracer"
  fired late 0 128
done
mkfifo "$TMP/own.in"
EBTRACE_DIR=$TMP "$O/tests/prog/late" "$so" 500 own <"$TMP/own.in" >"$TMP/own.out" &
pid[own]=$!
children+=($!)
exec 8>"$TMP/own.in"
wait_for grep -q ready "$TMP/own.out"
attach own -p "${pid[own]}"
echo >&8
exec 8>&-
count own
fired own 0 0
is "$(grep -h 'are not followed' "$TMP"/*.log)" "" "children of all of them are followed"
done_testing
