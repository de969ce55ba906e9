#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ebtrace mem record: the children of a program run as without, in whichever way it starts them and whatever
# they are; --children records those that can be.
. tests/lib.sh
need_command jq
need_command musl-gcc
ebt=$O/ebtrace
starts=${O%/asan}/tests/prog/starts

# record OPTIONS -- PROGRAM: into $TMP/out.ctf and $TMP/out.PID.ctf; sets status.
record() {
	rm -f "$TMP"/out*.ctf
	"$ebt" mem record -o "$TMP/out.ctf" "$@" >"$TMP/stdout" 2>"$TMP/stderr"
	status=$?
}
# runs_as_without "a sentence" OPTIONS -- PROGRAM: status, output and messages of both runs.
runs_as_without() {
	local name=$1 want i
	shift
	for ((i = 1; i < $#; i++)); do [ "${!i}" = -- ] && break; done
	"${@:i+1}" >"$TMP/want" 2>"$TMP/want.err"
	want=$?
	record -q "$@"
	cmp -s "$TMP/stdout" "$TMP/want" && cmp -s "$TMP/stderr" "$TMP/want.err" && [ $status = $want ]
	ok $? "$name" || diag "status $status, expected $want" "$(diff "$TMP/stdout" "$TMP/want" | head -8)" \
		"$(diff "$TMP/stderr" "$TMP/want.err" | head -8)"
}
# The recorded programs that allocated something of so many words, in any file.
programs_with() {
	"$ebt" -q -f ndjson "$TMP"/out*.ctf | jq -r --argjson words "$1" 'select(.kind == "alloc" and .words == $words) | .pid' |
		sort -u | wc -l
}

cat >"$TMP/child.c" <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	extern char **environ;
	void *volatile kept;
	int main(void)
	{
		kept = malloc(8 * 555);
		for (char **e = environ; *e; e++)
			if ((*e)[0] != '_') /* a shell's own: the program it started */
				puts(*e);
		fflush(stdout);
		return 3;
	}
END
words=4440 # bytes, of which a word of the trace is one
gcc -o "$TMP/child" "$TMP/child.c"
gcc -static -o "$TMP/static" "$TMP/child.c"
musl-gcc -o "$TMP/musl" "$TMP/child.c"
gcc -fsanitize=address -o "$TMP/asan" "$TMP/child.c"
gcc -fsanitize=thread -o "$TMP/tsan" "$TMP/child.c"
printf '#!%s\n' "$TMP/child" >"$TMP/script"
printf '#!%s\n' "$TMP/asan" >"$TMP/script.asan"
chmod +x "$TMP"/script*
export ASAN_OPTIONS=detect_leaks=0
sanitized=$ASAN_OPTIONS:verify_asan_link_order=0 # ebtrace may be

for kind in child static musl asan tsan script script.asan; do
	runs_as_without "a child that is '$kind' has its status, output and environment" -- "$starts" all "$TMP/$kind"
	runs_as_without "$kind: also with --children" --children -- "$starts" all "$TMP/$kind"
done
LD_PRELOAD=libm.so.6 ASAN_OPTIONS=$sanitized runs_as_without "the user's own LD_PRELOAD is what the children have" -- "$starts" all "$TMP/child"
LD_PRELOAD=libm.so.6 ASAN_OPTIONS=$sanitized runs_as_without "with --children, too" --children -- "$starts" all "$TMP/child"
LD_PRELOAD= ASAN_OPTIONS=$sanitized runs_as_without "also an empty one" --children -- "$starts" all "$TMP/child"
for preload in "" libm.so.6; do
	LD_PRELOAD=$preload ASAN_OPTIONS=$sanitized runs_as_without "the program's environment is what it is without" -- "$TMP/child"
done
runs_as_without "commands that a shell has to quote" --children -- perl -e \
	'print qx(echo "it'"'"'s" \$0; nosuch-program; exit 3), $?, "\n"; exit system("echo \"a  b\"; exit 7") >> 8'
if [ "$(id -u)" = 0 ]; then
	mkdir -p "$TMP/root"
	tar -ch -C / "$TMP/child" $(ldd "$TMP/child" | grep -o '/[^ ]*') 2>/dev/null | tar -x -C "$TMP/root"
	for option in "" --children; do
		runs_as_without "a child in a chroot${option:+, with $option}" $option -- chroot "$TMP/root" "$TMP/child"
		runs_as_without "one of another user${option:+, with $option}" $option -- \
			sh -c 'setpriv --reuid=65534 --clear-groups true; echo $?'
	done
	cp "$TMP/child" "$TMP/setuid"
	chown 65534 "$TMP/setuid"
	chmod 4755 "$TMP/setuid"
	for option in "" --children; do
		runs_as_without "a set-user-id child${option:+, with $option}" $option -- "$starts" all "$TMP/setuid"
	done
	# In a user namespace the kernel can be told what runs it, and the machine stays as it is.
	aarch64-linux-gnu-gcc -o "$TMP/aarch64" "$TMP/child.c"
	printf '#!/bin/sh\nmount -t binfmt_misc none /proc/sys/fs/binfmt_misc || exit\nprintf "%s" >/proc/sys/fs/binfmt_misc/register\nexec "$@"\n' \
		":aarch64:M:18:\\\\xb7::$(command -v qemu-aarch64):" >"$TMP/emulated"
	chmod +x "$TMP/emulated"
	emulated=(unshare --user --map-root-user --mount env QEMU_LD_PREFIX=/usr/aarch64-linux-gnu "$TMP/emulated")
	if "${emulated[@]}" true 2>"$TMP/why"; then
		for option in "" --children; do
			runs_as_without "one of another architecture${option:+, with $option}" $option -- "${emulated[@]}" "$starts" all "$TMP/aarch64"
		done
		is "$("${emulated[@]}" "$TMP/aarch64" | grep -c ^QEMU_LD_PREFIX)" 1 "which does run there"
	else
		diag "no child of another architecture is tried: $(<"$TMP/why")"
	fi
fi

# Who is recorded.
record --rate 1 -- "$starts" all "$TMP/child"
is "$status $(programs_with $words) $(ls "$TMP"/out*.ctf | wc -l)" "0 0 1" "without --children no child is recorded"
is "$(grep -c 'programs that its children ran and that are not recorded: 15; --children records them' "$TMP/stderr")" 1 \
	"which a line says" || diag "$(cat "$TMP/stderr")"
record --rate 1 --children -- "$starts" all "$TMP/child"
is "$(programs_with $words)" 15 "--children: a program is recorded in whichever way it is started" || diag "$(cat "$TMP/stderr")"
is "$(programs_with 777)" 1 "and a child that is only forked"
is "$(grep -c 'not recorded' "$TMP/stderr")" 0 "so nothing is missing"
is "$(for f in "$TMP"/out*.ctf; do "$ebt" info "$f"; done | grep -c 'damage     none')" "$(ls "$TMP"/out*.ctf | wc -l)" \
	"the file of each process is a whole trace"
is "$(ls "$TMP"/out.[0-9]*.ctf | sed 's/.*out\.\([0-9]*\)\.ctf/\1/' | sort)" \
	"$("$ebt" -q -f ndjson "$TMP"/out.[0-9]*.ctf | jq -r 'select(.kind == "alloc").pid' | sort -u)" "and has its pid in its name"
record --rate 1 --children -- "$starts" all "$TMP/asan"
is "$(grep -c 'programs that its children ran and that are not recorded: [0-9]*; the recorder' "$TMP/stderr")" 1 "those that cannot be are counted" ||
	diag "$(cat "$TMP/stderr")"
if [ "$(uname -m)" = x86_64 ]; then
	record --rate 1 --children -- "$starts" instruction "$TMP/asan"
	is "$status $(cat "$TMP/stdout" | grep -c 'instruction: 768')" "0 1" "one that is run by no function of libc runs as without"
	record --rate 1 -- "$starts" "become by instruction" "$TMP/child"
	is "$status $(grep -c "the recording ends before '.*' did" "$TMP/stderr")" "3 1" \
		"a program that becomes another one by no function of libc is reported"
fi
printf '#!/bin/sh\n%s\nexit 3\n' "$TMP/child" >"$TMP/run.sh"
chmod +x "$TMP/run.sh"
record --rate 1 -- "$TMP/run.sh"
is "$status $(grep -c 'not recorded: 1; --children' "$TMP/stderr")" "3 1" "a script that runs another program: a line names --children"

# A program that becomes another one.
record --rate 1 -- env -i "$TMP/child"
is "$status $(programs_with $words) $(grep -c 'not recorded' "$TMP/stderr")" "3 1 0" "exec: the next program is recorded, also by env -i"
record --rate 1 -- "$starts" become "$TMP/asan"
is "$status $(grep -c "became by exec() and that are not recorded: 1;" "$TMP/stderr")" "3 1" \
	"exec of a program that cannot be recorded is counted"
"$ebt" mem "$TMP/out.ctf" >"$TMP/report" 2>"$TMP/log"
is "$(grep -c 'Not all is counted: unknown number lost' "$TMP/report") $(grep -c 'not recorded: 1$' "$TMP/log")" "1 1" \
	"the file has that, too" || diag "$(cat "$TMP/report" "$TMP/log")"
"$ebt" mem diff "$TMP/out.ctf" "$TMP/out.ctf" 2>"$TMP/log" >"$TMP/report"
is "$(grep -c exact "$TMP/report")" 0 "of nothing that was recorded no amount is exact" || diag "$(cat "$TMP/report")"
record --rate 1 -- perl -e '@kept = map { "x" x $_ } 1 .. 1000; exec @ARGV' "$TMP/asan"
"$ebt" mem "$TMP/out.ctf" >"$TMP/report" 2>"$TMP/log"
is "$(grep -c 'exact' "$TMP/report") $(grep -c '^  allocated .* at least [0-9.]* ' "$TMP/report") $(grep -c '^  alive .* not known ' "$TMP/report")" \
	"0 1 1" "nor where something was" || diag "$(cat "$TMP/report")"
is "$(grep -A1 "^Not recorded of .*: programs that it became by exec(): 1$" "$TMP/report" | sed 's/^Not .*/missing/' | paste -sd,)" "missing," \
	"and the report itself says what is missing, in a paragraph" || diag "$(head -5 "$TMP/report")"
"$ebt" mem hotspots --json "$TMP/out.ctf" 2>"$TMP/log" | command jq -c '[.total.high, .total.low == .total.bytes, .programs[0].complete, .programs[0].not_recorded]' >"$TMP/json"
is "$(cat "$TMP/json")" '[null,true,false,{"programs":1,"ended_early":false,"events":0}]' "as does its JSON"
"$ebt" mem diff "$TMP/out.ctf" "$TMP/out.ctf" 2>"$TMP/log" >"$TMP/report"
is "$(grep -c 'exact' "$TMP/report") $(grep -c 'not known' "$TMP/report" | sed 's/[1-9][0-9]*/some/')" "0 some" "and a difference to it" || diag "$(cat "$TMP/report")"
if [ "$(id -u)" = 0 ]; then
	record --rate 1 -- setpriv --reuid=65534 --clear-groups true
	is "$status $(grep -c "became by exec() and that are not recorded: 1;" "$TMP/stderr")" "0 1" \
		"exec as another user is counted"
	record --rate 1 -- unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec true'
	is "$status $(grep -c "became by exec() and that are not recorded: 1;" "$TMP/stderr")" "0 1" \
		"exec where the directory of traces is not there is counted"
fi
# Which process is meant: its number may be another's, too. The library is loaded as ebtrace does it.
library=$(realpath "${O%/asan}/libebtrace-preload.so")
mkdir "$TMP/traces"
# loaded START NAMESPACE [COMMAND...]: files that `child` makes if told that they are of its own number.
loaded() {
	local start=$1 namespace=$2
	shift 2
	rm -f "$TMP"/traces/*
	START=$start NAMESPACE=$namespace "$@" bash -c '
		read -r stat </proc/$$/stat
		set -- "$@" ${stat##*)}
		: "${START:=${23}}" "${NAMESPACE:=$(stat -Lc %i /proc/$$/ns/pid)}"
		EBTRACE_MEM_RECORD=$$:$START:$NAMESPACE:0:1:0:$1 LD_PRELOAD=$2 exec "$3"' \
		bash "$TMP/traces" "$library" "$TMP/child" >/dev/null
	ls "$TMP/traces" | wc -l
}
is "$(loaded "" "" env)" 2 "the process that is meant makes a trace"
is "$(loaded 17 "" env)" 0 "one with its number that began at another time does not"
is "$(loaded "" 17 env)" 0 "nor one in another namespace of pids"
if [ "$(id -u)" = 0 ]; then
	is "$(loaded "" "$(stat -Lc %i /proc/$$/ns/pid)" unshare --fork --pid --mount-proc)" 0 "such as one that is nested in it"
fi
for kind in asan tsan; do
	record -- "$TMP/$kind"
	is "$status $(wc -l <"$TMP/stderr") $(grep -c 'linked with a sanitizer' "$TMP/stderr")" "4 1 1" \
		"a program with a sanitizer ($kind) is refused in one line"
done
done_testing
