#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program started by ebtrace: first event, last event, status, environment, children.
. tests/lib.sh
need_root
gc=$O/tests/prog/minigc
json() { "$O/ebtrace" -q -f ndjson "$@"; }

for mode in ring watermark stream; do
  json --mode $mode -o "$TMP/t" -- "$gc" -q -t 1 -n 1000 -c "$TMP/counts"
  is $? 0 "$mode: the status of a program that ends well"
  is "$(jq -rs '[.[] | select(.kind != "header" and .kind != "process")][0].name' "$TMP/t")" ring_start \
    "$mode: the first event is ring_start"
  is "$(jq -rs '[.[] | select(.kind != "summary" and .kind != "process")][-1].name' "$TMP/t")" ring_stop \
    "$mode: the last event is ring_stop"
done
jq -es 'map(select(.kind == "begin")) | length > 0 and all(.[]; .tid > 0 and .cpu >= 0)' "$TMP/t" >/dev/null
ok $? "stream: every event has its thread and its CPU"
json -o "$TMP/t" -- sh -c 'exit 7' >/dev/null 2>&1
is $? 7 "the program's own status is returned"
json -o "$TMP/t" -- sh -c 'kill -9 $$' >/dev/null 2>&1
is $? 137 "a program killed by a signal: 128 + its number"
EBTRACE_DIR=$TMP/mine
mkdir "$EBTRACE_DIR"
export EBTRACE_DIR
json --mode ring -o "$TMP/t" -- "$gc" -q -t 1 -n 1000 -c /dev/null
is "$(jq -rs '[.[] | select(.kind == "begin")] | length > 0' "$TMP/t")" true \
  "the user's own directory is used, and read"
is "$(ls -A "$EBTRACE_DIR")" "" "and left empty"
unset EBTRACE_DIR
mkdir "$TMP/runtime"
XDG_RUNTIME_DIR=$TMP/runtime json --mode ring -o "$TMP/t" -- "$gc" -q -t 1 -n 1000 -c /dev/null
is "$(ls -A "$TMP/runtime")" "" "no private directory is left behind"

# Behind a shell, root's tracer leaves the environment alone and asks the programs for their rings.
for mode in ring stream; do
  json --mode $mode -o "$TMP/t" -- sh -c "$gc -q -t 1 -n 8000 -r 20000 -c /dev/null; $gc -q -t 1 -n 8000 -r 20000 -c /dev/null"
  is "$(jq -s '[.[] | select(.name == "ring_start").pid] | unique | length' "$TMP/t")" 2 \
    "$mode: the children of the program are followed"
  json --mode $mode -o "$TMP/t" -- sh -c "exec $gc -q -t 1 -n 8000 -r 20000 -c /dev/null"
  is "$(jq -s '[.[] | select(.name == "ring_stop")] | length' "$TMP/t")" 1 "$mode: exec is followed"
done

# Ctrl-C finishes the file.
rm -f "$TMP/t"
env --default-signal=INT "$O/ebtrace" -q -f ndjson -o "$TMP/t" -- "$gc" -q -t 2 -s 60 -c "$TMP/counts" &
tracer=$!
children+=("$tracer")
wait_for test -s "$TMP/t.part"
kill -INT $tracer
end_well $tracer
is "$(tail -1 "$TMP/t" | jq -r .kind)" summary "a signal finishes the file"
# Children that nobody waits for, and one that has left the family.
json --mode ring -o "$TMP/t" -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0 & done; exec sleep 0.7' 2>/dev/null
is $? 0 "zombies do not end the trace, nor the program"
json --mode ring -o "$TMP/t" -- sh -c "(setsid $gc -q -t 1 -n 20000 -r 50000 -c $TMP/counts &); sleep 1.2"
is "$(grep -c '"kind":"begin"' "$TMP/t")" "$(awk '$2 == "begin" { n += $3 } END { print n }' "$TMP/counts")" \
  "a daemon that the program leaves behind is followed to its end"

# Whatever is sent to ebtrace, the program gets it.
for name in HUP INT QUIT USR1 USR2 ALRM TERM WINCH; do
  rm -f "$TMP/up"
  env --default-signal=HUP,QUIT,INT "$O/ebtrace" -q --mode ring -o "$TMP/t" -- bash -c "
    trap 'exit 9' $name; : >'$TMP/up'; for i in {1..200}; do sleep 0.05; done" 2>/dev/null &
  tracer=$!
  children+=("$tracer")
  wait_for test -e "$TMP/up"
  kill -$name $tracer
  wait $tracer
  is $? 9 "SIG$name is passed on to the program"
done

# What is ignored or blocked when ebtrace is started is so in the program.
# Of 32 and 33 the C library disposes, which uses them itself.
shown=(perl -ne 'printf "%s %x\n", $1, hex($2) & ~0x180000000 if /^Sig(Blk|Ign):\s*(\w+)/' /proc/self/status)
signals="perl -MPOSIX -e"
blocked='$SIG{INT} = $SIG{PIPE} = $SIG{QUIT} = "IGNORE"; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGTERM, SIGCHLD, SIGUSR1)); exec @ARGV'
for how in "$blocked" 'exec @ARGV'; do
  for run in "trace -q --mode ring -o $TMP/t" "mem record -q -o $TMP/out.ctf"; do
    is "$($signals "$how" "$O/ebtrace" $run -- "${shown[@]}" 2>/dev/null)" "$($signals "$how" "${shown[@]}")" \
      "${run%% -q*}: its signals are ignored and blocked as they were before (${how%% =*})"
  done
done

# The trace is over, the program is not: a signal reaches it.
# Not through the function, which would be a shell of its own in the background.
"$O/ebtrace" -q -f ndjson -d 0.2s -o "$TMP/t" -- sleep 60 2>/dev/null &
tracer=$!
children+=("$tracer")
sleep 0.8
kill -TERM $tracer
wait $tracer
is $? 143 "a signal after the end of the trace is passed on to the program"
done_testing
