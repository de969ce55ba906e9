#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program under `ebtrace --` runs as it would without: OCaml ends one that cannot make its ring, so
# root's tracer sends rings to its directory only where the program itself is one that has rings. What
# runs behind runuser, setpriv, chroot, in namespaces or as another user is probed.
. tests/lib.sh
need_file "$O/ebtrace"
need_command jq
need_command runuser
ocaml_root
ocaml_build_here acts
chmod 755 "$TMP"
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR
here=$EXE
ocaml_build acts
inside=$EXE_IN
acts=(users ints 3 minor 3 sleep 0.4 minor 200 sleep 0.2 exit 6)

# same NAME CMD...: status, output and errors are those of a run without us, and there are events.
same() {
	local name=$1
	shift
	(
		"$@" </dev/null >"$TMP/$name.want" 2>"$TMP/$name.want.err"
		echo $? >>"$TMP/$name.want"
	) &
	"$O/ebtrace" -q -f ndjson -o "$TMP/$name.t" -- "$@" </dev/null >"$TMP/$name.got" 2>"$TMP/$name.got.err"
	echo $? >>"$TMP/$name.got"
	wait
}
# The user events tell the pid, which differs.
plain() { sed -E 's/^[0-9]+\t//' "$1"; }
verdict() { # NAME "sentence"
	is "$(plain "$TMP/$1.got")" "$(plain "$TMP/$1.want")" "$2: its output and its status" || diag "$(cat "$TMP/$1.got.err")"
	is "$(cat "$TMP/$1.got.err")" "$(cat "$TMP/$1.want.err")" "$2: what it writes to stderr"
	# Of 203 collections those before the probes stood are missing; that takes longer than the 0.4 s that
	# it waits where the machine is busy, and is reported.
	[ "$(grep -c '"name":"explicit_gc_minor"' "$TMP/$1.t")" -gt 100 ] ||
		jq -es 'any(.[]; .kind == "summary" and .unwatched_ns > 4e8)' "$TMP/$1.t" >/dev/null
	ok $? "$2: it is traced" || diag "$(tail -1 "$TMP/$1.t")"
}
same runuser runuser -u nobody -- "$here" "${acts[@]}" &
same setpriv setpriv --reuid 65534 --regid 65534 --clear-groups "$here" "${acts[@]}" &
same chroot chroot "$ROOT" "$inside" "${acts[@]}" &
same userspec chroot --userspec=65534:65534 "$ROOT" "$inside" "${acts[@]}" &
# shellcheck disable=SC2016
same shm unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec "$@"' sh "$here" "${acts[@]}" &
same pidns unshare -mpf --mount-proc "$here" "${acts[@]}" &
same shell sh -c "'$here' ${acts[*]}" &
wait
verdict runuser "runuser"
verdict setpriv "setpriv"
verdict chroot "chroot"
verdict userspec "chroot as another user"
verdict shm "a private /dev/shm"
verdict pidns "a pid namespace"
verdict shell "a shell"

# What is sent into the environment, and to whom.
env_of() { env -u EBTRACE_OCAML_ROOT "$O/ebtrace" -q "${@:2}" -f ndjson -o "$TMP/t" -- $1 2>/dev/null | grep -c -e '^EBTRACE' -e '^OCAML_RUNTIME'; }
is "$(env_of env)" 0 "the environment of a program without rings is left alone"
is "$(env_of env --mode probes)" 0 "with --mode probes too"
[ "$(env_of env --mode ring)" -ge 4 ]
ok $? "--mode ring sends it to whatever is started"
for build in "$here" "$O/tests/prog/minigc"; do
	ends_with "@(2|99)" "$O/ebtrace" -v -f ndjson -o "$TMP/t" -- "$build" -h </dev/null >"$TMP/out" 2>"$TMP/err"
	grep -q "is no program with rings" "$TMP/err"
	is $? 1 "${build##*/} is a program with rings"
done
cp "$here" "$TMP/setuid"
chown 65534 "$TMP/setuid"
chmod 4755 "$TMP/setuid"
"$O/ebtrace" -v -f ndjson -o "$TMP/t" -- "$TMP/setuid" users exit 6 >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -c "is no program with rings" "$TMP/err")" "6 1" "a program that becomes another user by its mode runs as it would" || diag "$(cat "$TMP/err")"
PATH=$(dirname "$here"):$PATH "$O/ebtrace" -q -f ndjson -o "$TMP/t" -- acts users ints 50 >"$TMP/out"
user_events "$TMP/t" >"$TMP/got"
same_file "$TMP/got" "$TMP/out" "a program that is found by PATH has its ring, and all its user events"
ends_with 0 "$O/ebtrace" -f ndjson -o "$TMP/t" -- sh -c "'$here' minor 3 sleep 0.3 minor 3" >"$TMP/out" 2>"$TMP/err"
is "$(grep -c 'user events of ocaml 5.3 are not seen; --mode ring' "$TMP/err")" 1 \
	"one message reports that user events are not seen behind a shell" || diag "$(cat "$TMP/err")"
ends_with 0 "$O/ebtrace" -f ndjson -o "$TMP/t" -- sh -c "OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_DIR='$TMP' '$here' users ints 50 sleep 0.3" >"$TMP/out" 2>"$TMP/err"
is "$(grep -c '"kind":"int"' "$TMP/t") $(grep -c 'are not seen' "$TMP/err")" "$(grep -cP '\tint\t' "$TMP/out") 0" \
	"and none if such a program has switched its ring on itself" || diag "$(cat "$TMP/err")"
done_testing
