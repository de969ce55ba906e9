#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Files of other machines are refused with a line that names the machine.
. tests/lib.sh
need_command xz

# forge NAME AT BYTE...: a copy of a program of ours with these bytes in its header.
forge() {
	cp "$O/tests/prog/minigc" "$TMP/$1"
	printf "$3" | dd of="$TMP/$1" bs=1 seek="$2" conv=notrunc status=none
}
# refused NAME MACHINE
refused() {
	"$O/ebtrace" list "$TMP/$1" >"$TMP/out" 2>"$TMP/err"
	is "$? $(cat "$TMP/out" "$TMP/err")" "1 ebtrace: '$TMP/$1': an ELF file of another machine: $2" \
		"list refuses $1, and names its machine: $2"
}
"$O/ebtrace" list "$O/tests/prog/minigc" | grep -q '^ebtrace:begin'
ok $? "the program itself is read"
machine=$(od -An -tx2 -j18 -N2 "$O/tests/prog/minigc" | tr -d ' ')
case $machine in
003e) ours=x86-64 theirs=AArch64 their_bytes='\xb7\x00' ;;
00b7) ours=AArch64 theirs=x86-64 their_bytes='\x3e\x00' ;;
esac
forge class32 4 '\x01'
refused class32 "32-bit, little-endian $ours"
forge class9 4 '\x09'
refused class9 "of no known word size, little-endian $ours"
forge machine 18 "$their_bytes"
refused machine "64-bit, little-endian $theirs"
forge unknown 18 '\x39\x30'
refused unknown "64-bit, little-endian machine 12345"
forge big 5 '\x02'
refused big "64-bit, big-endian machine $(((0x$machine & 255) << 8 | 0x$machine >> 8))"
forge s390 5 '\x02' && printf '\x00\x16' | dd of="$TMP/s390" bs=1 seek=18 conv=notrunc status=none
refused s390 "64-bit, big-endian S/390"
head -c 52 "$TMP/class32" >"$TMP/short"
refused short "32-bit, little-endian $ours"
head -c 19 "$TMP/class32" >"$TMP/head"
"$O/ebtrace" list "$TMP/head" 2>"$TMP/err"
is "$? $(cat "$TMP/err")" "1 ebtrace: '$TMP/head' is not an ELF file" "a file that ends before its machine is none"

# A ring file: every word of its header turned round.
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/ring"
{
	head -c 64 "$TMP/ring" | od -An -v -tx8 -w8 | tr -d ' ' | sed 's/../\\x&/g' |
		while read -r word; do printf "$word"; done
	tail -c +65 "$TMP/ring"
} >"$TMP/1.events"
"$O/ebtrace" info "$TMP/1.events" 2>"$TMP/err"
is $? 1 "a ring file of the other byte order is refused"
grep -q "'$TMP/1.events': it is of a machine with the other byte order" "$TMP/err"
ok $? "and its kind is reported" || diag "$(cat "$TMP/err")"
done_testing
