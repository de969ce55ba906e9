// SPDX-License-Identifier: BSD-2-Clause
/*
 * late LIBRARY ROUNDS [own]: loads the shared probe library while it runs, waits until a tracer
 * listens to that copy, and enters and leaves a phase ROUNDS times through it. With `own` it has
 * the static library too and fires one pair through that first, so that there are markers before.
 * At a line on stdin it loads; then it prints how often it fired and ends.
 */
#include <dlfcn.h>
#include <ebtrace/probes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void (*emit_fn)(enum ebt_phase phase);

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (argc > 3 && !strcmp(argv[3], "own")) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
	}
	puts("ready");
	fflush(stdout);
	getchar();
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	const volatile struct ebt_gate *gate = dlsym(lib, "ebt_gate");
	emit_fn begin = (emit_fn)dlsym(lib, "ebt_emit_begin");
	emit_fn end = (emit_fn)dlsym(lib, "ebt_emit_end");
	if (!gate || !begin || !end)
		return 1;
	/*
	 * The kernel attaches to one marker after the other: the tracer listens to all of them when
	 * this copy has as many listeners as the one in the program. A tracer that never comes is
	 * the test's failure, not an endless loop.
	 */
	const volatile struct ebt_gate *own = &ebt_gate;
	for (int i = 0; (!gate->events || gate->events < own->events) && i < 10000; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	int rounds = atoi(argv[2]);
	for (int i = 0; i < rounds; i++) {
		begin(EBT_PHASE_minor);
		end(EBT_PHASE_minor);
	}
	printf("fired %d\n", gate->events ? 2 * rounds : 0);
	return 0;
}
