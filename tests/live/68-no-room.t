#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# OCaml's ring file takes its room as it is written, and the kernel kills (SIGBUS) who writes where none
# is left. A program of ours gets a directory with room for its rings, or no ring.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
ocaml_root
ocaml_build_here acts
ulimit -c 0
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR XDG_RUNTIME_DIR
cp "$O/ebtrace" "$TMP/ebtrace"
ebtrace=/mnt/ebtrace

# with SHM TMP SHELL-COMMANDS: in a mount namespace where /dev/shm and /tmp have so much room. The
# test's own files, which may be in /tmp, are at /mnt there.
# shellcheck disable=SC2016
with() {
	unshare -m bash -c 'mount --bind "$1" /mnt
		mount -t tmpfs -o size="$2",mode=1777 none /dev/shm && mount -t tmpfs -o size="$3",mode=1777 none /tmp
		cd /mnt && TMP=/mnt && eval "$4"' bash "$TMP" "$1" "$2" "$3"
}
export ebtrace EXE
# shellcheck disable=SC2016
run='"$ebtrace" --mode $mode -f ndjson -o "$TMP/t" -- "$EXE" getenv OCAML_RUNTIME_EVENTS_DIR ints 20000 minor 20 exit 6 \
	>"$TMP/out" 2>"$TMP/err"; echo $? >"$TMP/status"'
dir() { sed -n 's/^OCAML_RUNTIME_EVENTS_DIR=//p' "$TMP/err"; }

export mode=auto
with 200m 200m "$run"
is "$(cat "$TMP/status") $(dir | cut -d/ -f-3)" "6 /dev/shm" "with room everywhere rings go to /dev/shm"
with 12m 200m "$run"
is "$(cat "$TMP/status") $(dir | cut -d/ -f2)" "6 tmp" "where /dev/shm has room for few domains, they go to /tmp" || diag "$(cat "$TMP/err")"
with 12m 1m "$run"
is "$(cat "$TMP/status") $(dir | cut -d/ -f-3)" "6 /dev/shm" "where nothing has room for all domains, to where there is for those of a program of this size"
is "$(user_events "$TMP/t" | wc -l)" 20000 "and all user events are read"
with 1m 1m "$run"
is "$(cat "$TMP/status") $(dir)" "6 " "without room for a ring the program runs without one, and is not killed" || diag "$(cat "$TMP/err")"
is "$(grep -c 'no directory for rings with [0-9]* MB of space' "$TMP/err")" 1 "one message reports it"
is "$(grep -c '"kind":"begin"' "$TMP/t" | sed 's/^[1-9].*/some/')" some "and it is probed" || diag "$(cat "$TMP/err")"
# shellcheck disable=SC2016
with 1m 1m 'export OCAML_RUNTIME_EVENTS_DIR=/dev/shm;'"$run"
is "$(cat "$TMP/status") $(grep -c 'no directory for rings' "$TMP/err")" "6 1" "neither in a directory of the user's without room"
mode=ring
with 1m 1m "$run"
is "$(cat "$TMP/status") $(wc -c <"$TMP/out") $(grep -c 'EBTRACE_DIR names another one' "$TMP/err")" "1 0 1" \
	"--mode ring does not start a program that it could not trace, and names what to do"
export OCAMLRUNPARAM=e=20
with 100m 100m "$run"
is "$(cat "$TMP/status")" 1 "larger rings want more room"
done_testing
