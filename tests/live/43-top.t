#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The screen of top, in a terminal (tmux): of a capture, frame by frame as it has been, at two sizes, without colour and
# without UTF-8; of processes that run: keys, a signal, another size, the end.
. tests/lib.sh
need_command tmux
need_command xz
ebt=$(realpath "$O/ebtrace")
export XDG_RUNTIME_DIR=$TMP
unset NO_COLOR TMUX
mux() { tmux -S "$TMP/tmux" -f /dev/null "$@"; }
at_end 'mux kill-server 2>/dev/null'
# screen NAME COLUMNS ROWS COMMAND: begins it in a terminal of that size; its status and messages come behind it.
screen() {
	mux new-session -d -s "$1" -x "$2" -y "$3" "$4 2>'$TMP/err.$1'; echo status \$?; exec sleep 1000"
	mux set-option -t "$1" status off
	mux resize-window -t "$1" -x "$2" -y "$3"
}
shot() { mux capture-pane -p -t "$1"; }
shows() { shot "$1" | grep -qE -- "$2"; }
# sees NAME PATTERN SENTENCE: it shows a line of that form, soon.
sees() {
	wait_for shows "$1" "$2"
	ok $? "$3" || diag "$(shot "$1")"
}
type_keys() { mux send-keys -t "$1" "${@:2}"; }
# Ctrl-C ends it. The kernel sends the signal first and then reads whether keys are echoed, which they are again if top
# has ended by then.
interrupted='^(\^C)?status 0'

# A capture of two rings, and the frames of it.
mkdir "$TMP/rings"
for name in b-domains4 a-gcchurn; do xz -dc "tests/data/ocaml-5.3.0/$name.events.xz" >"$TMP/rings/$name.events"; done
"$ebt" -q --ocaml-version 5.3 -o "$TMP/run.ebt" "$TMP"/rings/*.events
# golden NAME: what the screen NAME shows now.
golden() {
	local file=tests/golden/top-screen-$2.txt
	shot "$1" >"$TMP/shot"
	[ "${GOLDEN:-}" = rewrite ] && cp "$TMP/shot" "$file"
	same_file "$TMP/shot" "$file" "$3"
}
for size in "80 24" "132 43"; do
	read -r cols rows <<<"$size"
	name=s$cols
	screen $name $cols $rows "LC_ALL=C.UTF-8 '$ebt' top --sort pid --interval 50ms '$TMP/run.ebt'"
	sees $name "^ *23823 " "$cols columns: the list"
	golden $name $cols-list "$cols columns: it is as it has been"
	type_keys $name Down Enter
	sees $name "^PHASE|DOMAIN.*PHASE" "$cols columns: Enter opens a process"
	golden $name $cols-detail "$cols columns: it is as it has been"
	type_keys $name Escape
	sees $name "^F1Help" "$cols columns: Esc closes it"
	type_keys $name F1
	sees $name "keys$" "$cols columns: help"
	golden $name $cols-help "$cols columns: it is as it has been"
	type_keys $name x
	sees $name "^F1Help" "$cols columns: any key closes it"
	type_keys $name q
	sees $name "^status 0" "$cols columns: q ends"
done
for kind in "ascii LC_ALL=C" "vt100 TERM=vt100" "no-colour NO_COLOR=1"; do
	screen "${kind%% *}" 80 24 "env LC_ALL=C.UTF-8 ${kind#* } '$ebt' top --sort pid --interval 50ms '$TMP/run.ebt'"
	sees "${kind%% *}" "^ *23823 " "${kind%% *}: the list"
	type_keys "${kind%% *}" Down Enter
	sees "${kind%% *}" "^PHASE" "${kind%% *}: a process"
done
golden ascii ascii "without UTF-8 it is as it has been"
shot ascii | LC_ALL=C grep -q '[^ -~]'
is $? 1 "all of it is ASCII"
for kind in vt100 no-colour; do
	is "$(mux capture-pane -e -p -t $kind | grep -c $'\033\[[0-9;]*[34][0-7]m')" 0 "$kind: no colour"
	shot $kind | cmp -s - tests/golden/top-screen-80-detail.txt
	ok $? "$kind: else it is the same"
done
mux kill-session -t vt100
type_keys no-colour C-c
sees no-colour "$interrupted" "Ctrl-C ends it"
# A terminal that is gone is read, where no signal reports it.
cat >"$TMP/nohup" <<-END
	trap '' HUP
	LC_ALL=C.UTF-8 timeout --foreground -s KILL 60 '$ebt' top '$TMP/run.ebt'
	echo "status \$?" >'$TMP/closed'
END
screen closed 80 24 "exec sh '$TMP/nohup'"
sees closed "^ *23823 " "under nohup a terminal shows the list"
mux kill-session -t closed
wait_for test -s "$TMP/closed"
is "$(<"$TMP/closed")" "status 0" "top ends with its terminal"
screen dumb 80 24 "TERM=dumb LC_ALL=C.UTF-8 '$ebt' top '$TMP/run.ebt'"
sees dumb "^ebtrace top" "a terminal that cannot place text gets lines"
type_keys dumb q Enter
sees dumb "^status 0" "q and Enter end it"
screen unknown 80 24 "TERM=no-such-terminal '$ebt' top '$TMP/run.ebt'"
sees unknown "^status 1" "one of an unknown kind gets none"
grep -q "terminal 'no-such-terminal' is not known; --once" "$TMP/err.unknown"
ok $? "and the message names --once" || diag "$(<"$TMP/err.unknown")"

# Processes that run.
begin() { # NAME OPTIONS...: a program of its own name
	cp "$O/tests/prog/minigc" "$TMP/$1"
	EBTRACE_START=1 EBTRACE_DIR=$TMP/rings "$TMP/$1" -q -c /dev/null -s 600 "${@:2}" &
	children+=($!)
	pid=$!
	wait_for test -s "$TMP/rings/$pid.events"
}
begin alpha -t 2 -r 2000
alpha=$pid
begin beta -t 1 -r 300
beta=$pid
screen live 80 24 "LC_ALL=C.UTF-8 '$ebt' top --mode ring --interval 200ms --sort pid -p $alpha,$beta"
sees live "^ +$alpha alpha +[0-9.]+ +[0-9]+ .*[0-9]K" "processes that run have rates"
type_keys live /
type_keys live BET
sees live "^Filter: BET" "a filter is asked for"
type_keys live Enter
sees live "^filter BET" "it is kept"
shows live "^ +$alpha alpha"
is $? 1 "the others are not shown"
type_keys live / Escape
sees live "^ +$alpha alpha" "Esc shows all again"
type_keys live A
sees live "PID PROGRAM" "another order"
wait_for eval "shot live | grep -A1 'PID PROGRAM' | grep -q '$alpha alpha'"
ok $? "who allocates the most is the first"
type_keys live I
wait_for eval "shot live | grep -A1 'PID PROGRAM' | grep -q '$beta beta'"
ok $? "reversed, the last"
type_keys live g
sees live "^ +1 alpha" "by program"
type_keys live g g g
sees live "^ +$alpha alpha" "and by process again"
type_keys live N Home Enter
sees live "^$((alpha < beta ? alpha : beta)) .*ebtrace-probes" "Enter opens the first process"
sees live "^alloc/s +[0-9.]+[KM]? +[▁▂▃▄▅▆▇█]{3}" "its history grows"
mux resize-window -t live -x 132 -y 43
sees live "DOMAIN .*PHASE" "a larger terminal is used at once"
mux resize-window -t live -x 80 -y 24
type_keys live Escape
sees live "^F1Help" "and a smaller one"

# A signal: asked for first, and for the process that is shown alone.
type_keys live N F Home k
lesser=$((alpha < beta ? alpha : beta))
sees live "^Send SIGTERM to $lesser \(" "k asks first"
type_keys live n
sees live "no signal was sent" "n is no"
kill -0 "$lesser"
ok $? "the process runs"
type_keys live k
sees live "^Send SIGTERM" "again"
type_keys live y
sees live "signal 15 was sent to $lesser" "y sends it"
wait_for eval "! kill -0 $lesser 2>/dev/null"
ok $? "and it ends the process"
sees live "2 processes, 1 ended" "which is seen"
shows live "^ +$lesser "
is $? 1 "and not shown any more"
type_keys live e
sees live "^ +$lesser " "but with e"
type_keys live Home k
wait_for shows live "no process that runs|^Send SIG"
type_keys live n
type_keys live q
sees live "^status 0" "q ends"
kill -0 "$((alpha + beta - lesser))"
ok $? "the other process goes on"

# When all have ended the screen stays, and no signal goes anywhere.
screen stays 80 24 "LC_ALL=C.UTF-8 '$ebt' top --mode ring --interval 200ms -- '$O/tests/prog/minigc' -n 3000"
sees stays "1 process, 1 ended" "a program that ends: the screen stays"
shows stays "minigc: "
is $? 1 "nothing that it prints is on it"
type_keys stays k
sees stays "no process that runs is selected" "nobody gets a signal"
type_keys stays C-c
sees stays "$interrupted" "Ctrl-C ends it, with the program's status"

# Without privilege.
if [ "$(id -u)" = 0 ] && command -v setpriv >"$TMP/out"; then
	chmod 755 "$TMP" && cp "$O/ebtrace" "$O/tests/prog/minigc" "$TMP" && chmod 755 "$TMP/ebtrace" "$TMP/minigc"
	screen user 80 24 "setpriv --reuid 65534 --regid 65534 --clear-groups env XDG_RUNTIME_DIR= LC_ALL=C.UTF-8 '$TMP/ebtrace' top --interval 200ms -- '$TMP/minigc' -s 600 -r 1000"
	sees user "minigc +[0-9.]+" "without privilege rings are read"
	sees user "^unprivileged: rings alone; root adds" "and a line reports what root would add"
	type_keys user C-c
	sees user "$interrupted" "Ctrl-C ends the program, too"
fi
# Events are counted in maps, and none is read: the same rows, and an opened process.
if [ "$(id -u)" = 0 ]; then
	begin gamma -t 2 -r 2000
	gamma=$pid
	begin delta -t 1 -r 300
	delta=$pid
	screen counters 80 24 "LC_ALL=C.UTF-8 '$ebt' top --mode counters --interval 200ms --sort pid -p $gamma,$delta"
	sees counters "^ +$gamma gamma +[0-9.]+ +[0-9]+ +[0-9.]+[num]?s +[0-9.]+[num]?s +[0-9.]+[KM]" \
		"--mode counters: processes have shares, pauses and rates"
	sees counters "^ +$delta delta +[0-9.]+ .*[0-9]K.* 0$" "each of them, and nothing is lost"
	type_keys counters Home Enter
	sees counters "DOMAIN|^PHASE" "a process is opened"
	sees counters "^ *minor " "with its phases"
	type_keys counters q
	sees counters "^status 0" "q ends"
	# One that is forked while it runs is there soon, too, and one that ends is seen to.
	cat >"$TMP/forks" <<-END
		trap 'kill \$!' TERM
		read -r
		EBTRACE_START=1 EBTRACE_DIR=$TMP/rings "$TMP/gamma" -q -s 600 -r 1000 -c /dev/null &
		wait
	END
	mkfifo "$TMP/go.forks"
	bash "$TMP/forks" <"$TMP/go.forks" &
	forks=$!
	children+=($forks)
	exec 8>"$TMP/go.forks"
	screen forked 80 24 "LC_ALL=C.UTF-8 '$ebt' top --mode counters --interval 200ms -p $forks,$delta"
	sees forked "^ +$delta delta" "of a process and a shell that has no runtime the process is shown"
	echo >&8 && exec 8>&-
	sees forked "^ +[0-9]+ gamma +[0-9.]+" "a child that the shell starts is shown"
	kill "$delta"
	sees forked ", 1 ended|2 ended" "and the end of the other one is seen"
	type_keys forked q
	sees forked "^status 0" "until q"
	kill $forks "$gamma" 2>/dev/null
fi
# All processes: those of a pid namespace, as other programs of the machine are not to be traced.
if [ "$(id -u)" = 0 ]; then
	cat >"$TMP/all" <<-END
		EBTRACE_START=1 EBTRACE_DIR=$TMP "$(realpath "$O/tests/prog/minigc")" -q -s 600 -r 1000 -c /dev/null &
		LC_ALL=C.UTF-8 "$ebt" top --interval 200ms --sort program
	END
	screen all 80 24 "unshare -pf --mount-proc bash '$TMP/all'"
	sees all "^ +[0-9]+ minigc " "without a target all processes are shown"
	type_keys all q
	sees all "^status 0" "until q"
fi
done_testing
