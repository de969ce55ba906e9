#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A busy machine, on which the tracer, or the process that makes its probes, has to wait for a CPU: they
# are stopped meanwhile. What a ring holds comes in order all the same, and what was missed is reported.
. tests/lib.sh
. tests/counts.sh
need_root
need_command jq
gc=$O/tests/prog/minigc
need_file "$gc"

# attach NAME OPTIONS...: follows a shell, which waits for $TMP/NAME.go and then runs $TMP/NAME.sh
attach() {
	local name=$1
	shift
	EBTRACE_DIR=$TMP bash -c 'while [ ! -e "$0.go" ]; do sleep 0.02; done; . "$0.sh"' "$TMP/$name" &
	shell=$!
	children+=("$shell")
	"$O/ebtrace" -v -f ndjson -o "$TMP/$name.ndjson" "$@" -p "$shell" 2>"$TMP/$name.log" &
	tracer=$!
	children+=("$tracer")
	wait_for grep -q 'real-time scheduling' "$TMP/$name.log"
	keeper=$(pgrep -P "$tracer" -x uprobe-links)
}
# hold_back NAME SECONDS PID: that process is stopped for so long from the first process of NAME on.
hold_back() {
	kill -STOP "$3"
	touch "$TMP/$1.go"
	sleep "$2"
	kill -CONT "$3"
	wait "$shell"
	end_well "$tracer"
}

# Another process, which is probed in time, brings events all the while: they must wait for the ring.
mkfifo "$TMP/steady.in"
EBTRACE_DIR=$TMP "$gc" -q -w -t 1 -n 20000 -r 20000 -c "$TMP/steady.counts" <"$TMP/steady.in" 2>"$TMP/steady.err" &
steady=$!
children+=("$steady")
exec 8>"$TMP/steady.in"
wait_for grep -q ready "$TMP/steady.err"
cat >"$TMP/ring.sh" <<END
export EBTRACE_START=1
exec 8>&-
"$gc" -q -t 1 -n 3000 -r 10000 -c "$TMP/later.counts"
END
attach ring -p "$steady"
echo >&8
exec 8>&-
wait_for grep -q 'reading the ring' "$TMP/ring.log"
hold_back ring 0.2 "$keeper"
is $? 0 "ring: the trace ends with the programs" || diag "$(cat "$TMP/ring.log")"
cat "$TMP"/{steady,later}.counts >"$TMP/ring.counts"
"$O/tests/prog/tally" <"$TMP/ring.ndjson" >"$TMP/ring.tally"
whole ring
is "$(value ring summary late)" 0 "ring: none comes after its time"
is "$(jq -s 'map(select(.kind == "lost")) | length' "$TMP/ring.ndjson")" 0 \
	"ring: what its ring holds is not reported as not watched" || diag "$(grep '"lost"' "$TMP/ring.ndjson")"

# asks: each time that we look, the tracer waits for one descriptor (in poll), 20 ms at a time: of the process that
# makes its probes.
asks() {
	local i
	for i in {1..5}; do
		[[ "$(<"/proc/$tracer/syscall")" == "7 "*" 0x1 0x14 "* ]] || return
		sleep 0.02
	done
}

# It ends while it is attached to.
mkfifo "$TMP/gone.in"
cat >"$TMP/gone.sh" <<END
"$gc" -q -l -t 1 -n 20 -c "$TMP/gone.counts" <"$TMP/gone.in"
END
attach gone --mode probes --wait
kill -STOP "$keeper"
touch "$TMP/gone.go"
exec 8>"$TMP/gone.in"
wait_for asks
exec 8>&-
wait "$shell"
kill -CONT "$keeper"
wait "$tracer"
is $? 4 "gone: nothing could be traced" || diag "$(cat "$TMP/gone.log")"
grep -q 'cannot attach to its markers: No such process' "$TMP/gone.log"
ok $? "gone: the process ended while it was attached to" || diag "$(cat "$TMP/gone.log")"
is "$(jq -s 'map(select(.kind == "lost" and .history and (has("events") | not) and .ts > .since)) | length > 0' \
	"$TMP/gone.ndjson")" true "gone: it is reported as not watched" || diag "$(cat "$TMP/gone.log")"

# Its parent has ended before anybody could see that it is one of ours.
cat >"$TMP/orphan.sh" <<END
export EBTRACE_START=1
("$gc" -q -t 1 -n 3000 -r 10000 -c "$TMP/orphan.counts" &)
while [ ! -s "$TMP/orphan.counts" ]; do sleep 0.02; done
END
attach orphan --mode watermark --wait
hold_back orphan 0.1 "$tracer"
is $? 0 "orphan: the trace ends with the program" || diag "$(cat "$TMP/orphan.log")"
"$O/tests/prog/tally" <"$TMP/orphan.ndjson" >"$TMP/orphan.tally"
whole orphan
is "$(value orphan summary late)" 0 "orphan: none comes after its time"

# It has done all it does before its ring and its markers are found, and removes the ring at its end,
# which is while it is attached to: by then its ring has been found, or what was in it is lost.
mkfifo "$TMP/unread.in"
cat >"$TMP/unread.sh" <<END
export EBTRACE_START=1
("$gc" -q -l -t 1 -n 200 -c "$TMP/unread.counts" <"$TMP/unread.in" &)
END
attach unread --wait
kill -STOP "$tracer" "$keeper"
touch "$TMP/unread.go"
exec 8>"$TMP/unread.in"
wait_for test -s "$TMP/unread.counts"
unread=$(pgrep -fx "$gc .*$TMP/unread.counts")
kill -CONT "$tracer"
wait_for asks
exec 8>&-
has_ended() { [ ! -e "/proc/$1/exe" ]; }
wait_for has_ended "$unread"
kill -CONT "$keeper"
wait "$shell"
end_well "$tracer"
"$O/tests/prog/tally" <"$TMP/unread.ndjson" >"$TMP/unread.tally"
# Where its parent has waited for it by then it may count as not watched, too, which is history.
if [ "$(jq -cs 'map(select(.kind == "lost" and (.history | not)) | .ts > .since)' "$TMP/unread.ndjson")" = "[true]" ]; then
	ok 0 "unread: it is reported as lost"
else
	whole unread || diag "$(cat "$TMP/unread.log")"
fi
done_testing
