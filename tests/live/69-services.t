#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Services and containers, set up by hand as a service manager does: a private /tmp, a read-only file
# system, a user of its own without privileges, namespaces of everything. A running one is traced from
# outside with -p, and one is started by ebtrace from inside.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
need_command setpriv
ocaml_root
ocaml_build_here acts
acts=$EXE
gc=$(realpath "$O/tests/prog/minigc")
ebtrace=$(realpath "$O/ebtrace")
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR XDG_RUNTIME_DIR
chmod 755 "$TMP"
export RINGS=$TMP/rings
mkdir -m 1777 "$RINGS"
user=(setpriv --reuid 61234 --regid 61234 --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs)

# service NAME SET-UP... -- PROGRAM ARGS...: in the background, until `release NAME`; its pid in $pid
service() {
	local name=$1 setup=()
	shift
	while [ "$1" != -- ]; do setup+=("$1"); shift; done
	shift
	mkfifo -m 666 "$TMP/$name.in"
	"${setup[@]}" "$@" <"$TMP/$name.in" >"$TMP/$name.truth" 2>"$TMP/$name.err" &
	children+=($!)
	exec {fd}>"$TMP/$name.in"
	wait_for grep -qs ready "$TMP/$name.err" || diag "$(cat "$TMP/$name.err")"
	pid=$!
	while child=$(cut -d' ' -f1 "/proc/$pid/task/$pid/children" 2>/dev/null) && [ -n "$child" ]; do pid=$child; done
	children+=("$pid")
}
# traced NAME "sentence": with -p, from outside, to its end: all user events
as=()
traced() {
	"${as[@]}" "$ebtrace" -v -f ndjson -p "$pid" >"$TMP/$1.t" 2>"$TMP/$1.log" {fd}>&- &
	local tracer=$!
	wait_for grep -qs -e 'reading the ring' -e 'attached to' "$TMP/$1.log" || diag "$(cat "$TMP/$1.log")"
	exec {fd}>&-
	wait $tracer
	is $? 0 "$2: -p ends with it" || diag "$(cat "$TMP/$1.log")"
	[ "${3:-}" = phases ] || {
		user_events "$TMP/$1.t" | cut -f2- >"$TMP/got"
		cut -f2- "$TMP/$1.truth" >"$TMP/want"
		same_file "$TMP/got" "$TMP/want" "$2: all user events" || diag "$(cat "$TMP/$1.log")"
	}
	grep -q '"kind":"begin"' "$TMP/$1.t"
	ok $? "$2: its phases are seen"
}
ring=(env OCAML_RUNTIME_EVENTS_START=1)
# shellcheck disable=SC2016
private_tmp=(unshare -m sh -c 'mount -t tmpfs none "$RINGS" && exec "$@"' sh)
# shellcheck disable=SC2016
read_only=(unshare -m sh -c 'mount --bind / /mnt && mount --rbind /dev /mnt/dev && mount --rbind /proc /mnt/proc &&
	mount -o remount,bind,ro /mnt && exec chroot /mnt "$@"' sh)
container=(unshare -Urmpf --kill-child --mount-proc)

service tmp "${private_tmp[@]}" "${ring[@]}" OCAML_RUNTIME_EVENTS_DIR="$RINGS" -- "$acts" ints 5 say ready wait users minor 2
is "$(ls "$RINGS")" "" "PrivateTmp: the ring cannot be seen from outside"
traced tmp "PrivateTmp"
service tmp2 "${private_tmp[@]}" "${user[@]}" "${ring[@]}" OCAML_RUNTIME_EVENTS_DIR="$RINGS" -- "$acts" ints 5 say ready wait users minor 2
as=("${user[@]}")
traced tmp2 "PrivateTmp, without privilege"
as=()

ulimit -c 0
("${read_only[@]}" "${ring[@]}" OCAML_RUNTIME_EVENTS_DIR="$RINGS" "$acts" ints 5) >/dev/null 2>"$TMP/err"
is "$? $(grep -c "open ring buffer" "$TMP/err")" "134 1" "ProtectSystem: OCaml ends a program whose directory for rings is read-only"
service ro "${read_only[@]}" "${ring[@]}" OCAML_RUNTIME_EVENTS_DIR=/dev/shm -- "$acts" ints 5 say ready wait users minor 2
traced ro "ProtectSystem, the ring in a writable directory"
service ro2 "${read_only[@]}" -- "$acts" say ready wait sleep 0.3 minor 50
traced ro2 "ProtectSystem, no ring" phases

service dyn "${user[@]}" "${ring[@]}" OCAML_RUNTIME_EVENTS_DIR="$RINGS" -- "$acts" ints 5 say ready wait users minor 2
(exec setpriv --reuid 61235 --clear-groups "$ebtrace" -p "$pid") 2>"$TMP/err" {fd}>&-
is "$? $(grep -c 'sudo ebtrace -p' "$TMP/err")" "7 1" "DynamicUser: another user is refused"
traced dyn "DynamicUser"
service lib "${user[@]}" -- "$gc" -q -w -t 1 -n 20000 -r 50000 -c /dev/null
"$ebtrace" -v -f ndjson -o "$TMP/t" -p "$pid" 2>"$TMP/log" {fd}>&- &
tracer=$!
wait_for grep -qs 'attached to' "$TMP/log"
echo >&$fd
exec {fd}>&-
wait $tracer
is "$? $(jq -s '[.[] | select(.name == "ring_stop")] | length' "$TMP/t")" "0 1" \
	"DynamicUser: a program with libebtrace-probes gets a request for its ring, which it makes in a directory of its own"
rmdir /dev/shm/ebtrace-61234
ok $? "and removes"

service box "${container[@]}" "${ring[@]}" OCAML_RUNTIME_EVENTS_DIR="$RINGS" -- "$acts" ints 5 say ready wait users minor 2
traced box "a container"
service box2 "${container[@]}" -- "$acts" say ready wait sleep 0.3 minor 50
traced box2 "a container, no ring" phases

# Started by ebtrace, from inside.
inside() { # NAME "sentence" SET-UP... : all user events, from the first on
	local name=$1 what=$2
	shift 2
	"$@" "$ebtrace" -q --mode ring -f ndjson -o - -- "$acts" ints 50 users exit 6 >"$TMP/$name.t" 2>"$TMP/$name.err"
	is $? 6 "$what: the program's own status" || diag "$(cat "$TMP/$name.err")"
	user_events "$TMP/$name.t" | cut -f2- >"$TMP/got"
	grep -v '^ebtrace: ' "$TMP/$name.err" | cut -f2- >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "$what: all user events"
}
inside in_tmp "ebtrace with PrivateTmp" "${private_tmp[@]}"
inside in_ro "ebtrace with ProtectSystem" "${read_only[@]}"
inside in_dyn "ebtrace with DynamicUser" "${user[@]}"
inside in_box "ebtrace in a container" "${container[@]}"
inside in_user_box "ebtrace in a container of an ordinary user" setpriv --reuid 61234 --regid 61234 --clear-groups "${container[@]}"
setpriv --reuid 61234 --regid 61234 --clear-groups "${container[@]}" "$ebtrace" -f ndjson -o - -- "$acts" minor 3 >"$TMP/t" 2>"$TMP/err"
is "$(grep -c 'reading the rings alone' "$TMP/err") $(grep -c '"kind":"begin"' "$TMP/t" | sed 's/^[1-9].*/some/')" "0 some" \
	"root in a container of an ordinary user, who cannot load BPF programs, reads the rings, of which nothing is missing" || diag "$(cat "$TMP/err")"
done_testing
