/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

#include <ebtrace/probes.h>

#include "tests/tap.h"
#include "tests/unit/ringdump.h"

static void (*begin)(enum ebt_phase);

/* Outlives the library that it has a ring of. */
static pthread_barrier_t used, closed;
static void *survivor(void *unused)
{
	(void)unused;
	begin(EBT_PHASE_minor);
	pthread_barrier_wait(&used);
	pthread_barrier_wait(&closed);
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argc;
	dump_rerun(argv, (const char *[]){"EBTRACE_START=1", "EBTRACE_LOG_WSIZE=10", NULL});
	const char *out = getenv("O");
	char lib[512];
	snprintf(lib, sizeof(lib), "%s/libebtrace-probes.so", out ? out : "build");
	pthread_barrier_init(&used, NULL, 2);
	pthread_barrier_init(&closed, NULL, 2);
	int bad = 0;
	for (int i = 0; i < 20; i++) {
		void *copy = dlopen(lib, RTLD_NOW | RTLD_LOCAL);
		if (!copy) {
			diag("%s", dlerror());
			bad++;
			break;
		}
		begin = (void (*)(enum ebt_phase))dlsym(copy, "ebt_emit_begin");
		const char *(*path)(void) = (const char *(*)(void))dlsym(copy, "ebt_ring_path");
		pthread_t thread;
		pthread_create(&thread, NULL, survivor, NULL);
		pthread_barrier_wait(&used);
		begin(EBT_PHASE_minor);
		struct dump d;
		if (dump_open(&d, path())) {
			bad += dump_field(&d, 0, 2) != 2 || dump_field(&d, 1, 2) != 2;
			dump_close(&d);
		} else {
			bad++;
		}
		dlclose(copy);
		pthread_barrier_wait(&closed);
		pthread_join(thread, NULL);
		pid_t pid = fork(); /* its handlers must be gone with the library */
		if (!pid)
			exit(0);
		int status = -1;
		bad += waitpid(pid, &status, 0) != pid || status;
	}
	is(bad, 0, "load, record, unload 20 times, with threads that outlive the library");
	void *left = dlopen(lib, RTLD_NOW | RTLD_NOLOAD);
	ok(!left, "it is really unloaded");
	is(rmdir(getenv("EBTRACE_DIR")), -1, "the static copy has its file there");
	ebt_stop();
	is(rmdir(getenv("EBTRACE_DIR")), 0, "and no other file is left");
	return tap_done();
}
