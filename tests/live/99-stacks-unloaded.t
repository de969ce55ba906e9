#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Stacks of a program that has ended, or has unloaded its plug-in, before anybody could read its mappings: functions have
# their names.
. tests/lib.sh
need_root
need_command cc
need_command jq
[ "${O##*/}" = asan ] && skip_all "a program with a sanitizer does not end at once"

cat >"$TMP/plugin.c" <<'END_C'
#include <ebtrace/probes.h>
#define NAMED(name) __attribute__((noinline, noclone)) void name(void)
static volatile int sink;
NAMED(plugin_collects) { ebt_begin(EBT_PHASE_minor); sink++; ebt_end(EBT_PHASE_minor); sink++; }
NAMED(plugin_allocates) { for (int i = 0; i < 3000; i++) ebt_object_alloc(10000, EBT_ALLOC_MAJOR, NULL); sink++; }
void plugin_run(void) { plugin_collects(); plugin_allocates(); sink++; }
END_C
cat >"$TMP/host.c" <<'END_C'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* host HOW PLUGIN: runs it, and unloads it if HOW has "close"; then ends as HOW says. */
int main(int argc, char **argv)
{
	const char *how = argv[1];
	for (int i = 2; i < argc; i++) {
		void *plugin = dlopen(argv[i], RTLD_NOW);
		void (*run)(void) = plugin ? (void (*)(void))dlsym(plugin, "plugin_run") : NULL;
		if (!run)
			return fprintf(stderr, "%s\n", dlerror());
		run();
		if (strstr(how, "close"))
			dlclose(plugin);
	}
	if (strstr(how, "exec"))
		execl("/bin/true", "true", NULL);
	if (strstr(how, "kill"))
		raise(SIGKILL);
	_exit(0);
}
END_C
build() { cc -g -O1 -fno-omit-frame-pointer -Iinclude "$@" >>"$TMP/log" 2>&1; }
build -rdynamic -o "$TMP/host" "$TMP/host.c" -Wl,--whole-archive "$O/libebtrace-probes.a" -Wl,--no-whole-archive -pthread -ldl &&
	build -shared -fPIC -o "$TMP/plugin.so" "$TMP/plugin.c"
ok $? "a program and its plug-ins are compiled" || diag "$(cat "$TMP/log")"

status_of() { case $1 in *kill) echo 137 ;; *) echo 0 ;; esac; } # of a program that ends like that
stacks() { # HOW PLUGIN...: of the begins of collections, the functions from main() on
	ends_with "$(status_of "$1")" timeout -k 9 120 "$O/ebtrace" --stack=minor -f ndjson -o "$TMP/trace" -- "$TMP/host" "$@" 2>"$TMP/err"
	jq -r 'select(.kind == "begin" and .name == "minor") | (.stack // []) | map(sub("@.*"; "")) | .[index("main"):] | join(" ")' "$TMP/trace"
}
for how in end close kill close-kill exec close-exec; do
	is "$(stacks $how "$TMP/plugin.so")" "main plugin_run plugin_collects" "a program that ends at once ($how): its plug-in's functions are named" ||
		diag "$(cat "$TMP/err")" "$(grep -m1 minor "$TMP/trace")"
done
timeout -k 9 120 "$O/ebtrace" mem hotspots -o "$TMP/report" -- "$TMP/host" close "$TMP/plugin.so" >"$TMP/out" 2>"$TMP/err"
is "$? $(grep -c ' 100.0 %.* plugin_allocates (.*plugin.c:' "$TMP/report")" "0 1" \
	"mem hotspots names the function that allocated" || diag "$(head -8 "$TMP/out")" "$(cat "$TMP/err")"
for how in end close kill close-exec; do
	ends_with "$(status_of $how)" timeout -k 9 120 "$O/ebtrace" mem record --rate 1e-3 -o "$TMP/rec.ctf" -- "$TMP/host" $how "$TMP/plugin.so" >"$TMP/out" 2>"$TMP/err"
	ends_with 0 "$O/ebtrace" mem hotspots "$TMP/rec.ctf" >"$TMP/out" 2>>"$TMP/err"
	is "$(grep -c '+0x.*plugin' "$TMP/out")" 0 "mem record ($how): no frame of the plug-in is an offset" || diag "$(head -8 "$TMP/out")"
done
done_testing
