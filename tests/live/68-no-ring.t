#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that cannot make its ring: ebtrace reports which one and why, and names programs by what they have executed.
. tests/lib.sh
need_command prlimit
minigc=$(realpath "$O/tests/prog/minigc")
ebtrace=$(realpath "$O/ebtrace")
cd "$TMP" || exit 1
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR EBTRACE_LOG_WSIZE
[ "${O##*/}" = asan ] && skip_all "a program with a sanitizer needs more address space than any limit"
memory="Cannot allocate memory; 'ulimit -v' or a cgroup limits its memory; EBTRACE_LOG_WSIZE=12 makes its rings smaller"

# lines ARGS...: what ebtrace reports, but for its count of events, with PID for numbers of processes
lines() {
	"$ebtrace" --mode ring -o out "$@" >stdout 2>err
	echo "$? $(grep -v 'events, .* lost' err | sed 's/process [0-9]\+/process PID/; s/them [0-9]\+/them PID/')"
}
run="'$minigc' -q -t 1 -n 300 -c /dev/null"
# KiB: enough for the program, and less than 64 MiB of rings.
for limit in $((40 * 1024)) $((60 * 1024)); do
	sh -c "ulimit -v $limit; $run" 2>err && break
done
is "$(cat err)" "" "a program runs with $limit KiB of address space"
is "$(lines -- sh -c "ulimit -v $limit; exec $run")" "0 ebtrace: process PID (minigc) could not make its ring: $memory" \
	"in which its ring is not mapped: ebtrace names it and the cause"
is "$(lines -- prlimit --as=$((limit * 1024)) "$minigc" -q -t 1 -n 300 -c /dev/null)" \
	"0 ebtrace: process PID (minigc) could not make its ring: $memory" "also behind prlimit"
is "$(lines -- sh -c "ulimit -v $limit; $run; $run")" \
	"0 ebtrace: 2 processes could not make their rings, one of them PID (minigc): $memory" "two of them are two"
is "$(EBTRACE_LOG_WSIZE=12 lines -- sh -c "ulimit -v $limit; exec $run") $(grep -c minor out | sed 's/^[1-9].*/some/')" "0  some" \
	"with smaller rings it is traced" || diag "$(cat err)"
is "$(lines -- prlimit --fsize=100000 "$minigc" -q -t 1 -n 300 -c /dev/null)" \
	"0 ebtrace: process PID (minigc) could not make its ring: File too large; 'ulimit -f' limits its files; EBTRACE_LOG_WSIZE=12 makes its rings smaller" \
	"a limit of files is named, too"
mkdir rings
is "$(EBTRACE_DIR=$TMP/rings lines -- sh -c "ulimit -v $limit; $run")" "0 ebtrace: process PID (minigc) could not make its ring: $memory" \
	"in a directory of the user's"
is "$(ls -A rings)" "" "nothing is left in there"
lines -- sh -c 'd=$EBTRACE_DIR; : >$d/.$EBTRACE_RUN.x.12.no-ring; : >$d/.$EBTRACE_RUN.12.no-ring; : >$d/.$EBTRACE_RUN.1.0.no-ring
	: >$d/.$EBTRACE_RUN.1.12.no-rings; : >$d/.x.1.12.no-ring; ln -s /etc/passwd $d/.$EBTRACE_RUN.1.12.no-ring' >got
is "$(grep -c 'could not make' got)" 0 "files that are no notes are not read"
lines -- sh -c 'printf "a\033[31mb\nc0123456789" >$EBTRACE_DIR/.$EBTRACE_RUN.77.12.no-ring' >got
is "$(cat got)" "0 ebtrace: process PID (a?[31mb?c012345) could not make its ring: $memory" "names in them have no controls, and an end"

neither="has neither a ring file nor markers; it must"
says() { # WANTED ARGS...
	is "$(lines "${@:2}" | sed "s/ $neither.*//")" "0 ebtrace: nothing was traced: $1" "${*:3}: $1"
}
says "'true'" -- true
says "'/bin/true'" -- /bin/true
says "'true' (started as 'sh')" -- sh -c 'exec true'
says "'true' (started as '/usr/bin/env')" -- /usr/bin/env true
says "'sh'" -- sh -c 'true; true'
ln -s /bin/true a-name-that-the-kernel-cuts
says "'./a-name-that-the-kernel-cuts'" -- ./a-name-that-the-kernel-cuts
done_testing
