#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A runtime with a garbage collector reports its objects: the trace has what the program counted.
. tests/lib.sh

# count KIND: the sum over the domains.
count() { awk -v kind="$1" '$2 == kind { n += $3 } END { print n + 0 }' "$TMP/counts"; }
events() { jq -r "select(.kind == \"$1\") | .obj" "$TMP/events"; }

outside=0
for seed in 1 2 3 4; do
	EBTRACE_MEMTRACE=$TMP/$seed.ctf EBTRACE_MEMTRACE_RATE=0.01 EBTRACE_MEMTRACE_SEED=$seed \
		"$O/tests/prog/minigc" -o -q -n 20000 -t 4 -S "$seed" -c "$TMP/counts" || break
	"$O/ebtrace" trace -f ndjson "$TMP/$seed.ctf" >"$TMP/events" || break
	# The estimate has the variance words * (1 - rate) / rate; five times its root is the interval.
	estimate=$(jq -n '[inputs | select(.kind == "alloc") | .samples] | add * 100' "$TMP/events")
	awk -v words="$(count words)" -v estimate="$estimate" 'BEGIN {
		sd = sqrt(words * 0.99 / 0.01)
		printf "# %d words, estimated %d: %+.2f standard deviations\n",
			words, estimate, (estimate - words) / sd
		exit !(estimate > words - 5 * sd && estimate < words + 5 * sd) }' || outside=1
done
is "$outside $seed" "0 4" "the words that a program allocated are estimated within the interval"
is "$(jq -n '[inputs | select(.kind == "alloc") | .samples] | add > 1000' "$TMP/events")" true \
	"of more than 1000 samples"
for kind in alloc promote collect; do
	is "$(events $kind | wc -l)" "$(count $kind)" "each $kind that the program reported is in the trace"
done
is "$(events alloc | sort | uniq -d | wc -l)" 0 "no number is used twice"
events alloc | sort >"$TMP/allocs"
is "$(cat <(events promote) <(events collect) | sort -u | comm -23 - "$TMP/allocs" | wc -l)" 0 \
	"objects are promoted and collected that were allocated"
is "$(events collect | sort | uniq -d | wc -l)" 0 "and collected once"
is "$(command jq -n 'reduce (inputs | select(.kind == "alloc" or .kind == "collect" or .kind == "promote")) as $e
	({seen: {}, bad: 0}; if $e.kind == "alloc" then .seen["\($e.obj)"] = 1
	 elif .seen["\($e.obj)"] then . else .bad += 1 end) | .bad' "$TMP/events")" 0 \
	"the allocation of an object comes before all else of it"
# By the functions, files and lines that the program's debug information has.
jq -r 'select(.kind == "alloc") | .stack[]' "$TMP/events" | sort -u >"$TMP/frames"
is "$(grep -oE '^(main|work_batch|heap_alloc|sampled_alloc)@[^:]*[^:/]*:[1-9]' "$TMP/frames" |
	sed 's,@.*/,@,; s/:.$//' | sort -u)" \
	$'heap_alloc@minor.c\nmain@minigc.c\nsampled_alloc@sampled.c\nwork_batch@work.c' \
	"frames have the functions of the program, with file and line"

cat >"$TMP/app.c" <<'END'
#include <dlfcn.h>
#include <ebtrace/probes.h>
#include <stdio.h>
#include <unistd.h>

static __attribute__((noinline)) void grow_tree(void)
{
	for (int i = 0; i < 2000; i++)
		ebt_object_alloc(100, EBT_ALLOC_MAJOR, 0);
	__asm__ volatile("");
}
static inline __attribute__((always_inline)) void read_input(void)
{
	grow_tree();
	__asm__ volatile("");
}
/* Plugins whose code has the same addresses one after another, and is gone when the trace is read. */
static void run_plugin(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW);
	void (*run)(void) = plugin ? dlsym(plugin, "run") : 0;
	if (!run)
		_exit(1);
	run();
	dlclose(plugin);
}
int main(int argc, char **argv)
{
	read_input();
	for (int i = 1; i < argc; i++)
		run_plugin(argv[i]);
	return 0;
}
END
for name in oak elm; do
	cat >"$TMP/$name.c" <<END
#include <ebtrace/probes.h>
static __attribute__((noinline)) void grow_$name(void)
{
	for (int i = 0; i < 2000; i++)
		ebt_object_alloc(100, EBT_ALLOC_MAJOR, 0);
	__asm__ volatile("");
}
void run(void)
{
	grow_$name();
	__asm__ volatile("");
}
END
	gcc -O1 -g -fno-omit-frame-pointer -fPIC -shared -Iinclude -o "$TMP/$name.so" "$TMP/$name.c"
done
library=$(realpath "${O%/asan}") # the program is not sanitized
gcc -O1 -g -fno-omit-frame-pointer -Iinclude -o "$TMP/app" "$TMP/app.c" -L"$library" \
	-lebtrace-probes -Wl,-rpath,"$library"
run() { (cd "$TMP" && EBTRACE_MEMTRACE=app.ctf EBTRACE_MEMTRACE_RATE=0.01 "$@"); }
sites() { "$O/ebtrace" mem hotspots --json "$TMP/app.ctf" | jq -r '.sites[].function'; }

run ./app
"$O/ebtrace" mem hotspots "$TMP/app.ctf" >"$TMP/out" 2>"$TMP/err"
is "$(grep -oE 'grow_tree \(.*/app.c:[0-9]+' "$TMP/out" | sed 's,(.*/,(,')" "grow_tree (app.c:9" \
	"a program's trace has its functions as the places where it allocates, with file and line"
is "$(cat "$TMP/err")" "" "and nothing else is said"
is "$("$O/ebtrace" mem flame -f folded "$TMP/app.ctf" | grep -o 'main;read_input;grow_tree')" \
	"main;read_input;grow_tree" "its flame graph has those that were inlined"
"$O/ebtrace" mem summary "$TMP/app.ctf" | grep -q 'grow_tree (.*app.c:9'; ok $? "the summary names them"
run ./app "$TMP/oak.so" "$TMP/elm.so" "$TMP/oak.so"
is "$(sites | sort)" $'grow_elm\ngrow_oak\ngrow_tree' "so are those of libraries that it unloaded"
run ./app ./oak.so
is "$(sites | sort)" $'grow_oak\ngrow_tree' "and of one that was loaded by a relative path"
run ./app
strip "$TMP/app"
is "$(sites | grep -xE 'app\+0x[0-9a-f]+' | wc -l)" 1 \
	"of a stripped program the offset is known"
cp "$TMP/elm.so" "$TMP/app"
"$O/ebtrace" mem hotspots "$TMP/app.ctf" >"$TMP/out" 2>"$TMP/err"
is "$(grep -oE -m1 'app\+0x[0-9a-f]+|grow_[a-z]+' "$TMP/out" | cut -c-6)" "app+0x" \
	"a file that is not the one that ran names nothing"
is "$(sed "s,$TMP/,,g" "$TMP/err")" "ebtrace: memtrace trace 'app.ctf': 'app' cannot be read, or is not the file that the program ran: its functions are offsets" \
	"and a line says so"
done_testing
