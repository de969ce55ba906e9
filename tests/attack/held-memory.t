#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Any user who has FUSE can hold those who read a process's memory through /proc, or a file that it has mapped, for
# ever and against every signal. The tracer gives such a read up, and goes on.
. tests/lib.sh
need_root
need_file "$O/tests/attack/held_memory"
need_file /dev/fuse

server=("$O/tests/attack/held_memory")
mkdir "$TMP/dir"
mkfifo "$TMP/in"
end_holder() {
	exec {hold}>&-
	wait "$holder"
}
# start [lock|later]: sets holder, and without lock the ADDRESS of a page of its that is never read. (Linux 6.12
# takes the lock to read maps.)
start() {
	: >"$TMP/ready"
	"${server[@]}" "$TMP/dir" "$@" <"$TMP/in" >"$TMP/ready" 2>"$TMP/err" &
	holder=$!
	exec {hold}>"$TMP/in"
	wait_for grep -qs . "$TMP/ready" "$TMP/err"
	grep -q ready "$TMP/ready" || skip_all "no FUSE here: $(<"$TMP/err")"
	[ "$*" ] || address=$(awk '/\/held$/ { sub("-.*", ""); print; exit }' "/proc/$holder/maps")
}
# reads FILE ADDRESS: whether that ends.
reads() {
	"$O/tests/attack/read_held" "$holder" "$@" >"$TMP/out" &
	reader=$!
	wait_for is_over || { kill -KILL "$reader"; false; }
}
is_over() { ! kill -0 "$reader" 2>/dev/null; }
expected="own: read
held: given up
again: given up
own: read
1 given up, of that process"

start
reads mem "$address"
is $? 0 "a program that reads a page which never comes ends"
is "$(<"$TMP/out")" "$expected" "the read is given up, and not tried again; others go on with a new worker"
reads ahead "$address"
is $? 0 "one that reads its mappings ends, while the page is read ahead"
is "$(<"$TMP/out")" "mappings: read
0 given up" "and has them without delay"
end_holder

# The file is mapped as code: it would be read for markers and runtimes.
start
# ends ARGS...: whether ebtrace does.
ends() {
	"$O/ebtrace" "$@" >"$TMP/out" 2>"$TMP/messages" &
	reader=$!
	wait_for is_over || kill -KILL "$reader"
	wait "$reader"
	STATUS=$?
}
ends list
is $STATUS 0 "list ends beside a mapped file that is never read"
grep -q "mapped files and mappings that are not inspected, as the kernel did not answer: [1-9]" "$TMP/messages"
ok $? "and says so" || diag "$(cat "$TMP/messages")"
ends -p "$holder" --mode stream --wait -d 10ms
[ $STATUS != 137 ]
ok $? "so does a trace of the process" || diag "$(cat "$TMP/messages")"
grep -q "mapped files that were given up, as the kernel did not answer: [1-9]" "$TMP/messages"
ok $? "which says so, too" || diag "$(cat "$TMP/messages")"
end_holder

start lock
in_lock() { grep -q '^[0-9]* ([^)]*) D' "/proc/$holder/stat"; }
wait_for in_lock
ok $? "a process waits for the lock of its own address space"
reads environ 0
is $? 0 "a program that reads its environment ends"
is "$(<"$TMP/out")" "$expected" "as the read is given up"
# Since Linux 6.18 the mappings can be read without that lock.
for args in list "list --json" "-p $holder --mode stream --wait -d 10ms" "-p $holder --mode ring --wait -d 10ms"; do
	# shellcheck disable=SC2086
	ends $args
	[ $STATUS != 137 ]
	ok $? "ebtrace ${args/$holder/PID} ends, whether its mappings can be read or not" || diag "$(cat "$TMP/messages")"
done
ends pages -p "$holder" -d 10ms
is "$STATUS $(head -n 1 "$TMP/messages")" "1 ebtrace: process $holder: cannot attach to pid $holder: the kernel did not answer" \
	"a report of its pages ends, and says that its page tables cannot be read"
end_holder

start later
"$O/ebtrace" pages -p "$holder" >"$TMP/out" 2>"$TMP/messages" &
reader=$!
wait_for grep -q "watching pages" "$TMP/messages"
kill -USR1 "$holder"
is_held() { ps -o stat= --ppid "$reader" | grep -q '^D'; }
wait_for is_held
ok $? "where the lock is held later, a worker of the tracer waits for it"
kill -TERM "$reader"
wait_for is_over || kill -KILL "$reader"
wait "$reader"
is "$? $(grep -c "^  allocated  *[1-9]" "$TMP/out")" "0 1" "and the report ends when asked, with what was seen before" || diag "$(cat "$TMP/out" "$TMP/messages")"
end_holder

# What any user can do: a server in a user namespace. Its files are for those in there alone.
chmod 755 "$TMP"
chmod 777 "$TMP/dir"
install -m 755 "$O/tests/attack/held_memory" "$TMP/server"
mknod -m 666 "$TMP/fuse" c 10 229
# shellcheck disable=SC2016
server=(unshare --mount sh -c 'mount --bind "$1/fuse" /dev/fuse && exec setpriv --reuid 65534 --regid 65534 --clear-groups \
	unshare --user --map-root-user --mount "$1/server" "$2"' sh "$TMP")
start
grep -q "/held$" "/proc/$holder/maps"
ok $? "a user without privilege serves a file, and has it mapped" || diag "$(cat "$TMP/err")"
for args in list "-p $holder --mode stream --wait -d 10ms"; do
	# shellcheck disable=SC2086
	ends $args
	[ $STATUS != 137 ] && ! grep -q "did not answer" "$TMP/messages"
	ok $? "ebtrace ${args/$holder/PID} is not held up: root is not asked to wait for it" || diag "$(cat "$TMP/messages")"
done
end_holder
done_testing
