#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ebtrace mem record of C and C++ programs. With the rate 1 each word is sampled, so a trace has every
# object, and the program's own account of what it leaves allocated is what must be alive in it.
. tests/lib.sh
need_command jq
need_command perl
need_command g++
ebt=$O/ebtrace
programs=${O%/asan}/tests/prog # a sanitized program has a malloc of its own
allocs=$programs/allocs

# record OPTIONS -- PROGRAM: into $TMP/out.ctf; sets status.
record() {
	rm -f "$TMP/out.ctf"
	"$ebt" mem record -o "$TMP/out.ctf" "$@" >"$TMP/stdout" 2>"$TMP/stderr"
	status=$?
}
# What is alive at the end, of the sites in a source file.
alive() {
	"$ebt" -q --max-stack 1 -f ndjson "$TMP/out.ctf" | command jq -nr --arg file "$1" -f tests/live-allocs.jq | LC_ALL=C sort
}
events() { "$ebt" -q -f ndjson "$TMP/out.ctf"; }
# record_acts "a sentence" ACT...: what allocs prints is alive, and nothing else of it.
record_acts() {
	local name=$1
	shift
	record --rate 1 -- "$allocs" "$@"
	grep -v '^descriptors' "$TMP/stdout" | LC_ALL=C sort >"$TMP/want"
	alive allocs.c >"$TMP/alive"
	same_file "$TMP/alive" "$TMP/want" "$name"
}

record_acts "8 threads: exactly the three sites that leak are alive, with all their bytes" threads
is "$status" 0 "with the program's status"
"$ebt" info "$TMP/out.ctf" >"$TMP/info"
is "$(grep -cE "/allocs$|context    .*/allocs threads$|sampled    1 of each byte, of 8 bits|damage     none|host       $(uname -n)" "$TMP/info")" \
	5 "the trace names the program, its command line, the host and the rate"
is "$(stat -c %a "$TMP/out.ctf")" 600 "only its user may read it"
is "$(sed -n 's/.*; see: \(ebtrace mem .*\)/\1/p' "$TMP/stderr")" "ebtrace mem $TMP/out.ctf" \
	"the last line names the next command"
"$ebt" mem live --top 3 "$TMP/out.ctf" >"$TMP/live"
is "$(sed -n '1s/.*, //p' "$TMP/live")" "each byte sampled" "which says that each byte was sampled"
is "$(grep -oE 'leak_[a-z]+ ' "$TMP/live" | sort | paste -sd' ' | tr -s ' ')" "leak_calloc leak_malloc leak_realloc " \
	"mem live names the three first"
record_acts "500 threads that end: each one's object" short
record_acts "fork: what the child frees is alive, what it allocates is not there" fork
record_acts "vfork and system: the parent's objects" vfork
for act in confine confine_call; do
	record_acts "$act: a program that confines itself to few system calls: what it allocates before and after" $act
	is "$status $("$ebt" info "$TMP/out.ctf" | grep -c 'damage     none')" "0 1" "it is not killed"
	is "$(grep -c 'could not be recorded' "$TMP/stderr")" 0 "nothing is missing"
	[ "$(stat -c %s "$TMP/out.ctf")" -gt 1048576 ]
	ok $? "though there is more than what fits the file that was mapped" || diag "$(stat -c %s "$TMP/out.ctf")"
	is "$(events | perl -ne 'if (/"kind":"alloc"/) { $n = () = /"allocate_deep\b/g; $most = $n if $n > $most } END { print $most }')" \
		100 "and deep backtraces are whole"
done
record_acts "exec: only the objects of the new program are alive" exec
is "$(events | grep -c '"words":700,.*"act_exec@[^"]*"\]')" 1 "those of the old one are in the trace, too"
record_acts "handlers that allocate: their objects" signals
record_acts "coroutines whose stacks have a single page: their objects" coroutine
is "$status" 0 "which do not overflow"
is "$(events | jq -c 'select(.words == 600) | .stack | map(sub("@.*"; "")) | .[-2:]' | sort | uniq -c | tr -s ' ')" \
	' 300 ["run_coroutine","leak_in_coroutine"]' "with their backtraces"
# The linker needs more to bind a function there.
LD_BIND_NOW=1 record_acts "coroutines with half a page in 64 threads: their objects" many_coroutines
is "$status $(grep -c 'could not be recorded' "$TMP/stderr")" "0 0" "though the recorder has fewer stacks of its own"
record_acts "handlers on an alternative stack that interrupt each other: their objects" alternative
record --rate 1 -- "$allocs" jump
lost=$(sed -n 's/.*: \([0-9]*\) events* could not be recorded: handlers of signals .*/\1/p' "$TMP/stderr")
read -r _ mapped <"$TMP/stdout"
is "$status $((mapped >= 20000)) $((${lost:-0} + $(events | grep -c '"source":"external"') >= mapped))" "0 1 1" \
	"a handler that leaves the recorder by siglongjmp(): what is not recorded is counted" || diag "$(cat "$TMP/stderr")"
is "$(grep -c 'recording ends before' "$TMP/stderr")" 0 "and nothing else is said"
is "$("$ebt" mem --json "$TMP/out.ctf" 2>/dev/null | jq .lost_events)" "$lost" "the file has the number, too"
# What was in the recorder's buffer is known to be missing when the whole trace has been read.
record --rate 1 -- sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); v=$v$i; done; kill -9 $$'
lost=$(sed -n 's/.*: \([0-9]*\) events* could not be recorded: .*/\1/p' "$TMP/stderr")
is "$status $("$ebt" mem --json "$TMP/out.ctf" 2>/dev/null | jq '[.lost_events, .damaged]' -c)" "137 [${lost:-0},0]" \
	"so has that of a program that was killed"
record_acts "mappings: the one that is not unmapped" map
is "$(events | jq -r 'select(.source == "external") | .words' | sort -n | paste -sd' ')" \
	"1048576 1048576 2097152 4194304" "large mappings are external memory, with their sizes"
record_acts "a thread that holds the dynamic linker's lock while it waits for one that allocates" iterate
record_acts "a program that closes all descriptors" descriptors threads
is "$(grep descriptors "$TMP/stdout")" "$("$allocs" descriptors | grep descriptors)" \
	"its descriptors have the numbers that they have without ebtrace"
record_acts "_exit(): all that was allocated" exit_now
is "$status" 5 "with the program's status"
record_acts "a program that is killed: all that was allocated" crash
is "$status" 137 "with 128 + its signal"
record --rate 1 -- "$allocs" unseen
is "$status $(alive allocs.c)" "0 " "an object is released at the latest when its address is allocated again"
record --rate 1 -- "$allocs" failing
is "$status $(alive allocs.c)" "0 " "calls that fail allocate nothing, realloc of 0 bytes frees"

record --rate 1 -- "$allocs" dlopen
events | jq -r 'select(.kind == "alloc") | .stack[]' | sed 's/:.*//' | sort -u >"$TMP/frames"
is "$(grep -cE '^(ZSTD_createCCtx|gzdopen|act_dlopen)@' "$TMP/frames")" 3 \
	"functions of libraries that were loaded, and unloaded, have their names"

record_acts "small objects: the bytes that were asked for" few_small
is "$("$ebt" mem --json --filter site=leak_small "$TMP/out.ctf" | jq -c '.totals.allocated | [.bytes, .low, .high] | unique')" \
	"$(awk '{ print "[" $3 "]" }' "$TMP/want")" "which is what the report has as exact"
# An estimate: 7 standard deviations of the samples.
for act in small large; do
record --rate 1e-3 -- "$allocs" $act
read -r _ _ bytes <"$TMP/stdout"
events | jq -n --arg bytes "$bytes" 'reduce (inputs | select(.kind == "alloc" and
	(.stack[-1] | startswith("leak_'$act'@")))) as $e (0; . + $e.samples) |
	. * 8000 - ($bytes | tonumber) | fabs < 7 * (($bytes | tonumber) * 8000 | sqrt)' >"$TMP/close"
is "$(cat "$TMP/close")" true "$act: samples divided by the rate estimate the bytes that were allocated"
done
is "$(alive allocs.c | wc -l)" 1 "and of 1,000 freed objects none is alive"

# Signals. The job truncates its output when it starts, which may be late.
rm -f "$TMP/stdout"
env --default-signal=INT "$ebt" mem record --rate 1 -o "$TMP/out.ctf" -- "$allocs" wait >"$TMP/stdout" 2>"$TMP/stderr" &
pid=$!
children+=($pid)
wait_for test -s "$TMP/stdout"
kill -INT $pid
wait $pid
is "$? $(alive allocs.c)" "130 $(cat "$TMP/stdout")" "a signal ends the program, and its trace is written"

# C++.
g++ -O2 -g -o "$TMP/blocks" tests/prog/blocks.cpp
line() { grep -n "$1" tests/prog/blocks.cpp | cut -d: -f1; }
record --rate 1 -- "$TMP/blocks"
is "$(alive blocks.cpp | paste -sd' ')" \
	"_ZN4nodenwEm $(line 'std::malloc') 792 make_ints $(line 'new int') 7940" \
	"C++: the site is the caller of new, by line; a class's own operator new is one"
events | jq -r 'select(.kind == "alloc") | .stack[-2:] | map(sub(":[0-9-]*$"; "") | sub("@.*/"; "@")) | join(" ")' \
	>"$TMP/frames"
is "$(grep make_ints "$TMP/frames" | sort -u)" \
	"_ZN6blocks5leaveEi@blocks.cpp:$(line '= make_ints') make_ints@blocks.cpp:$(line 'new int')" \
	"C++: an inlined function is a frame, in the function that it was inlined in"
strip -o "$TMP/stripped" "$TMP/blocks"
record --rate 1 -- "$TMP/stripped"
is "$(events | jq -r 'select(.words == 792 and .kind == "alloc") | .stack[-1]' | sed 's/0x[0-9a-f]*/0x/g' | sort -u)" \
	"stripped+0x@stripped:0:0-0" "a stripped program: module and offset"
is "$(cat "$TMP/stdout") $status" "done 0" "its output and status"

# Backtraces: libc's qsort() has no frame pointer, and the second call is not the first one's.
cat >"$TMP/chain.c" <<-'END'
	#include <alloca.h>
	#include <stdlib.h>
	#define CALL(...) __VA_ARGS__; __asm__ volatile("" ::: "memory")
	void *volatile sink;
	static volatile int bytes = 900;
	__attribute__((noinline)) void innermost(void) { CALL(sink = malloc(bytes)); }
	__attribute__((noinline)) int compare(const void *a, const void *b) { CALL(innermost()); return a < b; }
	__attribute__((noinline)) void sort(void) { char two[2] = ""; CALL(qsort(two, 2, 1, compare)); }
	__attribute__((noinline)) void on_heap(void) { CALL(sort()); }
	__attribute__((noinline)) void on_stack(void) { sink = alloca(bytes); CALL(on_heap()); }
	int main(void)
	{
		for (int i = 0; i < 3; i++, bytes += 8) {
			CALL(on_stack());
			CALL(on_heap());
		}
	}
END
for option in -fno-omit-frame-pointer -fomit-frame-pointer; do
	gcc -O2 -g $option -fno-optimize-sibling-calls -o "$TMP/chain" "$TMP/chain.c"
	record --rate 1 -- "$TMP/chain"
	is "$(events | jq -r 'select(.kind == "alloc" and .words >= 900 and .words < 950) | .stack |
		map(select(contains("/chain.c:")) | sub("@.*"; "")) | join(" ")' | uniq -c | tr -s ' ' | paste -sd,)" \
		"$(for i in 1 2 3; do
			echo " 1 main on_stack on_heap sort compare innermost"
			echo " 1 main on_heap sort compare innermost"
		done | paste -sd,)" \
		"${option#-f}: each backtrace has all functions"
done

# Programs that are refused, or have nothing.
record -- "$programs/own_malloc"
is "$status $(paste -sd, "$TMP/stdout") $(grep -c 'calls a malloc of its own' "$TMP/stderr")" "3 its own 1" \
	"a program with its own malloc runs, and there is nothing to record"
ok $(($(test -e "$TMP/out.ctf"; echo $?) != 1)) "there is no trace of it"
cat >"$TMP/address.c" <<-'END'
	#include <stdlib.h>
	void *(*volatile allocate)(size_t);
	int main(void)
	{
		allocate = malloc;
		return !allocate(1234);
	}
END
gcc -no-pie -fno-pie -o "$TMP/address" "$TMP/address.c"
record --rate 1 -- "$TMP/address"
is "$status $(events | grep -c '"words":1234,')" "0 1" \
	"one that is not position-independent and uses the address of malloc has none of its own"
echo before >"$TMP/kept"
ln -sf kept "$TMP/link"
"$ebt" mem record -q -o "$TMP/link" -- "$programs/own_malloc" >"$TMP/stdout" 2>"$TMP/stderr"
is "$(cat "$TMP/kept")" before "nor is a file emptied for it"
echo 'int main(void) { return 0; }' >"$TMP/main.c"
gcc -static -o "$TMP/static" "$TMP/main.c"
record -- "$TMP/static"
is "$status $(wc -l <"$TMP/stderr") $(grep -c 'statically linked' "$TMP/stderr")" "4 1 1" \
	"a static program is refused in one line"
cp /bin/true "$TMP/other"
printf '\001' | dd of="$TMP/other" bs=1 seek=4 conv=notrunc 2>/dev/null
record -- "$TMP/other"
is "$status $(wc -l <"$TMP/stderr") $(grep -c 'a program for' "$TMP/stderr")" "4 1 1" \
	"one of 32 bits is refused in one line"
if [ "$(id -u)" = 0 ]; then
	cp /bin/true "$TMP/setuid"
	chown 65534 "$TMP/setuid"
	chmod 4755 "$TMP/setuid"
	record -- "$TMP/setuid"
	is "$status $(wc -l <"$TMP/stderr") $(grep -c 'set-user-id' "$TMP/stderr")" "4 1 1" \
		"a set-user-id program is refused in one line"
fi
# OCaml's memtrace, as far as it shows: it writes the file that the environment names.
cat >"$TMP/memtrace.c" <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	int camlMemtrace__code_begin;
	int main(void)
	{
		FILE *f = fopen(getenv("MEMTRACE"), "w");
		fputs("a trace of its own", f);
		printf("%s %s\n", getenv("MEMTRACE_RATE"), getenv("LD_PRELOAD") ? "preloaded" : "not preloaded");
		return fclose(f) ? 1 : 6;
	}
END
gcc -o "$TMP/memtrace" "$TMP/memtrace.c"
record --rate 1e-4 -- "$TMP/memtrace"
is "$status $(cat "$TMP/stdout") $(cat "$TMP/out.ctf")" "6 0.0001 not preloaded a trace of its own" \
	"a program with memtrace gets its environment, and its trace is delivered as it is"
MEMTRACE_RATE=0.5 record -- "$TMP/memtrace"
is "$(cat "$TMP/stdout")" "0.5 not preloaded" "a rate in the environment is kept"
record -- "$TMP/missing"
is "$status" 127 "a program that does not exist: 127"
record --rate 2 -- true
is "$status" 2 "a rate above 1 is refused"

# The library.
mkdir "$TMP/bin"
cp "$O/ebtrace" "${O%/asan}/libebtrace-preload.so" "$TMP/bin"
"$TMP/bin/ebtrace" mem record -o "$TMP/out.ctf" -- true 2>"$TMP/stderr"
is $? 0 "the library is found beside the program"
library_dir=$(realpath -m "$TMP/bin/$(<"$O/preload-dir")")
mkdir -p "$library_dir"
mv "$TMP/bin/libebtrace-preload.so" "$library_dir"
"$TMP/bin/ebtrace" mem record -o "$TMP/out.ctf" -- true 2>"$TMP/stderr"
is $? 0 "and in the folder that it was built for, relative to the program's"
chmod 777 "$library_dir"
"$TMP/bin/ebtrace" mem record -o "$TMP/out.ctf" -- true 2>"$TMP/stderr"
is "$? $(grep -c 'others can replace it' "$TMP/stderr")" "1 1" "not from a folder that others can write to"

# Existing files.
for kind in "" link; do
	rm -f "$TMP/out.ctf" "$TMP/target"
	echo old >"$TMP/target"
	chmod 644 "$TMP/target"
	if [ $kind ]; then ln -s target "$TMP/out.ctf"; else mv "$TMP/target" "$TMP/out.ctf"; fi
	"$ebt" mem record -q --rate 1 -o "$TMP/out.ctf" -- "$allocs" exit_now >"$TMP/stdout" 2>"$TMP/stderr"
	is "$? $(stat -Lc %a "$TMP/out.ctf") $("$ebt" info "$TMP/out.ctf" | grep -c 'damage     none')" "5 600 1" \
		"only its user may read a trace that replaces a file of mode 0644${kind:+, by a link}"
done
rm -f "$TMP/out.ctf"

# A full disk.
if [ "$(id -u)" = 0 ] && mkdir "$TMP/small" && mount -t tmpfs -o size=48k none "$TMP/small" 2>/dev/null; then
	at_end "umount '$TMP/small'"
	for name in new there; do
		rm -f "$TMP"/small/*
		# A file with two names is written in place.
		[ $name = there ] && echo >"$TMP/small/there" && ln "$TMP/small/there" "$TMP/small/second"
		"$ebt" mem record --rate 1 -o "$TMP/small/$name" -- "$allocs" threads >"$TMP/stdout" 2>"$TMP/stderr"
		is "$? $(grep -c "cannot write '$TMP/small/$name': No space left" "$TMP/stderr")" "1 1" \
			"$name: the disk is full: status 1, and one line" || diag "$(cat "$TMP/stderr")"
		kept=$(ls "$TMP"/small/$name*)
		is "$("$ebt" info "$kept" 2>&1 | grep -cE 'damage     none|alloc, ')" 2 \
			"$name: what was written is a trace" || diag "$("$ebt" info "$kept" 2>&1)"
	done
fi

# A limit of the address space, of which the program needs most.
for mib in 1 2 3 4; do
	"$programs/maps" $mib >"$TMP/want"
	(ulimit -v 8192; "$programs/maps" $mib) >"$TMP/limited"
	rm -f "$TMP/out.ctf"
	"$ebt" mem record --rate 1 -o "$TMP/out.ctf" -- sh -c 'ulimit -v 8192; exec "$0" '$mib "$programs/maps" \
		>"$TMP/stdout" 2>"$TMP/stderr"
	is "$(cat "$TMP/stdout")" "$(cat "$TMP/limited")" "with 8 MiB of address space the program maps $mib of them as without"
	is "$(events | jq -s 'map(select(.kind == "alloc" and .words == 100)) | length')" $mib "and is recorded"
done

# The memory that traces share with everybody else: some of it is left.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	cat >"$TMP/shared.sh" <<-END
		mount --bind "$TMP" /mnt
		mount -t tmpfs -o size=9m none /dev/shm
		mount -t tmpfs -o size=1m,mode=777 none /tmp
		unset XDG_RUNTIME_DIR
		/mnt/bin/ebtrace mem record --rate 1 -o /mnt/out.ctf -- /mnt/bin/confines asks >/mnt/stdout 2>/mnt/stderr &
		least=100
		while kill -0 \$! 2>/dev/null; do
			free=\$((\$(stat -f -c '%a * 100 / %b' /dev/shm)))
			[ \$free -lt \$least ] && least=\$free
		done
		wait \$!
		echo "\$? \$((least >= 10)) \$((least < 40))"
	END
	rm -f "$TMP/out.ctf"
	mkdir -p "$TMP/bin" # the tree may be below /tmp
	cp "$ebt" "$(dirname "$ebt")/libebtrace-preload.so" "$programs/confines" "$TMP/bin"
	is "$(TMPDIR= unshare -m bash "$TMP/shared.sh" 2>&1)" "5 1 1" \
		"a trace that fills the file system leaves a tenth of it" || diag "$(cat "$TMP/stderr")"
	lost=$(sed -n 's/.*: \([0-9]*\) events* could not be recorded: No space left on device/\1/p' "$TMP/stderr")
	is "$(grep -c 'could not be recorded' "$TMP/stderr") $((lost > 0)) $((${lost:-0} + $(events | grep -c '"kind":"alloc"') >= 150001))" "1 1 1" \
		"one line counts what is missing" || diag "$(cat "$TMP/stderr")"
	is "$("$ebt" info "$TMP/out.ctf" | grep -c 'damage     none')" 1 "what was recorded is a trace"
fi

# A killed ebtrace.
rm -f "$TMP/stdout"
XDG_RUNTIME_DIR=$TMP "$ebt" mem record -q -o "$TMP/killed.ctf" -- "$allocs" wait >"$TMP/stdout" &
pid=$!
wait_for test -s "$TMP/stdout"
program=$(pgrep -P $pid -x allocs)
children+=("$program")
kill -KILL $pid
wait $pid 2>/dev/null
ok $(($(kill -0 "$program"; echo $?) != 0)) "a program goes on if ebtrace is killed"
XDG_RUNTIME_DIR=$TMP "$ebt" list --prune >"$TMP/list"
is "$(ls -d "$TMP"/ebtrace-run-* 2>/dev/null | wc -l)" 0 "list --prune removes its trace"

# Progress.
busy='push @a, "x" x 100000 and select undef, undef, undef, 0.25 for 1 .. 8'
script -qec "'$ebt' mem record --rate 1 -o '$TMP/out.ctf' -- perl -e '$busy'" /dev/null </dev/null >"$TMP/tty" 2>&1
is "$(tr '\r' '\n' <"$TMP/tty" | awk -v all="$("$ebt" info --json "$TMP/out.ctf" | jq .events)" '
	/^ebtrace: [0-9]+ events, [0-9]+ kB / { n++; right += $2 >= was && $2 > 100 && $2 <= all && $4 > 0; was = $2 }
	END { print (n >= 2), (right == n) }')" "1 1" "on a terminal its last line counts events and bytes as they come" ||
	tr '\r' '\n' <"$TMP/tty" | sed 's/^/# /'

# Signals that request the end.
rm -f "$TMP/stdout"
XDG_RUNTIME_DIR=$TMP "$ebt" mem record --rate 1 -o "$TMP/twice.ctf" -- \
	sh -c 'trap "" INT; exec "$0" wait' "$allocs" >"$TMP/stdout" 2>"$TMP/stderr" &
pid=$!
wait_for test -s "$TMP/stdout"
children+=("$(pgrep -P $pid -x allocs)")
kill -INT $pid
wait_for took_signals $pid
sleep 1.1 # two of one sender within a second are one request
kill -INT $pid
wait $pid
is "$? $(grep -c "'.*' runs on; its trace ends here" "$TMP/stderr")" "0 1" \
	"a second SIGINT ends the recording of a program that runs on"
"$ebt" info "$TMP/twice.ctf" >"$TMP/info"
is "$(grep -c 'damage     none' "$TMP/info")" 1 "with the trace of what was recorded so far"
is "$(ls -d "$TMP"/ebtrace-run-* 2>/dev/null | wc -l)" 0 "nothing else is left"

# Real programs: the same output, status and environment.
for program in "ls -la /usr/lib" "sh -c 'echo \$((1+2)); exit 7'" "sort tests/lib.sh" "env -i PATH=$PATH seq 3"; do
	eval "$program" >"$TMP/want"
	want=$?
	eval "record --rate 1e-2 -- $program"
	cmp -s "$TMP/stdout" "$TMP/want" && [ $status = $want ]
	ok $? "${program%% *} runs as without, with status $want"
done
ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=libm.so.6 record -- sh -c 'echo $LD_PRELOAD'
is "$(cat "$TMP/stdout")" libm.so.6 "the user's own list of preloaded libraries is what the program sees"
done_testing
