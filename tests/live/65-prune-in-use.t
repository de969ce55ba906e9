#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# list --prune and rings whose processes are hard to see: in other pid namespaces, of other users by
# now. What is in use stays.
. tests/lib.sh
need_root
need_command xz
export XDG_RUNTIME_DIR=$TMP/runtime EBTRACE_DIR=$TMP/rings
mkdir -m 700 "$XDG_RUNTIME_DIR" "$EBTRACE_DIR"
unset OCAML_RUNTIME_EVENTS_DIR
chmod 755 "$TMP"
map=$(realpath "$O/tests/attack/maps_a_ring")
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/ring"
in_use() { # FILE "sentence"
	ends_with 0 "$O/ebtrace" list -v --prune | grep "$EBTRACE_DIR" >"$TMP/out"
	[ -e "$1" ] && ! grep -q "^stale: $1" "$TMP/out"
	ok $? "$2" || diag "$(cat "$TMP/out")"
}
# shellcheck disable=SC2016
run='cp "$1" "$2/$$.events" && exec "$3" "$2/$$.events" "$4" 60'

# A process of another pid namespace: its number is that of a kernel thread here.
unshare -pf --kill-child sh -c '"$@"; :' sh sh -c "$run" sh "$TMP/ring" "$EBTRACE_DIR" "$map" rw &
children+=($!)
wait_for eval 'grep -qs "$EBTRACE_DIR/2.events" /proc/[0-9]*/maps'
in_use "$EBTRACE_DIR/2.events" "the live ring of another pid namespace is left"

# A daemon that has dropped its privileges.
sh -c "$run" sh "$TMP/ring" "$EBTRACE_DIR" "$map" drop &
daemon=$!
children+=($daemon)
wait_for grep -qs "^Uid:.65534" "/proc/$daemon/status"
in_use "$EBTRACE_DIR/$daemon.events" "the live ring of a daemon that dropped its privileges is left"
kill -9 "${children[@]}" # unshare ignores SIGTERM
wait "${children[@]}" 2>/dev/null
children=()

# From inside a pid namespace the processes outside cannot be seen.
rm -f "$EBTRACE_DIR"/*
cp "$TMP/ring" "$EBTRACE_DIR/999999.events"
prune_inside() { unshare -pf --mount-proc "$O/ebtrace" list -v --prune | grep "999999"; }
chmod 755 "$EBTRACE_DIR"
is "$(prune_inside)" "kept: $EBTRACE_DIR/999999.events: its process may live in another pid namespace" \
	"in a pid namespace, a directory that others see is kept, and the reason is printed"
chmod 700 "$EBTRACE_DIR"
is "$(prune_inside)" "stale: $EBTRACE_DIR/999999.events (removed)" "one that is ours alone is not"
done_testing
