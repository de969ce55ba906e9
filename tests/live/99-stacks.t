#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Stacks of events of any kind: the functions and lines that a program printed, in every format that
# has room for them, of the chosen events alone; what cannot be right is cut and marked.
. tests/lib.sh
need_root
need_command jq
need_command perl
need_command protoc
need_command setpriv

chmod 755 "$TMP"
install -m 755 "$O/ebtrace" "$O/tests/prog/nested" "$TMP"
# run ARGS...: ebtrace with nested, 3 functions deeper and 2 rounds; its lines in printed.
run() { feed | timeout 300 "$O/ebtrace" "$@" -- "$TMP/nested" 3 2 >"$TMP/printed" 2>"$TMP/err"; }
# functions NDJSON KIND: "function line" of the stacks of a kind's events, as nested prints them.
functions() {
	jq -r --arg kind "$2" 'select(.kind == $kind and .domain == 0) | .stack // [] | reverse[] |
		select(contains("nested.c:")) | sub("@.*nested\\.c:"; " ") | sub(":.*"; "")' "$1"
}

run --stack -o "$TMP/all.ndjson" -q
is $? 0 "a program is traced with stacks" || diag "$(cat "$TMP/err")"
cat "$TMP/printed" "$TMP/printed" >"$TMP/wanted"
functions "$TMP/all.ndjson" begin >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "the begins have the stacks that the program has printed, by function and line"
functions "$TMP/all.ndjson" end | sed 's/^inner .*/inner/' >"$TMP/got"
sed 's/^inner .*/inner/' "$TMP/wanted" >"$TMP/wanted.end"
same_file "$TMP/got" "$TMP/wanted.end" "so have the ends, from their own line"
is "$(jq -r 'select(.kind == "begin") | .stack[]' "$TMP/all.ndjson" | grep -c -e ebt_ -e 'not whole')" 0 \
	"no frame is of the library, and no stack is cut"

run '--stack=minor' -o "$TMP/some.ndjson" -q
is "$(jq -r 'select(.stack and .kind != "process") | "\(.kind) \(.name)"' "$TMP/some.ndjson" | sort -u | tr '\n' ' ')" \
	"begin minor end minor " "--stack=GLOB: events of this name alone"
run '--stack=!end' '--stack=!lifecycle' -o "$TMP/some.ndjson" -q
is "$(jq -r 'select(.stack) | .kind' "$TMP/some.ndjson" | sort -u | tr '\n' ' ')" "begin counter " \
	"--stack=!GLOB: all but those"
run -o "$TMP/none.ndjson" -q
is "$(grep -c '"stack"' "$TMP/none.ndjson")" 0 "without --stack no event has one"

# The modules that the stacks of a trace are of.
modules() { jq -r 'select(.kind == "module") | "\(.path) \(.build_id)"' "$1" | sort; }
build_id() { readelf -n "$1" | sed -n "s|^ *Build ID: |$2 |p"; }
{
	build_id "$TMP/nested" "$TMP/nested"
	libc=$(sed -n 's/.* \(\/[^ ]*libc[.-][^ ]*\)$/\1/p' /proc/self/maps | head -1)
	build_id "$libc" "$libc"
} | sort >"$TMP/modules"
modules "$TMP/all.ndjson" | grep -v /ld- >"$TMP/got" # that starts the program
same_file "$TMP/got" "$TMP/modules" "the modules of stacks are there, each once, with their build ids"
is "$(jq -r 'select(.stack or .kind == "module") | .kind' "$TMP/all.ndjson" | head -1)" module "before the first stack"

run --stack=begin -o "$TMP/x.ebt" -q
mv "$TMP/nested" "$TMP/elsewhere"
ends_with 0 "$O/ebtrace" "$TMP/x.ebt" -o "$TMP/x.ndjson" -q
functions "$TMP/x.ndjson" begin >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "a capture has them, also when the program's file is gone"
modules "$TMP/x.ndjson" >"$TMP/got"
same_file "$TMP/got" "$TMP/modules" "and the modules"
ends_with 0 "$O/ebtrace" "$TMP/x.ebt" >"$TMP/x.txt"
grep -A 6 'begin minor' "$TMP/x.txt" | sed -n 's/^ *at \(.*\)@.*nested\.c:\([0-9]*\).*/\1 \2/p' >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "text has them, a line for each frame"
ends_with 0 "$O/ebtrace" "$TMP/x.ebt" -o "$TMP/x.json" -q
jq -r '.[] | select(.ph == "B") | .args.stack[] | select(contains("nested.c:")) |
	sub("@.*nested\\.c:"; " ") | sub(":.*"; "")' "$TMP/x.json" >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "so has Chrome's JSON, in the arguments"
ends_with 0 "$O/ebtrace" "$TMP/x.ebt" -o "$TMP/x.pftrace" -q
protoc -I tests/perfetto --decode=perfetto.protos.Trace tests/perfetto/trace.proto <"$TMP/x.pftrace" |
	perl tests/perfetto/trace.pl >"$TMP/x.trace"
is "$(grep '^!' "$TMP/x.trace" | head -3)" "" "and Perfetto, in which each number refers to something"
sed -n 's/.*\tstack=\([^\t]*\).*/\1/p' "$TMP/x.trace" | tr ' ' '\n' | sed -n 's/^\(.*\)@.*nested\.c:\([0-9]*\).*/\1 \2/p' >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "as an annotation"
sed -n 's/.*\tcallstack=\([^\t]*\).*/\1/p' "$TMP/x.trace" |
	perl -ne 'for (reverse split /; /) { print "$1 $2\n" if /^(\w+)@\S*nested\.c:(\d+) / }' >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "and as a callstack"
grep -o '(/[^()]*+0x' "$TMP/x.trace" | sed 's/^(//; s/+0x$//' | sort -u | grep -v /ld- >"$TMP/got"
same_file "$TMP/got" "$TMP/modules" "whose frames lie in mappings with a build id"
ends_with 0 "$O/ebtrace" "$TMP/x.ebt" -o "$TMP/x.fxt" -q
"$O/tests/prog/fxt_dump" "$TMP/x.fxt" >"$TMP/x.dump" || diag "$(tail -1 "$TMP/x.dump")"
grep -o 'stack=.*' "$TMP/x.dump" | sed 's/\\x0a/ /g' | grep -o '[a-z]*@[^@]*nested\.c:[0-9]*' | sed 's/@.*:/ /' >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "and FXT, in the arguments of the phase"
mv "$TMP/elsewhere" "$TMP/nested"

if [ "$(uname -m)" = x86_64 ]; then
	# Its frame pointer leads to an address inside of main that is behind no call.
	cat >"$TMP/broken.c" <<'END_C'
#include <ebtrace/probes.h>
void broken(void);
__asm__(".data\n.balign 8\nfake: .quad 0, main + 1\n.text\n.globl broken\n.type broken, @function\n"
	"broken: push %rbp\nlea fake(%rip), %rbp\nmov $11, %edi\ncall ebt_emit_begin\n"
	"pop %rbp\nret\n.size broken, . - broken\n");
int main(void)
{
	if (ebt_enabled())
		broken();
	return 0;
}
END_C
	cc -g -Iinclude "$TMP/broken.c" "$O/libebtrace-probes.a" -pthread -o "$TMP/broken" || diag "it does not compile"
	ends_with 0 timeout 300 "$O/ebtrace" --stack=begin -f ndjson -q -o "$TMP/broken.ndjson" -- "$TMP/broken"
	is "$(jq -r 'select(.kind == "begin") | .stack[] | sub("@.*"; "")' "$TMP/broken.ndjson" | tr '\n' ' ')" \
		"[stack not whole] broken " "what is behind no call is left out, and the stack is marked"
fi

# build NAME OPTIONS...: nested, as nested-NAME, compiled so.
build() {
	local name=$1
	shift
	cc -g -O2 -Iinclude "$@" tests/prog/nested.c "$O/libebtrace-probes.a" -pthread -o "$TMP/nested-$name" ||
		diag "it does not compile"
}
# trace NAME DEPTH: the stacks of begins of nested-NAME, in NAME.ndjson; its lines in printed.
trace() {
	feed | timeout 300 "$O/ebtrace" --stack=begin -e begin -q -o "$TMP/$1.ndjson" -- \
		"$TMP/nested-$1" "$2" 1 >"$TMP/printed" 2>"$TMP/err"
	functions "$TMP/$1.ndjson" begin >"$TMP/got"
}
marks() { jq -r 'select(.kind == "begin") | [.stack[] | select(startswith("["))] | join(",")' "$TMP/$1.ndjson"; }

build omit -fomit-frame-pointer
trace omit 3
same_file "$TMP/got" "$TMP/printed" "functions without frame pointers are found by their unwind information"
is "$(marks omit)" "" "up to the program's start"
strip -o "$TMP/nested-stripped" "$TMP/nested-omit"
trace stripped 3
is "$(jq -r 'select(.kind == "begin") | [.stack[] | select(startswith("nested-stripped+"))] | length >= 7' "$TMP/stripped.ndjson") $(marks stripped)" \
	"true " "also of a stripped program, whole"
trace omit 120
is "$(marks omit)" "[stack not whole]" "a stack of such functions that is too long to be copied is marked"
head -n "$(wc -l <"$TMP/got")" "$TMP/printed" >"$TMP/wanted"
same_file "$TMP/got" "$TMP/wanted" "its innermost frames are right"
is "$(($(wc -l <"$TMP/got") > 20))" 1 "and many"

build bare -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables
trace bare 3
is "$(marks bare) $(cat "$TMP/got")" "[stack not whole] $(head -1 "$TMP/printed")" \
	"without frame pointers and unwind information a stack is cut behind the first function"
build pointers -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables
trace pointers 100
same_file "$TMP/got" "$TMP/printed" "frame pointers alone do, also far up"

cat >"$TMP/called.c" <<'END_C'
#include <ebtrace/probes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static int compare(const void *a, const void *b)
{
	static int once;
	if (!once++)
		ebt_begin(EBT_PHASE_minor);
	return *(const int *)a - *(const int *)b;
}
static void on_signal(int signo)
{
	ebt_begin(EBT_PHASE_major);
	(void)signo;
}
static void *sort(void *unused)
{
	int v[] = {3, 1, 2};
	qsort(v, 3, sizeof(*v), compare);
	raise(SIGUSR1);
	return unused;
}
int main(void)
{
	char byte;
	pthread_t t;
	signal(SIGUSR1, on_signal);
	if (read(0, &byte, 1) != 1 || pthread_create(&t, 0, sort, 0) || pthread_join(t, 0))
		return 1;
	return read(0, &byte, 1) != 0;
}
END_C
cc -g -O1 -fno-omit-frame-pointer -Iinclude "$TMP/called.c" "$O/libebtrace-probes.a" -pthread -o "$TMP/called"
feed | timeout 300 "$O/ebtrace" --stack=begin -e begin -q -o "$TMP/called.ndjson" -- "$TMP/called" 2>"$TMP/err"
is "$(jq -r 'select(.name == "minor") | .stack | map(sub("@.*"; "")) | map(select(IN("sort", "compare") or startswith("["))) | join(" ")' "$TMP/called.ndjson")" \
	"sort compare" "a function that a library calls has its callers, up to the thread's start"
is "$(jq -r 'select(.name == "major") | .stack | map(sub("@.*"; "")) | last' "$TMP/called.ndjson")" on_signal \
	"one that runs for a signal has a stack"

echo | setpriv --reuid 65534 --regid 65534 --clear-groups env -C / TMPDIR=/tmp \
	"$TMP/ebtrace" --stack -f ndjson -o - -- "$TMP/nested" 0 1 >"$TMP/plain" 2>"$TMP/err"
is "$(grep -c 'events get no stacks' "$TMP/err") $(grep -c '^ebtrace: [^0-9]' "$TMP/err")" "1 1" \
	"without privilege one line says that there are no stacks" || diag "$(cat "$TMP/err")"
is "$(grep -c '"kind":"begin"' "$TMP/plain")" 1 "and the events are traced"

echo | timeout 300 "$O/ebtrace" --stack --mode probes --bpf-buffer 4K -o "$TMP/lost.ebt" -- "$TMP/nested" 20 5000 >/dev/null 2>"$TMP/err"
is "$(grep -c '^ebtrace: [0-9]* stacks were lost' "$TMP/err")" 1 "stacks for which there was no room are counted" ||
	diag "$(cat "$TMP/err")"

for wrong in "--mode ring -p 1" "--mode watermark -p 1" "--snapshot -p 1" "$TMP/x.ebt"; do
	"$O/ebtrace" --stack $wrong >/dev/null 2>"$TMP/err"
	is "$? $(grep -c -e --stack "$TMP/err")" "2 1" "--stack ${wrong##*/} is refused"
done

done_testing
