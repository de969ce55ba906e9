#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -a in a storm of 10,000 children a minute: each event is recorded or counted as lost, and the tracer needs no
# more at its end than in its middle. STORM_SECONDS makes it last longer.
. tests/lib.sh
need_root
need_command jq
seconds=${STORM_SECONDS:-15}
begins=10
# Four at a time, each of which lives for 24 ms, or in longer lives as many fewer.
born=$((seconds * 10000 / 60 / SLOWNESS))
cp "$O/tests/prog/brood" "$TMP"
chmod 755 "$TMP"
mkfifo "$TMP/go"

cat >"$TMP/run" <<END
cd "$TMP"
export EBTRACE_DIR=$TMP
least() { for i in 1 2 3 4 5 6 7 8 9; do \$1; sleep 0.05; done | sort -n | head -1; }
descriptors() { ls /proc/\$tracer/fd | wc -l; }
processes() { ls /proc | grep -c '^[0-9]'; }
state() { awk '\$1 == "VmRSS:" { print \$2 }' /proc/\$tracer/status; least descriptors; least processes; }
exec 3<>go
./brood $born $begins 0 4 wait pids $((24 * SLOWNESS)) <go & brood=\$!
"$(realpath "$O/ebtrace")" trace -v -a -f ndjson -o out 2>err & tracer=\$!
until grep -q "attached to .* of process \$brood" err && grep -q real-time err; do sleep 0.01; done
echo >&3
until [ "\$(wc -l <pids)" -ge $((born / 3)) ]; do sleep 0.1; done
state >middle
until [ "\$(wc -l <pids)" -ge $((born * 9 / 10)) ]; do sleep 0.1; done
state >late
wait \$brood
# A tracer that had no CPU for a while has many that have ended: it may catch up.
for i in 1 2 3 4 5 6 7 8 9 10; do
	{ read -r; read -r descriptors_then; read -r processes_then; } <middle
	[ "\$(least descriptors)" -le \$((descriptors_then + 10)) ] && [ "\$(least processes)" -le \$((processes_then + 10)) ] && break
done
{ head -1 late; least descriptors; least processes; } >end
kill -INT \$tracer
wait \$tracer
echo \$? >status
END
timeout $((60 * SLOWNESS + 10 * seconds)) unshare -pf --mount-proc bash "$TMP/run" >"$TMP/output" 2>&1
is "$(<"$TMP/status")" 0 'the run ends when asked' || diag "$(tail -3 "$TMP/err")" "$(tail -3 "$TMP/output")"
recorded=$(grep -cE '"kind":"(begin|end)"' "$TMP/out")
lost=$(grep '"kind":"lost"' "$TMP/out" | jq -s '[.[].events // 0] | add // 0')
uncounted=$(grep '"kind":"lost"' "$TMP/out" | jq -s '[.[] | select(has("events") | not)] | length')
all=$((2 * begins * (born + 1)))
[ $((recorded + lost)) = $all ] || { [ "$uncounted" -gt 0 ] && [ $((recorded + lost)) -le $all ]; }
ok $? "events in are events out and lost, of $born children" ||
	diag "$recorded recorded, $lost lost, $uncounted times not counted; all: $all"
[ "$recorded" -gt $((all * 9 / 10)) ]
ok $? 'nearly all are recorded' || diag "$recorded of $all"
{ read -r rss; read -r descriptors; read -r processes; } <"$TMP/middle"
{ read -r late_rss; read -r late_descriptors; read -r late_processes; } <"$TMP/end"
[ $((late_rss - rss)) -le 2048 ]
ok $? 'its memory does not grow' || diag "$rss KiB, $late_rss KiB"
[ $((late_descriptors - descriptors)) -le 10 ]
ok $? 'nor do its descriptors' || diag "$descriptors, $late_descriptors"
[ $((late_processes - processes)) -le 10 ]
ok $? 'nor the processes that hold its probes' || diag "$processes, $late_processes"
done_testing
