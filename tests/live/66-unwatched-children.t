#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Short children of a running process, watched without privilege: each is read or counted as lost; where
# their number cannot be known, the line at the end has at least, or not known how many.
. tests/lib.sh
need_root
need_command jq
need_command setpriv
chmod 755 "$TMP"
install -m 755 "$O/ebtrace" "$O/tests/prog/brood" "$TMP"
queued=$(cat /proc/sys/fs/inotify/max_queued_events 2>/dev/null)
stopped() { grep -q '^State:.*T' "/proc/$1/status"; }

# watch CHILDREN FILES: traces all of them as they come; with FILES the tracer stands still until the last
# child has ended and so many files without meaning have come behind it.
watch() {
	local rings=$TMP/rings.$1.$2
	local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --ambient-caps=-all
		--bounding-set=-all env -C / EBTRACE_START=1 EBTRACE_DIR="$rings")
	install -d -m 700 -o 65534 -g 65534 "$rings"
	rm -f "$TMP/in"
	mkfifo "$TMP/in"
	"${nobody[@]}" "$TMP/brood" "$1" 20 0 1 wait <"$TMP/in" 7>&- &
	program=$!
	children+=($program)
	exec 7>"$TMP/in"
	wait_for test -s "$rings/$program.events"
	: >"$TMP/err"
	"${nobody[@]}" "$TMP/ebtrace" -v --mode ring -f ndjson -p $program >"$TMP/t" 2>"$TMP/err" 7>&- &
	tracer=$!
	children+=($tracer)
	wait_for grep -qs 'reading the ring' "$TMP/err"
	if [ "$2" -ge 0 ]; then
		kill -STOP $tracer
		wait_for stopped $tracer
	fi
	exec 7>&-
	if [ "$2" -ge 0 ]; then
		wait $program
		perl -e 'for (1 .. $ARGV[1]) { open my $f, ">", "$ARGV[0]/" . ($_ % 2); unlink "$ARGV[0]/" . ($_ % 2) }' "$rings" "$2"
		kill -CONT $tracer
	fi
	wait $tracer
	status=$?
	wait $program
	jq -r 'select(.kind == "begin").pid' "$TMP/t" | sort | uniq -c >"$TMP/seen"
	seen=$(wc -l <"$TMP/seen")
	lost=$(jq -r 'select(.kind == "lost" and .pid != null).pid' "$TMP/t" | wc -l)
}

watch 100 -1
is "$status $(awk '$1 != 20' "$TMP/seen" | wc -l)" "0 0" "100 short children of a running process: of each that is seen all events" || diag "$(cat "$TMP/seen")"
is $((seen + lost)) 101 "and each other one is a loss, and none is both" || diag "$seen seen, $lost lost" "$(tail -3 "$TMP/err")"
diag "$seen seen, $lost lost"

watch 50 0
is "$status $(grep -c '^ebtrace: 50 processes ended before .* not known how many' "$TMP/err")" "0 1" \
	"children that ended while the tracer stood still are counted, and it is not known how many had no ring" || diag "$(tail -3 "$TMP/err")"
is "$seen $lost" "1 50" "each of them is a loss"
is "$(tail -1 "$TMP/t" | jq -c '[.kind, .lost_events]')" '["summary",null]' "and the summary has no number of events"

if [ -n "$queued" ] && [ "$queued" -le 50000 ]; then
	watch 30 $((queued + 100))
	is "$status $(grep -c '^ebtrace: at least 30 processes ended before' "$TMP/err")" "0 1" \
		"where the kernel has dropped reports of new files, they are a least number" || diag "$(tail -3 "$TMP/err")"
	watch 0 $((queued + 100))
	is "$status $(grep -c '^ebtrace: .*: not known how many processes were not watched' "$TMP/err")" "0 1" \
		"or it is not known how many" || diag "$(tail -3 "$TMP/err")"
fi
done_testing
