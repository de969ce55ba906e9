#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every event of a real collector comes out once: emitted = delivered + lost, in each domain and, as
# long as nothing is lost, for each kind; in every mode, and when loss is forced. Sorted by time.
. tests/lib.sh
. tests/counts.sh
need_root
need_file "$O/tests/prog/minigc"
events=${EVENTS:-2000000}

# trace NAME ENV... -- EBTRACE-OPTIONS... -- MINIGC-OPTIONS...: leaves $TMP/NAME.{counts,tally}
trace() {
  local name=$1 env=() opts=() out=$TMP/$1
  shift
  while [ "$1" != -- ]; do env+=("$1"); shift; done
  shift
  while [ "$1" != -- ]; do opts+=("$1"); shift; done
  shift
  env "${env[@]}" "$O/ebtrace" -q -f ndjson -o - "${opts[@]}" -- \
    "$O/tests/prog/minigc" -q -t 4 -c "$out.counts" "$@" | "$O/tests/prog/tally" >"$out.tally"
  is "${PIPESTATUS[0]}" 0 "$name: ebtrace returns the program's status"
}
# A ring that wraps while a busy machine takes the CPUs away loses events whatever the tracer does.
# These hold the whole run, so nothing may be lost; what must hold when rings wrap is below.
room=EBTRACE_LOG_WSIZE=23
lossless() { # as trace
  trace "$@"
  balanced "$1"
  whole "$1"
}
lossless watermark $room -- --mode watermark -- -n "$events"
lossless stream $room -- --mode stream -- -n "$events"
lossless ring $room -- --mode ring -- -n "$events"

# Smaller rings, at a rate that a tracer keeps up with and at full speed: most
# often nothing is lost, and each time all is delivered or told.
trace paced -- --mode watermark -- -n "$events" -r 1000000
balanced paced
trace full-speed EBTRACE_LOG_WSIZE=18 -- --mode watermark -- -n 2000000
balanced full-speed
trace full-speed-ring EBTRACE_LOG_WSIZE=18 -- --mode ring -- -n 2000000
balanced full-speed-ring

trace tiny-ring EBTRACE_LOG_WSIZE=9 -- --mode ring -- -n 2000000
lossy tiny-ring
trace tiny-ring-watermark EBTRACE_LOG_WSIZE=9 -- --mode watermark -- -n 2000000
lossy tiny-ring-watermark
# One page of BPF ring buffer: what it drops is in the rings.
trace one-page -- --mode stream --bpf-buffer 4K -- -n 1000000
balanced one-page

# Threads without a ring: their events come by BPF alone, with no position and no domain. What the
# one page drops of them is nowhere else and counted as lost. The library's own lifecycle events are
# about rings: which threads have them depends on who came first.
in_all() { awk '$2 != "lifecycle" { n += $3 } END { print n }'; }
trace ringless EBTRACE_MAX_DOMAINS=2 -- --mode stream -- -n 200000
is "$(delivered "$TMP/ringless" | in_all)" "$(emitted "$TMP/ringless" | in_all)" \
  "ringless: delivered = emitted over all threads"
is "$(value ringless summary lost_events)" 0 "ringless: no event is lost"
[ "$(delivered "$TMP/ringless" | awk '$1 == -1' | in_all)" -gt 0 ]
ok $? "ringless: threads without a ring are heard by BPF"
trace ringless-page EBTRACE_MAX_DOMAINS=2 -- --mode stream --bpf-buffer 4K -- -n 1000000
is "$(delivered "$TMP/ringless-page" | in_all)" "$(emitted "$TMP/ringless-page" | in_all)" \
  "ringless-page: delivered + lost = emitted over all threads"
[ "$(delivered "$TMP/ringless-page" | awk '$1 == -1 && $2 == "lost"' | in_all)" -gt 0 ]
ok $? "ringless-page: the loss was forced"
sorted ringless-page

# Others run the program, too: it is not probed in all processes any more, but in this one.
cp "$O/tests/prog/minigc" "$TMP/gc" # which no other test runs
{ EBTRACE_MAX_DOMAINS=2 "$O/ebtrace" -v -f ndjson -o - --mode stream -- "$TMP/gc" -q -t 4 -c "$TMP/beside.counts" \
  -s "$(lasting 4)" -r 300000 2>"$TMP/err" | "$O/tests/prog/tally" >"$TMP/beside.tally"; } &
pipe=$!
wait_for grep -qs 'reading the ring' "$TMP/err"
for ((i = 0; i < 20; i++)); do
  "$TMP/gc" -q -s 0.1 -t 2 -c /dev/null
  grep -qs 'each process is probed by itself' "$TMP/err" && break
done
[ $i -lt 20 ] || ! shares
ok $? "beside: others hit the probes" || diag "$(cat "$TMP/err")"
wait $pipe
is "$(delivered "$TMP/beside" | in_all)" "$(emitted "$TMP/beside" | in_all)" \
  "beside: delivered + lost = emitted over all threads"
sorted beside

# Through the rings alone they are lost, and counted by the library.
for mode in ring watermark; do
  trace ringless-$mode EBTRACE_MAX_DOMAINS=2 EBTRACE_LOG_WSIZE=20 -- --mode $mode -- -n 100000
  is "$(delivered "$TMP/ringless-$mode" | in_all)" "$(emitted "$TMP/ringless-$mode" | in_all)" \
    "ringless-$mode: delivered + lost = emitted over all threads"
  [ "$(delivered "$TMP/ringless-$mode" | awk '$1 == -1 && $2 == "lost" { print $3 }')" -gt 0 ]
  ok $? "ringless-$mode: events of threads without a ring are reported as lost"
done

# A tracer that is stopped for a second.
mkfifo "$TMP/go"
EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q -t 4 -n 3000000 -w -c "$TMP/stopped.counts" <"$TMP/go" &
program=$!
exec 9>"$TMP/go"
wait_for test -e "$TMP/$program.events"
"$O/ebtrace" -q --mode ring -f ndjson -p "$program" -o "$TMP/stopped.ndjson" &
tracer=$!
children+=("$program" "$tracer")
wait_for test -e "$TMP/stopped.ndjson.part"
echo >&9
sleep 0.3
kill -STOP "$tracer"
sleep 1
kill -CONT "$tracer"
wait "$program"
wait "$tracer"
is $? 0 "stopped: the tracer ends when the program has ended"
"$O/tests/prog/tally" <"$TMP/stopped.ndjson" >"$TMP/stopped.tally"
lossy stopped
done_testing
