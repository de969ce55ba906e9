#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A BPF program that the kernel refuses costs the feature that it is for, and nothing else. What refuses
# programs here stands between libbpf and the kernel: it answers as the verifier does.
. tests/lib.sh
need_root
need_command cc
need_command jq
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing ||
	skip_all "tracefs cannot be mounted"

# REFUSE="NAME[@N] ...": loads of these programs fail, or the Nth of each. LOAD_SECONDS: the first one takes so long.
cat >"$TMP/refuse.c" <<'END_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_refused(const char *name)
{
	static struct { char name[64]; int loads; } seen[64];
	char list[512];
	int n = 0, loads;
	while (*seen[n].name && strcmp(seen[n].name, name))
		n++;
	strcpy(seen[n].name, name);
	loads = ++seen[n].loads;
	snprintf(list, sizeof(list), "%s", getenv("REFUSE") ? getenv("REFUSE") : "");
	for (char *at = list, *word; (word = strsep(&at, " "));) {
		char *which = strchr(word, '@');
		if (which)
			*which++ = 0;
		/* The kernel's names of programs have 15 bytes. */
		if (*word && !strncmp(word, name, 15) && (!which || atoi(which) == loads))
			return 1;
	}
	return 0;
}

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list ap;
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!real)
		real = dlsym(RTLD_NEXT, "syscall");
	union bpf_attr *attr = (void *)a[1];
	static char last[64];
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && !strncmp(attr->prog_name, "ebt_", 4)) {
		/* libbpf asks once more, for the log. */
		if (attr->log_level && !strcmp(last, attr->prog_name)) {
			snprintf((char *)(long)attr->log_buf, attr->log_size,
				 "0: R1=ctx() R10=fp0\n0: (95) exit\nrefused by the test\n");
			errno = EACCES;
			return -1;
		}
		*last = 0;
		if (getenv("LOAD_SECONDS"))
			sleep((unsigned)atoi(getenv("LOAD_SECONDS")));
		unsetenv("LOAD_SECONDS");
		if (is_refused(attr->prog_name)) {
			strcpy(last, attr->prog_name);
			errno = EACCES;
			return -1;
		}
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
END_C
cc -shared -fPIC -O1 -o "$TMP/refuse.so" "$TMP/refuse.c" -ldl
ok $? "what refuses programs is compiled"
minigc=$O/tests/prog/minigc
ebt() { # PROGRAMS ARGS...: with these refused
	local refuse=$1
	shift
	REFUSE=$refuse LD_PRELOAD=$TMP/refuse.so timeout 300 "$O/ebtrace" "$@" >"$TMP/out" 2>"$TMP/err"
}
why="this kernel's verifier refuses a program: refused by the test"

# What this kernel does not have is missing as well.
features() { jq -c '[.features[] | select(.state != "yes") | {(.name): .reason}] | add // {}' "$1"; }
ends_with 0 ebt "" info --kernel --json
features "$TMP/out" >"$TMP/always"
ends_with 0 "$O/ebtrace" info --kernel --json >"$TMP/without"
is "$(cat "$TMP/always")" "$(features "$TMP/without")" "what refuses nothing changes nothing"

# missing PROGRAMS FEATURES: when these programs are refused these features are missing.
missing() {
	local names
	names=$(jq -rn --slurpfile always "$TMP/always" --arg names "$2" \
		'[$names | split(" ")[] | select(in($always[0]) and . != "probe_links" | not)] | join(" ")')
	ends_with 0 ebt "$1" info --kernel --json
	is "$(features "$TMP/out" | jq -r --slurpfile always "$TMP/always" \
		'[to_entries[] | select(.value != $always[0][.key]).key] | sort | join(" ")')" \
		"$names" "without $1 there is no $2, and all the rest" || diag "$(cat "$TMP/err")"
	is "$(features "$TMP/out" | jq -r --slurpfile always "$TMP/always" \
		'[to_entries[] | select(.value != $always[0][.key]).value] | unique | join(", ")')" \
		"${names:+$why}" "without $1 the reason is the verifier's own line"
}
missing ebt_alloc "allocation_markers"
missing ebt_ocaml_function "ocaml_probes"
missing ebt_ocaml_alloc "allocation_sites"
missing ebt_process_exit "children"
missing ebt_offcpu_switch "blame page_faults"
missing ebt_fault_end "page_faults"
missing ebt_leave_brk "page_sizes pages"
missing "ebt_code_mapped ebt_page_fault@1 ebt_page_fault@2 ebt_page_fault@3" "page_sizes"
missing "ebt_code_mapped ebt_marker@1 ebt_marker@2 ebt_marker@4" "stacks"
missing ebt_marker "markers probe_links"
missing ebt_sample "profile"
missing "ebt_marker ebt_ocaml_function ebt_alloc ebt_ocaml_alloc ebt_usdt" \
	"allocation_markers allocation_sites markers ocaml_probes probe_links stacks"

# events FILTER: how many of the output there are.
events() { jq -s "map(select($1)) | length" "$TMP/trace"; }
run() { # PROGRAMS OPTIONS...: minigc in one thread
	local refuse=$1
	shift
	rm -f "$TMP/trace"
	ebt "$refuse" -f ndjson -o "$TMP/trace" "$@" -- "$minigc" -q -t 1 -n 300 -c "$TMP/counts"
	status=$?
}
counted() { awk '$2 == "begin" { n += $3 } END { print n + 0 }' "$TMP/counts"; }

run ebt_offcpu_switch --blame --mode stream
is "$status $(events '.kind == "begin" and .tid')" "0 $(counted)" "blame is refused: events have thread and CPU, all of them"
is "$(events '.kind == "offcpu"')" 0 "and no interval is made up"
is "$(grep -c "it is not recorded when threads do not run, the rest is: $why; 'ebtrace info --kernel'" "$TMP/err")" 1 "which one line says" ||
	diag "$(cat "$TMP/err")"
run "ebt_marker@1 ebt_marker@3" --stack=begin --mode stream
is "$status $(events '.kind == "begin" and .tid') $(events 'has("stack")')" "0 $(counted) 0" \
	"stacks are refused: events come without"
grep -q "events get no stacks: $why; 'ebtrace info --kernel'" "$TMP/err"
ok $? "which a line says" || diag "$(cat "$TMP/err")"
run ebt_process_exit --mode stream
is "$status $(events '.kind == "begin" and .tid')" "0 $(counted)" "children are refused: the program itself is traced"
grep -q "children are not followed: $why; 'ebtrace info --kernel'" "$TMP/err"
ok $? "which a line says" || diag "$(cat "$TMP/err")"
run ebt_ocaml_function --mode stream
is "$status $(events '.kind == "begin" and .tid') $(grep -c refuse "$TMP/err")" "0 $(counted) 0" \
	"OCaml probes are refused: a C program does not hear of it"
run ebt_marker
is "$status $(events '.kind == "begin"')" "0 $(counted)" "markers are refused: the ring has every event"
is "$(grep -c "markers are not probed: $why; 'ebtrace info --kernel'" "$TMP/err")" 1 "which one line says" ||
	diag "$(cat "$TMP/err")"
run ebt_marker --mode stream
is "$status" 1 "--mode stream without markers fails" || diag "$(cat "$TMP/err")"
run ebt_marker --blame
[ "$status $(events '.kind == "begin"')" = "0 $(counted)" ] && [ "$(events '.kind == "offcpu"')" -gt 0 ]
ok $? "markers are refused: blame works, beside the ring" || diag "$(cat "$TMP/err")"
before=$(date +%s%N)
LOAD_SECONDS=3 ebt "" stat --json -o "$TMP/stat.json" -- "$minigc" -q -n 10 -c /dev/null
is "$? $(jq --argjson took $(($(date +%s%N) - before)) '.total.wall_ns > 0 and .total.wall_ns + 3e9 <= $took' "$TMP/stat.json")" "0 true" \
	"a run begins with its program: the three seconds of loading, before that, are no part of it" ||
	diag "$(cat "$TMP/err")" "$(jq -c .total "$TMP/stat.json")"
ebt ebt_leave_brk pages -- "$minigc" -q -n 10 -c /dev/null
is "$? $(grep -c "pages are watched through BPF: cannot load the BPF programs: $why" "$TMP/err")" "1 1" \
	"pages are refused: the command fails, with the reason" || diag "$(cat "$TMP/err")"
ebt ebt_alloc --mode stream -o "$TMP/trace" -- "$minigc" -q -n 10 -c /dev/null
is "$? $(grep -c "markers of sampled allocations are not probed: $why; 'ebtrace info --kernel'" "$TMP/err")" "0 1" \
	"markers of allocations are refused: the rest is traced, and one line says so" || diag "$(cat "$TMP/err")"
ebt "ebt_alloc ebt_ocaml_alloc" mem -- "$minigc" -q -n 10 -c /dev/null
is "$? $(grep -c "sampled allocations are read through BPF: cannot load the BPF programs: $why" "$TMP/err")" "1 1" \
	"allocations are refused: the command fails, with the reason" || diag "$(cat "$TMP/err")"
done_testing
