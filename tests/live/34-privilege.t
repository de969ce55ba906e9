#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What each privilege gives: CAP_BPF and CAP_PERFMON together are enough for everything in a process
# of the same user; without either the rings are read, or it is said what is missing.
. tests/lib.sh
. tests/counts.sh
need_root
need_command setpriv
chmod 755 "$TMP"
mkdir -m 777 "$TMP/out"
install -m 755 "$O/ebtrace" "$O/tests/prog/minigc" "$TMP"

# as CAPS CMD...: user nobody, with exactly these capabilities ("" for none).
as() {
  local caps=-all
  [ -z "$1" ] || caps="-all,$1"
  shift
  (cd "$TMP/out" && exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$caps" \
    --ambient-caps "$caps" --bounding-set "$caps" "$@")
}
run() { # NAME CAPS OPTIONS...: a program of nobody's under a tracer of nobody's; status in $status
  local name=$1 caps=$2
  shift 2
  as "$caps" "$TMP/ebtrace" -f ndjson "$@" -o "$TMP/out/$name.ndjson" -- \
    "$TMP/minigc" -q -t 2 -n 20000 -c "$TMP/out/$name.counts" 2>"$TMP/$name.err"
  status=$?
}
tallied() {
  cp "$TMP/out/$1.counts" "$TMP"
  "$O/tests/prog/tally" <"$TMP/out/$1.ndjson" >"$TMP/$1.tally"
  whole "$1"
}
# needs CAPS: what is missing beside these.
needs() {
  case $1 in
  *+bpf*) echo "needs CAP_PERFMON, or root" ;;
  *+perfmon*) echo "needs CAP_BPF, or root" ;;
  *) echo "needs CAP_BPF and CAP_PERFMON, or root" ;;
  esac
}

run both +bpf,+perfmon --mode stream
is $status 0 "CAP_BPF and CAP_PERFMON: stream mode works"
tallied both
jq -es 'map(select(.kind == "begin")) | length > 0 and all(.[]; .tid > 0 and .cpu >= 0)' "$TMP/out/both.ndjson" >/dev/null
ok $? "CAP_BPF and CAP_PERFMON: events have their thread and CPU"

# The same for a process that runs already.
mkfifo -m 666 "$TMP/in"
as "" "$TMP/minigc" -q -w -l -t 2 -n 20000 -c "$TMP/out/running.counts" <"$TMP/in" 2>"$TMP/running.err" &
children+=($!)
exec 8>"$TMP/in"
wait_for grep -q ready "$TMP/running.err"
program=$(pgrep -n -u 65534 -x minigc)
as +bpf,+perfmon "$TMP/ebtrace" -v -f ndjson --mode stream -o "$TMP/out/running.ndjson" -p "$program" \
  2>"$TMP/running.log" 8>&- &
tracer=$!
children+=("$tracer")
wait_for grep -q 'attached to [1-9]' "$TMP/running.log" || diag "$(cat "$TMP/running.log")"
echo >&8
wait_for test -s "$TMP/out/running.counts"
exec 8>&-
wait $tracer
is $? 0 "CAP_BPF and CAP_PERFMON: -p of a running process of the same user" || diag "$(cat "$TMP/running.log")"
tallied running

run none ""
is $status 0 "no capability: the rings are read"
is "$(grep -v ' events, .* lost: ' "$TMP/none.err" | grep -c .)" 1 "no capability: one line about it" ||
  diag "$(cat "$TMP/none.err")"
grep -q "$(needs "").*rings alone" "$TMP/none.err"
ok $? "no capability: the message names what is missing and what is done instead"
tallied none

for caps in "" +bpf +perfmon; do
  for mode in stream watermark; do
    run refused "$caps" --mode $mode
    is $status 7 "--mode $mode with '$caps': status 7"
    is "$(grep -c . "$TMP/refused.err")" 1 "--mode $mode with '$caps': one line" || diag "$(cat "$TMP/refused.err")"
    grep -q "$(needs "$caps")" "$TMP/refused.err"
    ok $? "--mode $mode with '$caps': the message names what is missing"
  done
done
done_testing
