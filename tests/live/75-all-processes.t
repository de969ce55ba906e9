#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -a: all processes that can be traced, those that are there and those that come; no other one, and none
# is stopped or asked for a ring. Each run has a pid namespace of its own: other programs of the machine
# are not in it. The programs are copies, which nobody else runs.
. tests/lib.sh
need_root
need_command jq
gc=$TMP/minigc
cp "$O/tests/prog/minigc" "$gc"
ebtrace=$(realpath "$O/ebtrace")
chmod 755 "$TMP"
rate=$((2000 / SLOWNESS)) # events a second: as many in a longer life

# inside COMMANDS...: in a namespace in which a program with its ring on runs, one with its ring off, and one
# that is not to be traced; $ring, $plain and $other are their pids. They end with the namespace. late is a
# program that comes, and begun waits until a tracer with -v, whose messages are those of inside, has
# attached to those that are there.
inside() {
	local dir=$1
	shift
	mkdir -p "$TMP/$dir/rings" && chmod 777 "$TMP/$dir" "$TMP/$dir/rings"
	cat >"$TMP/$dir/run" <<-END
		cd "$TMP/$dir"
		export EBTRACE_DIR=$TMP/$dir/rings
		EBTRACE_START=1 "$gc" -q -t 2 -n 10000000 -r $rate -c counts & ring=\$!
		"$gc" -q -n 10000000 -r $rate -c counts.plain & plain=\$!
		sleep 1000 & other=\$!
		begun() { until grep -q real-time "$TMP/$dir/err"; do sleep 0.01; done; }
		late() { exec "$gc" -q -n 400 -r $rate -c "$TMP/$dir/counts.\$BASHPID"; }
		until [ -s rings/\$ring.events ]; do sleep 0.01; done
		echo "\$ring \$plain \$other" >pids
		$*
	END
	timeout $((200 * SLOWNESS)) unshare -pf --mount-proc ${as:-} bash "$TMP/$dir/run" >"$TMP/$dir/out" 2>"$TMP/$dir/err"
	status=$?
	read -r ring plain other <"$TMP/$dir/pids"
}
# pids DIR: of events.
pids() { jq -r 'select(.kind == "begin" or .kind == "end") | .pid' "$TMP/$1/out.ndjson" | sort -un | paste -sd' '; }

inside there "$ebtrace -v -a -d $(lasting 1.5)s -f ndjson -o out.ndjson & tracer=\$!
	begun
	sleep 0.3
	(late) & echo \$! >forked
	(sleep 0.1; late) & echo \$! >executed
	wait \$tracer"
is $status 0 "-a ends after its time" || diag "$(<"$TMP/there/err")"
is "$(pids there)" "$(echo "$ring" "$plain" $(<"$TMP/there/forked") $(<"$TMP/there/executed") | xargs -n1 | sort -n | xargs)" \
	"all programs are traced that can be: with a ring, without, and two that come, and no other process" ||
	diag "$(<"$TMP/there/err")"
[ ! -e "$TMP/there/rings/$plain.events" ]
ok $? "no ring is switched on"
# The two that come: what is seen of them, and what they did before they were found, is all.
for who in forked executed; do
	pid=$(<"$TMP/there/$who")
	is "$(jq -s --argjson pid "$pid" --argjson most "$(lasting 0.1)" \
		'[.[] | select(.pid == $pid and .kind == "lost")] | length == 1 and (.[0] | .ts - .since < $most * 1e9)' \
		"$TMP/there/out.ndjson")" true "$who: within a tenth of a second; until then it was not watched, which is a loss" ||
		jq -c --argjson pid "$pid" 'select(.pid == $pid) | select(.kind == "lost" or .kind == "process")' "$TMP/there/out.ndjson"
	begins=$(jq -s --argjson pid "$pid" '[.[] | select(.pid == $pid and .kind == "begin")] | length' "$TMP/there/out.ndjson")
	all=$(awk '$2 == "begin" { n += $3 } END { print n }' "$TMP/there/counts.$pid")
	[ "$begins" -gt $((all / 2)) ] && [ "$begins" -le "$all" ]
	ok $? "$who: from then on" || diag "$begins of $all"
done
is "$(jq -s --argjson pid "$ring" '[.[] | select(.pid == $pid and .kind == "lost" and (.history | not))] | length' "$TMP/there/out.ndjson")" 0 \
	"nothing is lost of one that was there"

# A library that a program loads when it has run for long: it is read once a second by then, where the
# kernel reports no mappings. When it is traced it loads another one.
cat >"$TMP/loads.py" <<-END
	import ctypes, sys, time
	time.sleep($(lasting 2))
	for name in sys.argv[1:]:
	    probes = ctypes.CDLL(name)
	    print(time.monotonic_ns(), flush=True)
	    for i in range(1500):
	        probes.ebt_emit_begin(11)
	        probes.ebt_emit_end(11)
	        time.sleep($(lasting 0.001))
END
cp "$O/libebtrace-probes.so" "$TMP/probes.so"
cp "$O/libebtrace-probes.so" "$TMP/others.so"
inside loads "python3 $TMP/loads.py $TMP/probes.so $TMP/others.so >loaded & echo \$! >late
	sleep 0.3; $ebtrace -v -a -d $(lasting 6)s -f ndjson -o out.ndjson"
most=$(lasting 0.1)
grep -q 'loads later is found within a second' "$TMP/loads/err" && most=$(lasting 1.5)
is $status 0 "a program loads a library with markers" || diag "$(<"$TMP/loads/err")"
is "$(jq -s --argjson pid "$(<"$TMP/loads/late")" --argjson most "$most" '[.[] | select(.pid == $pid)] | (map(select(.kind == "begin")) | length > 200)
	and ([.[] | select(.kind == "lost")][0] | .ts - .since < $most * 1e9)' "$TMP/loads/out.ndjson")" true \
	"it is found within $most s and traced, the time until then is a loss" ||
	jq -c --argjson pid "$(<"$TMP/loads/late")" 'select(.pid == $pid) | select(.kind != "end" and .kind != "begin")' "$TMP/loads/out.ndjson" | head -5
is "$(jq -s --argjson pid "$(<"$TMP/loads/late")" --argjson most "$most" --argjson at "$(sed -n 2p "$TMP/loads/loaded")" \
	'[.[] | select(.pid == $pid and .kind == "begin" and .ts > $at)] | length > 200 and .[0].ts - $at < $most * 1e9' \
	"$TMP/loads/out.ndjson")" true "so is what it loads when it is traced"

inside stat "$ebtrace stat --json -a -d $(lasting 1)s -o out.json"
is $status 0 "stat -a" || diag "$(<"$TMP/stat/err")"
is "$(jq -r '[.processes[] | select(.pauses.count > 20) | .pid] | sort | join(" ")' "$TMP/stat/out.json")" \
	"$(echo "$ring" "$plain" | xargs -n1 | sort -n | xargs)" "its report has both" || jq -c '.processes[] | [.pid, .pauses.count]' "$TMP/stat/out.json"
grep -q 'asked\|ring is on' "$TMP/stat/err"
is $? 1 "nor does stat ask for a ring" || diag "$(<"$TMP/stat/err")"

as="setpriv --reuid 65534 --regid 65534 --clear-groups" inside user "$ebtrace -v -a -d $(lasting 2)s -f ndjson -o out.ndjson & tracer=\$!
	begun
	EBTRACE_START=1 \"$gc\" -q -n 10000000 -r $rate -c counts.late & echo \$! >late
	wait \$tracer"
is $status 0 "without privilege" || diag "$(<"$TMP/user/err")"
is "$(pids user)" "$(echo "$ring" "$(<"$TMP/user/late")" | xargs -n1 | sort -n | xargs)" "the rings of the user's own processes are read, also of one that comes"

inside empty "kill \$ring \$plain; wait \$ring \$plain; $ebtrace -a -d 0.3s"
is $status 4 "where there is nothing it waits for its time, and has found nothing"
grep -q '^ebtrace: nothing to trace has come$' "$TMP/empty/err"
ok $? "which it says" || diag "$(<"$TMP/empty/err")"

# A storm of short processes: nothing is left of it.
inside storm "$ebtrace -v -a -f ndjson -o out.ndjson & tracer=\$!
	begun
	for i in {1..300}; do true | true & done
	for i in {1..50}; do ls / >/dev/null; done
	ls /proc/\$tracer/fd | wc -l >descriptors
	kill -INT \$tracer; wait \$tracer"
is $status 0 "in a storm of processes it goes on, and ends when asked" || diag "$(<"$TMP/storm/err")"
[ "$(<"$TMP/storm/descriptors")" -lt 100 ]
ok $? "it holds no descriptors of those that have ended" || diag "$(<"$TMP/storm/descriptors")"
is "$(pids storm)" "$(echo "$ring" "$plain" | xargs -n1 | sort -n | xargs)" "and has traced none of them"

ocaml_root
OCAML_LINK=-g ocaml_build_here gcwork
cp "$EXE" "$TMP/gcwork"
inside ocaml "\"$TMP/gcwork\" 1 1000000 >/dev/null & ocaml=\$!; echo \$ocaml >ocaml; $ebtrace -a -d 1s -f ndjson -o out.ndjson"
is $status 0 "an OCaml program that was not prepared" || diag "$(<"$TMP/ocaml/err")"
[ "$(jq --argjson pid "$(<"$TMP/ocaml/ocaml")" -s '[.[] | select(.pid == $pid and .name == "minor" and .kind == "begin")] | length' "$TMP/ocaml/out.ndjson")" -gt 10 ]
ok $? "is traced, too"
done_testing
