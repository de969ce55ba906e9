#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# list --prune removes ring files that dead processes left, and nothing else: in doubt a file is kept,
# and why is said.
. tests/lib.sh
need_command jq
need_command xz
export XDG_RUNTIME_DIR=$TMP/runtime
dir=$XDG_RUNTIME_DIR/ebtrace
mkdir -m 700 "$XDG_RUNTIME_DIR" "$dir"
unset EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR
list() { "$O/ebtrace" list "$@" | grep -E "^(stale|kept): .*$TMP|\"(stale|kept)\":\"$TMP"; }
sh -c 'exit 0' &
gone=$!
wait $gone
sleep 1000 &
alive=$!
children+=($alive)
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/ring"

# What is no ring, by its name, its kind or its content.
names=(2024-q3.events.csv "0$gone.events" "+$gone.events" "-$gone.events" "$gone.events.bak" "$gone.event" "$gone-1.events"
	"$gone-02.events" "99999999999.events" "0.events" "x$gone.events")
for name in "${names[@]}"; do cp "$TMP/ring" "$dir/$name"; done
is "$(list -v)" "" "files whose names are not exactly those of rings are not even listed"
list --prune >"$TMP/out"
is "$(cat "$TMP/out")$(ls "$dir" | wc -l)" "${#names[@]}" "nor removed" || diag "$(cat "$TMP/out")"
rm "$dir"/*
# kept NAME "reason" "sentence"
kept() {
	list -v --prune >"$TMP/out"
	grep -q "^kept: $dir/$1: $2" "$TMP/out" && [ -e "$dir/$1" -o -L "$dir/$1" ]
	ok $? "$3 is kept, and the reason printed" || diag "$(cat "$TMP/out")"
	list --json --prune | jq -es --arg p "$dir/$1" 'any(.[]; .kept == $p and .reason)' >/dev/null
	ok $? "$3: in JSON too"
	rm -rf "${dir:?}/$1"
}

echo date,of,a,table >"$dir/$gone.events"
kept "$gone.events" "not a ring file" "a table with the name of a ring"
head -c 2000000 /dev/zero >"$dir/$gone.events"
kept "$gone.events" "its header is empty" "a file of zeros"
head -c 3000 "$TMP/ring" >"$dir/$gone.events"
kept "$gone.events" "not a ring file" "a ring that is cut"
cp "$TMP/ring" "$dir/$gone.events"
printf '\1' | dd of="$dir/$gone.events" bs=1 seek=16 conv=notrunc 2>/dev/null
kept "$gone.events" "not a ring file" "a ring with a damaged header"
ln -s "$TMP/ring" "$dir/$gone.events"
kept "$gone.events" "not a regular file" "a link"
mkfifo "$dir/$gone.events"
kept "$gone.events" "not a regular file" "a FIFO"
mkdir "$dir/$gone.events"
kept "$gone.events" "not a regular file" "a directory"
cp "$TMP/ring" "$dir/$alive.events"
kept "$alive.events" "a process of that number lives" "a ring whose number a process has"
cp "$TMP/ring" "$dir/1.events"
kept "1.events" "a process of that number lives" "a ring with the number of another user's process"
cp "$TMP/ring" "$dir/$gone-2.events"
kept "$gone-2.events" "written by another process" "a second ring that does not name its process"
if [ "$(id -u)" = 0 ]; then
	cp "$TMP/ring" "$dir/$gone.events"
	chown 65534 "$dir/$gone.events"
	kept "$gone.events" "belongs to another user" "another user's ring"
	# Whoever may not send a signal to a process cannot say that it is gone.
	chmod 755 "$TMP"
	install -m 755 "$O/ebtrace" "$TMP/ebtrace"
	install -d -m 700 -o 65534 "$TMP/nobody"
	install -m 600 -o 65534 "$TMP/ring" "$TMP/nobody/1.events"
	EBTRACE_DIR=$TMP/nobody setpriv --reuid 65534 --clear-groups "$TMP/ebtrace" list -v --prune >"$TMP/out"
	grep -q "^kept: $TMP/nobody/1.events: a process of that number lives" "$TMP/out" && [ -e "$TMP/nobody/1.events" ]
	ok $? "a ring with the number of a process that is another user's is kept" || diag "$(cat "$TMP/out")"
fi

# A ring that is locked, and one that another process maps.
cp "$TMP/ring" "$dir/$gone.events"
exec 8<"$dir/$gone.events"
flock 8
list -v --prune >"$TMP/out"
is "$(cat "$TMP/out"; ls "$dir")" "$gone.events" "a ring that is locked is in use, and left"
exec 8<&-
python=$(command -v python3 || true)
if [ -n "$python" ]; then
	"$python" -c 'import mmap,sys,time
f=open(sys.argv[1],"rb"); m=mmap.mmap(f.fileno(),4096,prot=mmap.PROT_READ); f.close()
open(sys.argv[2],"w").close(); time.sleep(60)' "$dir/$gone.events" "$TMP/mapped" &
	children+=($!)
	wait_for test -e "$TMP/mapped"
	list -v --prune >"$TMP/out"
	is "$(cat "$TMP/out"; ls "$dir")" "$gone.events" "a ring that any process has mapped is in use, and left"
	kill "${children[-1]}"
	wait "${children[-1]}" 2>/dev/null
fi

# What was left, in one line; then it is removed.
kb=$((($(stat -c %b "$dir/$gone.events") + 1) / 2))
is "$(list | grep -c "^stale: 1 file, $kb kB, in $dir; --prune removes")" 1 "what was left is listed"
for i in $(seq 2 1 9) ; do
	sh -c 'exit 0' &
	wait $!
	[ -e "/proc/$!" ] || cp "$TMP/ring" "$dir/$!.events"
done
n=$(ls "$dir" | wc -l)
is "$(list | sed 's/ [0-9]* kB,//')" "stale: $n files, in $dir; --prune removes them" "many files are one line"
kb=$((($(stat -c %b "$dir"/*.events | paste -sd+) + 1) / 2))
is "$(list)" "stale: $n files, $kb kB, in $dir; --prune removes them" "with the bytes of all of them"
is "$(list -v | grep -c "^stale: $dir/[0-9]*.events$")" "$n" "with -v each has its own"
list --json >"$TMP/out"
is "$(jq -s 'map(select(.stale and .removed == false and .bytes > 0)) | length' "$TMP/out")" "$n" "in JSON too"
echo date,of,a,table >"$dir/${gone}1.events"
list --prune >"$TMP/out"
is "$(sed 's/ [0-9]* kB,//' "$TMP/out" | xargs -d '\n')" \
	"stale: $n files, in $dir (removed) kept: 1 file in $dir: ${gone}1.events: not a ring file" \
	"--prune removes them, and prints what it kept"
is "$(ls "$dir")" "${gone}1.events" "and they are gone"
rm "$dir"/*

# Names that would spoil the output; a directory named twice; directories of runs.
odd=$TMP/'a"b\c
d'
mkdir -m 700 "$odd"
cp "$TMP/ring" "$odd/$gone.events"
EBTRACE_DIR=$odd "$O/ebtrace" list --json --ring-dir "$odd" >"$TMP/out"
is "$(jq -s --arg p "$odd/$gone.events" 'map(select(.stale == $p)) | length' "$TMP/out")" 1 \
	"a directory of any name, named twice, is listed once, as JSON"
EBTRACE_DIR=$odd "$O/ebtrace" list -v | grep -q "^stale: $TMP/a\"b.c?d/$gone.events$"
ok $? "and as one line of text"
mkdir -m 700 "$XDG_RUNTIME_DIR"/ebtrace-run-{aaaaaa,bbbbbb,cccccc}
cp "$TMP/ring" "$XDG_RUNTIME_DIR/ebtrace-run-aaaaaa/$gone.events"
: >"$XDG_RUNTIME_DIR/ebtrace-run-bbbbbb/notes"
exec 8<"$XDG_RUNTIME_DIR/ebtrace-run-cccccc"
flock -s 8
is "$(list | sed 's/ [0-9]* kB,//')" "stale: 2 directories of runs, 1 file, in $XDG_RUNTIME_DIR; --prune removes them" \
	"directories of runs that were killed are listed, not that of a run that goes on"
list --prune >/dev/null
is "$(cd "$XDG_RUNTIME_DIR" && ls -d ebtrace-run-* | xargs)" "ebtrace-run-bbbbbb ebtrace-run-cccccc" \
	"and removed, unless there is something else in them"
# Where a directory is named there may be anything: what would wait for a writer is not opened.
mkfifo "$TMP/fifo"
for variable in EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR; do
	env "$variable=$TMP/fifo" timeout -k 1 60 "$O/ebtrace" list --prune >"$TMP/out" 2>&1
	is $? 0 "a pipe in $variable, in place of a directory, is left alone" || diag "$(cat "$TMP/out")"
done
done_testing
