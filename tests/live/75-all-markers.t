#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -a with markers of any program (-U): all processes that run or map a file, by one link for each file, also those that
# come; ebtrace itself is left out. Each run has a pid namespace of its own, in which nothing else is.
. tests/lib.sh
need_root
need_command jq
need_command cc
need_file "$O/tests/prog/operands_x86_64"
prog=$TMP/operands
cp "$O/tests/prog/operands_x86_64" "$prog"
cp "$O/tests/prog/sites_x86_64" "$TMP/sites"
ebtrace=$(realpath "$O/ebtrace")
chmod 755 "$TMP"

# A library with a marker, which programs pass in a thread of it, and two programs that map it.
cat >"$TMP/lib.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile uint16_t lib_semaphore __attribute__((section(".probes"), visibility("hidden")));
static void *pass(void *arg)
{
	(void)arg;
	const char *most = getenv("PASSES");
	for (long n = 0, sets = 0; !most || n < atol(most); n++) {
		__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
				 ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
				 "993: .8byte 990b, 0, lib_semaphore\n.asciz \"lib\"\n.asciz \"hit\"\n.asciz \"8@%%rax\"\n"
				 "994: .balign 4\n.popsection\n" : : "a"(n));
		sets += lib_semaphore != 0;
		usleep(n < 5 ? 1 : 10000);
		if (most && n + 1 == atol(most))
			fprintf(stderr, "%d passed %ld, %ld with the semaphore\n", getpid(), n + 1, sets);
	}
	return NULL;
}
__attribute__((constructor)) static void begin(void)
{
	pthread_t t;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_create(&t, NULL, pass, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (getenv("PASSES"))
		pthread_join(t, NULL);
}
END
echo 'int main(void) { for (;;) pause(); }' | cc -x c -include unistd.h - -o "$TMP/one"
cc -O1 -shared -fPIC -pthread "$TMP/lib.c" -o "$TMP/lib.so" || diag "no library"
cp "$TMP/one" "$TMP/two"

# inside DIR COMMANDS...: in a namespace, with two processes of the program with markers, which obey $a and $b, and one
# of two programs each that map the library, $one and $two.
inside() {
	local dir=$1
	shift
	mkdir -p "$TMP/$dir"
	cat >"$TMP/$dir/run" <<-END
		cd "$TMP/$dir"
		mkfifo a.in b.in
		"$prog" <a.in >a.out & a=\$!
		"$prog" <b.in >b.out & b=\$!
		exec 3>a.in 4>b.in
		LD_PRELOAD=$TMP/lib.so "$TMP/one" & one=\$!
		LD_PRELOAD=$TMP/lib.so "$TMP/two" & two=\$!
		until grep -q ready a.out && grep -q ready b.out; do sleep 0.01; done
		echo "\$a \$b \$one \$two" >pids
		begun() { until grep -q real-time err; do sleep 0.01; done; }
		holders() { grep -l uprobe-links /proc/[0-9]*/comm | wc -l; }
		end() { kill -INT \$tracer; wait \$tracer; }
		$*
	END
	timeout $((60 * SLOWNESS)) unshare -pf --mount-proc bash "$TMP/$dir/run" >"$TMP/$dir/out" 2>"$TMP/$dir/err"
	status=$?
	read -r a b one two <"$TMP/$dir/pids"
}
# marked DIR NAME: pids that have passed the marker.
marked() { jq -r "select(.name == \"$2\") | .pid" "$TMP/$1/out.ndjson" | sort -un | paste -sd' '; }
sorted() { echo "$*" | xargs -n1 | sort -n | paste -sd' '; }

inside there "$ebtrace -v -a -U operands:signed -U operands:often -U lib:hit -f ndjson -o out.ndjson & tracer=\$!
	begun
	echo fs >&3; echo f >&4
	sleep 0.3
	holders >holders
	(printf 'f\n'; sleep 0.5) | \"$prog\" >late.out
	echo f | \"$prog\" >short.out
	end"
is $status 0 "-a takes markers of any program, and ends when asked" || diag "$(tail -5 "$TMP/there/err")"
marked there operands:signed | grep -qE "^$a $b$(shares && echo ' [0-9]+ [0-9]+')"
ok $? "processes that run a program with them are traced, those that were there and two that come" || diag "$(marked there operands:signed) of $a $b" "$(tail -5 "$TMP/there/err")"
is "$(marked there lib:hit)" "$(sorted "$one" "$two")" "so are all that have a library with them mapped"
is "$(grep -xE '[0-9]+' "$TMP/there/a.out")" 2 "which is set once for each of the markers, however many processes there are"
if shares; then
	is "$(<"$TMP/there/holders")" 3 "each of the two files has one link, and one process has made them"
else
	[ "$(<"$TMP/there/holders")" -ge 3 ]
	ok $? "each process has links of its own"
fi
if shares; then
	is "$(jq -s '[.[] | select(.kind == "lost")] | length' "$TMP/there/out.ndjson")" 0 "those that come are traced from the first marker that they pass" ||
		diag "$(grep '"lost"' "$TMP/there/out.ndjson")" "$(tail -5 "$TMP/there/err")"
else
	jq -es 'any(.[]; .kind == "lost")' "$TMP/there/out.ndjson" >/dev/null
	ok $? "what they pass before they are found is lost"
fi
jq -es --argjson n "$(shares && echo 4 || echo 2)" '[.[] | select(.name == "operands:signed")] | length >= $n and length <= 4 and all(.[]; .arg0 == -9 and .arg1 == -16)' \
	"$TMP/there/out.ndjson" >/dev/null
ok $? "each hit is one event with its arguments" || diag "$(grep operands:signed "$TMP/there/out.ndjson")"

inside own "LD_PRELOAD=$TMP/lib.so $ebtrace -v -a -U 'lib:*' -f ndjson -o out.ndjson & tracer=\$!
	begun
	sleep 0.5
	echo \$tracer >tracer
	end"
is "$status $(marked own lib:hit)" "0 $(sorted "$one" "$two")" "ebtrace itself is left out, with what it has started" || diag "$(tail -3 "$TMP/own/err")"

inside spans "$ebtrace -v -a -U 'operands:*_begin~operands:*_end' -f ndjson -o out.ndjson & tracer=\$!
	begun
	printf 'k\nt\n' >&3; printf 'k\nt\n' >&4
	sleep 0.5
	end"
is "$status $(jq -s '[.[] | select(.kind == "span_begin") | [.name, .pid]] | group_by(.) | map(length)' "$TMP/spans/out.ndjson" | jq -c .)" "0 [3,3,3,3]" \
	"patterns and pairs are of all processes, too" || diag "$(tail -3 "$TMP/spans/err")"

inside plain "$ebtrace -a -d 0.5s -f ndjson -o out.ndjson"
is "$status $(grep -hs '"kind":"marker"' "$TMP/plain/out.ndjson" | wc -l)" "4 0" "without -U none of them is probed"

# The price of all: a process with many sites, and interpreters.
inside many "\"$TMP/sites\" <b.in & sites=\$!; sleep 0.1
	$ebtrace -a -U 'ebtrace:b*' -d 1s >refused 2>err.refused; echo \$? >>refused
	$ebtrace -a -U python:line -d 1s >>refused 2>>err.refused; echo \$? >>refused
	echo \$sites >sites; kill \$sites"
is "$(paste -sd' ' "$TMP/many/refused")" "2 2" "what needs --many of a process is refused of all, with status 2"
grep -qE "^ebtrace: -U asks for 500 sites in process $(<"$TMP/many/sites"), more than 64; each hit costs the program .*[0-9]+ ns.*; --many allows it\$" "$TMP/many/err.refused" &&
	grep -q '^ebtrace: python:line fires on every call.*--many allows it' "$TMP/many/err.refused"
ok $? "and the price" || diag "$(cat "$TMP/many/err.refused")"

inside nothing "$ebtrace -a -U zz:none -d 0.3s"
is $status 4 "where no process has the markers the status is 4"
grep -q '^ebtrace: marker zz:none is in no file of the traced processes$' "$TMP/nothing/err" &&
	grep -q '^ebtrace: the names of markers that were seen: .*lib:hit' "$TMP/nothing/err"
ok $? "and the names that were seen are listed" || diag "$(cat "$TMP/nothing/err")"
done_testing
