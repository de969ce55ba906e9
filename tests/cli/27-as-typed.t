#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Command lines as users type them: options in any place, words that mean nothing here, names that are misspelt, and
# advice that repeats the command.
. tests/lib.sh
need_command jq
need_command xz
ebtrace=$PWD/$O/ebtrace
release=(--ocaml-version 5.3)
for f in c-user b-domains4; do xz -dc "tests/data/ocaml-5.3.0/$f.events.xz" >"$TMP/$f.events"; done
for f in "$PWD"/tests/data/memtrace/*.ctf*; do trace=$f && break; done
case $trace in *.xz) xz -dc "$trace" >"$TMP/prog.ctf" ;; *) cp "$trace" "$TMP/prog.ctf" ;; esac
cp "$O/tests/prog/minigc" "$TMP/minigc"
cd "$TMP" || exit 1
"$ebtrace" mem prog.ctf >whole 2>err || diag "$(cat err)"

# says STATUS LINE ARGS...: this status, nothing on stdout, this line alone on stderr
says() {
	local status=$1 line=$2
	shift 2
	"$ebtrace" "$@" >out 2>err </dev/null
	is "$? $(cat out)$(cat err)" "$status ebtrace: $line" "ebtrace $*: status $status, and why"
}

# Options that ask how processes are traced.
for option in "-d 1s:duration" "--wait:wait" "--mode ring:mode" "--mode=auto:mode" "--ring-request never:ring-request" "--no-follow:no-follow" \
	"--attach multi:attach" "--bpf-buffer 1M:bpf-buffer" "--no-realtime:no-realtime" "--ring-dir .:ring-dir"; do
	for command in trace stat; do
		# shellcheck disable=SC2086
		says 2 "--${option#*:} needs processes that run: -p PID, or -- PROGRAM" $command ${option%:*} c-user.events
	done
done
for command in trace stat; do says 2 "--snapshot needs a running process: -p PID" $command --snapshot c-user.events; done
says 2 "--snapshot needs a running process: -p PID" --snapshot -- true
says 2 "--ring-dir needs a process that runs: -p PID" info --ring-dir . c-user.events
says 2 "--duration needs processes that run: -p PID, or -- PROGRAM" mem -d 1s prog.ctf
says 2 "--duration needs a process that runs: -p PID, or -- PROGRAM" pages -d 1s prog.pt
says 2 "--bpf-buffer needs a process that runs: -p PID, or -- PROGRAM" pages --bpf-buffer 1M prog.pt
says 2 "--bpf-buffer needs processes that run: -p PID, or -- PROGRAM" mem --bpf-buffer=1M prog.ctf
says 2 "--rate is of samples whose rate is not known; 'prog.ctf' has its own" mem --rate 1e-3 prog.ctf
"$ebtrace" -q -o memtrace.ebt prog.ctf
says 2 "--rate is of samples whose rate is not known; 'memtrace.ebt' has its own" mem --rate 1e-3 memtrace.ebt
"$ebtrace" -q -o ring.ebt c-user.events
for line in "mem prog.ctf" "mem diff prog.ctf memtrace.ebt" "trace ring.ebt" "stat ring.ebt" "trace prog.ctf ring.ebt"; do
	# shellcheck disable=SC2086
	says 2 "--buffer is memory for rings, and needs a ring file, or processes that run" $line --buffer 1M
done
for line in "trace c-user.events" "trace ring.ebt c-user.events" "stat c-user.events"; do
	# shellcheck disable=SC2086
	"$ebtrace" -q $line "${release[@]}" --buffer 1M >out 2>err
	is "$? $(cat err)" "0 " "ebtrace $line --buffer 1M has a ring"
done
says 2 "--ring-dir applies to the list of processes, not to a BINARY" list --ring-dir . minigc

# Suffixes that no format has.
formats=".txt .log .ndjson .jsonl .pftrace .perfetto-trace .perfetto .json .chrome .fxt .ebt .ctf .pt"
for name in a.svg x.foo a.b/x.foo run.ebt.1; do
	mkdir -p a.b
	says 2 "no format has the suffix '.${name##*.}'; known: $formats; with -f FORMAT any will do" c-user.events -o "$name"
	[ ! -e "$name" ]
	ok $? "and $name is not written"
done
for name in plain a.b/plain .hidden ends.; do
	"$ebtrace" -q c-user.events -o "$name" && grep -q '^# 253 events' "$name"
	ok $? "-o $name has no suffix: text"
done
"$ebtrace" -q c-user.events -f ndjson -o x.foo && jq -es 'length > 200' x.foo >/dev/null
ok $? "-f names the format of x.foo"
mkfifo pipe.fifo
cat pipe.fifo >got &
children+=($!)
"$ebtrace" -q c-user.events -o pipe.fifo
wait $!
is "$(grep -c '^# 253 events' got)" 1 "a FIFO may have any name"
says 2 "stat has no format '.foo'; it has: text, json, svg" stat c-user.events -o x.foo
says 2 "mem summary has no format '.foo'; it has: text, json, pprof" mem prog.ctf -o x.foo
says 2 "mem flame has no format '.foo'; it has: folded, svg" mem flame prog.ctf -o x.foo
for name in y.foo y.svg y.json y.ebt; do
	says 2 "mem record has no format '.${name##*.}'; it has: memtrace (.ctf)" mem record -o $name -- true
	[ ! -e $name ]
	ok $? "and nothing is recorded into $name"
done
"$ebtrace" mem record -q -o recorded -- true && "$ebtrace" info recorded | grep -q '^recorded: memtrace trace'
ok $? "mem record -o recorded has no suffix: a memtrace trace"
for name in report.txt report.log report; do
	"$ebtrace" stat -q c-user.events -o $name && [ -s $name ]
	ok $? "a report in text may be in $name"
done

# -e that nothing has.
hint="no event had such a name or kind; 'ebtrace list --events' lists those of runtimes"
for command in trace stat; do
	"$ebtrace" $command -o plain c-user.events -e tpyo -e '!gone*' 2>err
	is "$? $(grep -c "ebtrace: -e 'tpyo' matched nothing: $hint" err) $(grep -c "ebtrace: -e '!gone\*' matched nothing" err)" "0 1 1" \
		"$command -e tpyo: a line says that it matched nothing" || diag "$(cat err)"
	"$ebtrace" $command -q c-user.events -e tpyo >out 2>err
	is "$? $(cat err)" "0 " "$command -q -e tpyo: no error"
done
"$ebtrace" c-user.events -o t.ebt --trigger 'tpyo>1ms' --trigger 'minor>1h' --trigger 'pause>1h' 2>err
is "$? $(grep -c 'matched nothing' err) $(grep -c "ebtrace: --trigger 'tpyo' matched nothing: $hint" err)" "0 1 1" \
	"--trigger 'tpyo>1ms': a line says that it matched nothing" || diag "$(cat err)"
user=$("$ebtrace" -q c-user.events -f ndjson | jq -r 'select(.kind == "int").name' | head -1)
"$ebtrace" "${release[@]}" c-user.events -e minor -e "$user" -e counter -e 'major_*' -e '!compact*' >out 2>err
is "$(cat err)" "" "names of phases, counters, kinds and user events ($user) that match, or could in another run, get none"
span=$("$ebtrace" -q c-user.events -f ndjson | jq -r 'select(.kind == "span_begin").name' | head -1)
"$ebtrace" "${release[@]}" c-user.events -o t.ebt --trigger "$span>1h" 2>err
is "$? ${span:+some} $(grep -c 'matched nothing' err)" "0 some 0" "--trigger of a span that a program registered gets none" || diag "$(cat err)"
if [ "$(id -u)" = 0 ]; then
	"$ebtrace" --stack=tpyo --stack='minor*' -o plain -- ./minigc -q -t 1 -n 300 -c /dev/null 2>err
	is "$? $(grep -c 'matched nothing' err) $(grep -c "ebtrace: --stack='tpyo' matched nothing: $hint" err)" "0 1 1" \
		"--stack=tpyo: a line says that it matched nothing" || diag "$(cat err)"
	grep -q 'begin minor' plain
	ok $? "and it selects no events" || diag "$(tail -3 plain)"
fi

# Options before the command, and before its report.
same() { # "sentence" ARGS... : prints what `ebtrace mem prog.ctf` and so on does
	local want=$1
	shift
	"$ebtrace" "$@" >out 2>err
	is "$? $(cat err)" "0 " "ebtrace $*"
	cmp -s out "$want"
	ok $? "ebtrace $*: as with the command first" || diag "$(diff out "$want" | head -5)"
}
"$ebtrace" stat -q --json "${release[@]}" c-user.events >stat.json
same stat.json -q stat --json "${release[@]}" c-user.events
same stat.json --json -q stat "${release[@]}" c-user.events
same stat.json --ocaml-version 5.3 --json -q stat c-user.events
same stat.json --ocaml-v=5.3 -q --json stat c-user.events
same stat.json "${release[@]}" -qe'!nothing' --json stat c-user.events
same stat.json "${release[@]}" -q --event '!nothing' --json stat c-user.events
same whole -q mem prog.ctf
"$ebtrace" mem hotspots --top 2 prog.ctf >hot.txt
same hot.txt --top 2 mem hotspots prog.ctf
same hot.txt mem --top 2 hotspots prog.ctf
same hot.txt --top 2 mem -q hotspots prog.ctf
"$ebtrace" list --events >events
same events -v list --events
"$ebtrace" -q mem record -o r.ctf -- true 2>err
is "$? $(cat err)" "0 " "ebtrace -q mem record"
"$ebtrace" mem -q record -o r.ctf -- true 2>err
is "$? $(cat err)" "0 " "ebtrace mem -q record"
"$ebtrace" -q -- sh -c 'exit 3' stat 2>err
is $? 3 "what follows -- is the program's"
"$ebtrace" -q -o stat c-user.events && [ -s stat ]
ok $? "an argument of an option is no command"
cp c-user.events info
"$ebtrace" -q info | grep -q '^# 253 events'
ok $? "behind options the name of a file is a FILE"
rm -f info stat

# Reports that are none.
says 2 "no such report or file 'hotspot'; the reports of mem are summary, hotspots, live, lifetimes, flame, timeline, diff; it also has record" mem hotspot prog.ctf
says 2 "no such report or file 'hotspot'; the reports of mem are summary, hotspots, live, lifetimes, flame, timeline, diff; it also has record" mem -q hotspot -p 1
says 2 "no such report or file 'recrod'; the reports of mem are summary, hotspots, live, lifetimes, flame, timeline, diff; it also has record" mem recrod -- true
says 2 "no such report or file 'heap'; the reports of pages are summary, totals, fragmentation, occupancy, churn, heat, lifetimes, owners, damage, map" pages heap x.pt
says 1 "cannot open './hotspot': No such file or directory" mem ./hotspot

# -p 1,2
says 5 "no process 999999998; 'ebtrace list' shows what can be traced" -p 999999998,999999999
"$ebtrace" info -p 999999998,999999999,999999998 2>err
is "$(grep -o 'no process [0-9]*' err | xargs)" "no process 999999998 no process 999999999" "-p 1,2,1 is two processes"
for pids in 1, ,1 1,,2 1,x "1 2"; do
	"$ebtrace" -p "$pids" 2>err
	is "$? $(grep -c 'is not a number from 1 to' err)" "2 1" "-p '$pids' is refused"
done

# The same file twice.
cp c-user.events copy.events
ln -s c-user.events link.events
n() { "$ebtrace" -f ndjson "${release[@]}" "$@" 2>err | tail -1 | jq .events; }
is "$(n c-user.events c-user.events) $(cat err)" "253 ebtrace: 'c-user.events' is read once, as c-user.events" "the same file twice is one, as a line says"
is "$(n c-user.events ./link.events) $(cat err)" "253 ebtrace: './link.events' is read once, as c-user.events" "also by another name"
is "$(n c-user.events copy.events)" 506 "a copy of it is another file"
is "$(n - c-user.events - <copy.events)" 506 "standard input can be read once"
"$ebtrace" "${release[@]}" info c-user.events ./link.events c-user.events >out 2>err
is "$? $(grep -c '^c-user.events: ' out) $(wc -l <err) $(head -1 err)" "0 1 2 ebtrace: './link.events' is read once, as c-user.events" "info describes it once"
"$ebtrace" "${release[@]}" info - - <copy.events >out 2>err
is "$? $(cat err)" "0 ebtrace: standard input is read once, as standard input" "so it does standard input"
"$ebtrace" info /dev/null /dev/null >out 2>err
is "$(wc -l <err) $(grep -c 'read once' err)" "2 0" "what is no regular file may be another one each time that it is opened"
"$ebtrace" list minigc >whole.list 2>err
"$ebtrace" list minigc ./minigc >out 2>err
is "$? $(cat err)" "0 ebtrace: './minigc' is read once, as minigc" "list prints the markers of a BINARY once"
cmp -s out whole.list
ok $? "as of one"
"$ebtrace" mem diff prog.ctf prog.ctf >out 2>err
is "$? $(cat err)" "0 " "mem diff compares a file with itself"

# Advice keeps the command, and is for whom it can help.
says 2 "'minigc' is a program and holds no events; to run and trace it: ebtrace mem live -- ./minigc" mem live minigc
says 2 "'minigc' is a program and holds no events; to run and trace it: ebtrace -- ./minigc" info minigc
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$TMP"
	cp "$ebtrace" "$TMP/ebtrace"
	sleep 600 &
	pid=$!
	children+=($pid)
	wait_for grep -q sleep /proc/$pid/comm
	advice() { # WANT SET-UP... -- ARGS...
		local want=$1 as=()
		shift
		while [ "$1" != -- ]; do as+=("$1"); shift; done
		shift
		"${as[@]}" ./ebtrace "$@" -p $pid >out 2>err
		is "$? $(cat err)" "7 ebtrace: process $pid (sleep) belongs to $want" "ebtrace $* as '${as[*]:0:4}'"
	}
	other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	advice "root; try: sudo ebtrace stat -p $pid" "${other[@]}" -- stat
	advice "root; try: sudo ebtrace -p $pid" "${other[@]}" --
	advice "root; try: sudo ebtrace info -p $pid" "${other[@]}" -- info
	advice "root; try: sudo ebtrace stat -p $pid" "${other[@]}" -- --interval 1s stat --by process
	kill $pid
	setpriv --reuid 65534 --regid 65534 --clear-groups sleep 600 &
	pid=$!
	children+=($pid)
	wait_for grep -q '^Uid:.65534' /proc/$pid/status
	wait_for grep -q sleep /proc/$pid/comm
	advice "nobody, and root cannot read it here: needs CAP_SYS_PTRACE, which root lacks here; 'ebtrace info --kernel' shows what it allows" \
		setpriv --bounding-set -sys_ptrace,-bpf,-perfmon,-sys_admin -- stat
	kill $pid
	install -d -o 65534 -m 700 rings
	EBTRACE_START=1 EBTRACE_DIR=$TMP/rings setpriv --reuid 65534 --regid 65534 --clear-groups \
		./minigc -q -t 1 -s 600 -r 100 -c /dev/null &
	pid=$!
	children+=($pid)
	wait_for grep -q events /proc/$pid/maps
	setpriv --bounding-set -dac_read_search,-dac_override ./ebtrace --mode ring -p $pid >out 2>err
	is "$? $(cat err)" "7 ebtrace: process $pid: ring '$TMP/rings/$pid.events': Permission denied to root; 'ebtrace info --kernel' shows what it lacks" \
		"root without a capability is not told to be root"
	setpriv --bounding-set -bpf,-perfmon,-sys_admin ./ebtrace info --kernel >out 2>err
	is "$(grep -c 'run ebtrace as root' out) $(grep -c 'root lacks them here: add the capabilities' out | sed 's/^[1-9].*/some/')" "0 some" \
		"nor by info --kernel" || diag "$(cat out)"
	is "$(grep -c 'or root\|sudo' out) $(grep -c 'needs CAP_BPF and CAP_PERFMON, which root lacks here' out | sed 's/^[1-9].*/some/')" "0 some" \
		"which names what root lacks" || diag "$(cat out)"
	for lacks in "-sys_ptrace,-dac_read_search:rings" "-bpf,-perfmon,-sys_admin:probes" "-perfmon,-sys_admin:probes" \
		"-sys_admin:probes" "-all:everything"; do
		for arguments in "info --kernel" "--mode stream -d 1ms -p $pid" "-d 1ms -p $pid" "stat --blame -d 1ms -p $pid" "mem -d 1ms -p $pid" "pages -d 1ms -p $pid" \
			"-t 7 -o /dev/null c-user.events" "list"; do
			# shellcheck disable=SC2086
			timeout 60 setpriv --bounding-set "${lacks%:*}" ./ebtrace $arguments >out 2>err
			cat out err >>"said.${lacks#*:}"
		done
	done
	cat said.* >said
	is "$(grep -c . said | sed 's/^[1-9].*/some/') $(grep 'or root\|sudo\|as root' said)" "some " \
		"whatever root lacks, no message tells it to be root"
	kill $pid
fi

# -q: errors only.
"$ebtrace" -q c-user.events --time wall >out 2>err
is "$? $(cat err)" "0 " "-q: no line about the time of day that a ring lacks"
"$ebtrace" c-user.events --time wall 2>&1 >out | grep -q 'no time of day'
ok $? "which is there without"
"$ebtrace" -q --mode ring -- true >out 2>err
is "$? $(cat err)" "0 " "-q: no line about a program that had nothing to trace, and whose status is 0"
"$ebtrace" -q gone.events 2>err
is "$? $(cat err)" "1 ebtrace: cannot open 'gone.events': No such file or directory" "-q: errors are"
done_testing
