#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A tracer leaves no trace: text and semaphores of the program are as before when it has ended, and
# when it was killed. Two tracers at once do not disturb each other.
. tests/lib.sh
need_root
need_file "$O/tests/prog/sites_x86_64"

# run NAME PROGRAM: the program on pipes; say NAME LETTER prints its answer.
declare -A pid
run() {
  mkfifo "$TMP/$1.in" "$TMP/$1.out"
  "$2" <"$TMP/$1.in" >"$TMP/$1.out" &
  pid[$1]=$!
  children+=($!)
  exec {to}>"$TMP/$1.in" {from}<"$TMP/$1.out"
  read -r _ <&"$from"
}
say() {
  local line
  printf %s "$1" >&"$to"
  read -r -t 20 line <&"$from"
  echo "$line"
}
hang_up() { printf q >&"$to"; exec {to}>&- {from}<&-; wait "${pid[$1]}"; }
trace() { # NAME ARGS...: in the background, without our pipes; sets tracer
  local name=$1
  shift
  (exec {to}>&- {from}<&-; exec "$O/ebtrace" -v --mode stream -f ndjson -o "$TMP/$name.ndjson" "$@") 2>"$TMP/$name.log" &
  tracer=$!
  children+=($!)
}
now() { date +%s%N; }
# until_state "SEMAPHORE BREAKS NOPS": polled for 10 s. Prints how long it took.
until_state() {
  local start state i
  start=$(now)
  for ((i = 0; i < 1000; i++)); do
    state=$(say s)
    if [ "$state" = "$1" ]; then
      diag "$((($(now) - start) / 1000000)) ms until '$1'"
      return 0
    fi
    sleep 0.01
  done
  diag "is '$state', not '$1'"
  return 1
}
events() { jq -s '[.[] | select(.kind == "begin")] | length' "$TMP/$1.ndjson"; }

run many "$O/tests/prog/sites_x86_64"
is "$(say s)" "0 0 500" "before: 500 nops, and the semaphore is 0"
for how in INT KILL; do
  trace $how --attach multi -p "${pid[many]}"
  until_state "500 500 0"
  ok $? "$how: 500 sites are attached to"
  say f >/dev/null
  kill -$how $tracer
  wait $tracer 2>/dev/null
  until_state "0 0 500"
  ok $? "$how: text and semaphore are as before"
  is "$(say f)" fired "$how: the program runs on"
done
is "$(events INT)" 500 "INT: every site was heard before the end"

# Two at once.
trace first -p "${pid[many]}"
first=$tracer
until_state "500 500 0"
trace second -p "${pid[many]}"
second=$tracer
wait_for grep -q 'attached to 500' "$TMP/second.log"
ok $? "a second tracer attaches to the same sites"
say f >/dev/null
kill -INT $first
end_well $first
until_state "500 500 0"
ok $? "the first has ended: the second's sites stay"
say f >/dev/null
kill -INT $second
end_well $second
until_state "0 0 500"
ok $? "both have ended: text and semaphore are as before"
is "$(events first) $(events second)" "500 1000" "each tracer has seen all that happened while it was there"
hang_up many

# Links of the older kind, one a site: few sites, as the kernel waits when each goes.
run few "$O/tests/prog/markers_x86_64"
trace perf --attach perf -p "${pid[few]}"
until_state "3 cc"
ok $? "--attach perf: the sites are attached to"
say f >/dev/null
kill -INT $tracer
wait $tracer
is $? 0 "--attach perf: the tracer ends well"
until_state "0 90"
ok $? "--attach perf: text and semaphore are as before"
is "$(jq -s '[.[] | select(.kind == "begin" or .kind == "counter" or .kind == "custom")] | length' \
  "$TMP/perf.ndjson")" 3000 "--attach perf: every hit is there once"
hang_up few

# What the end will take is known before it has to be paid.
"$O/ebtrace" -v --attach perf --mode stream -f ndjson -o "$TMP/price.ndjson" -- "$O/tests/prog/minigc" -q -t 1 -n 10 -c /dev/null 2>"$TMP/price.log"
is $? 0 "--attach perf -- PROGRAM succeeds"
sites=$(sed -n 's/.*attached to \([0-9]*\) markers of.*/\1/p' "$TMP/price.log")
each=$(sed -n 's/^#define UPROBE_PERF_LINK_S //p' user/source/bpf/uprobe.h)
price="--attach perf: $sites probes have a link each; to remove them at the end takes about $(jq -n "$sites * $each * 10 | round / 10") s"
is "$(sed -n '/attached to/q; s/^ebtrace: //; /have a link each/p' "$TMP/price.log")" "$price" \
  "--attach perf: the price of all probes is there once, before they are attached" || diag "$(cat "$TMP/price.log")"
is "$(grep -c 'have a link each' "$TMP/price.log")" 1 "--attach perf: and is not repeated"
grep -q "takes some $each s to remove" docs/man/ebtrace-info.1.scd
ok $? "the manual has the same price of a link"
done_testing
