// SPDX-License-Identifier: BSD-2-Clause
/* Frame pointers are followed in any stack that a program switches to, and nothing is read that is
 * not mapped any more; in the stacks of the program and of its threads without a system call. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/seccomp.h"
#include "usdt-probes/shared/confined.h"
#include "usdt-probes/shared/frame_pointers.h"

#define WITH	    __attribute__((noinline, optimize("no-omit-frame-pointer")))
#define STACK_BYTES 65536u
#define HALF	    (STACK_BYTES / 2)
#define DEPTH	    20u
#define KEEP	    __asm__ volatile("" ::: "memory") /* behind a call: it is no jump */

static ucontext_t back, there;
static char *area; /* of a stack; another one comes to the same addresses */
static bool seen;

/* A stack at the area's begin. */
static void make_stack(size_t bytes)
{
	area = mmap(area, STACK_BYTES, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (area ? MAP_FIXED : 0), -1, 0);
	if (area == MAP_FAILED || mprotect(area, bytes, PROT_READ | PROT_WRITE))
		abort();
}

static void run_on(size_t bytes, void (*fn)(void))
{
	make_stack(bytes);
	if (getcontext(&there))
		abort();
	there.uc_stack.ss_sp = area;
	there.uc_stack.ss_size = bytes;
	there.uc_link = &back;
	makecontext(&there, fn, 0);
	if (swapcontext(&back, &there))
		abort();
}

/* Deep in the first stack, so that the place of the second one is behind it. */
static void look_deep(void)
{
	char deep[HALF + 8192];
	memset(deep, 1, sizeof(deep));
	ebt_stack_enter(deep);
	seen = ebt_stack_has((uintptr_t)area + STACK_BYTES - 64, 16) && deep[100];
}

static void look_beyond(void)
{
	ebt_stack_enter(__builtin_frame_address(0));
	seen = ebt_stack_has((uintptr_t)area + HALF + 4096, 16);
}

static WITH size_t recurse(unsigned depth)
{
	int64_t frames[DEPTH * 4];
	if (!depth)
		return ebt_frame_pointers(__builtin_frame_address(0), frames, DEPTH * 4);
	size_t n = recurse(depth - 1);
	KEEP;
	return n;
}

static void count_frames(void)
{
	seen = recurse(DEPTH) > DEPTH;
}

static void *count_in_thread(void *ret)
{
	*(bool *)ret = recurse(DEPTH) > DEPTH;
	return NULL;
}

static void test_coroutines(void)
{
	run_on(STACK_BYTES, look_deep);
	ok(seen, "a stack that a program made is read up to its end");
	run_on(HALF, look_beyond);
	ok(!seen, "where a smaller one has come to its place, nothing beyond that is");
	run_on(STACK_BYTES, count_frames);
	ok(seen, "the callers in a coroutine are found");
	bool in_thread = false;
	pthread_t t;
	pthread_create(&t, NULL, count_in_thread, &in_thread);
	pthread_join(t, NULL);
	ok(in_thread && recurse(DEPTH) > DEPTH, "and in a thread, and in the program's own stack");
}

/* A system call that tests memory kills. Exits with what is missing, as the end of a thread makes
 * such a call. */
static void *confine(void *unused)
{
	static const int calls[] = {SYS_rt_sigprocmask, -1};
	int missing = 0;
	(void)unused;
	/* A thread's own stack is tested before. */
	if (recurse(DEPTH) <= DEPTH)
		missing |= 1;
	if (!seccomp_enter(calls, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW) ||
	    recurse(DEPTH) <= DEPTH)
		missing |= 2;
	/* A stack that is not the thread's: the page that it is in. */
	ebt_confine(NULL, 0);
	ebt_stack_enter(area);
	if (!ebt_stack_has((uintptr_t)area, 16) || ebt_stack_has((uintptr_t)area + HALF, 16))
		missing |= 4;
	_exit(missing);
}

static int run_confined(bool in_thread)
{
	pid_t pid = fork();
	int status = -1;
	pthread_t t;
	if (!pid && in_thread && !pthread_create(&t, NULL, confine, NULL))
		pthread_join(t, NULL);
	if (!pid)
		confine(NULL);
	waitpid(pid, &status, 0);
	return status;
}

int main(void)
{
	test_coroutines();
	is(run_confined(false), 0,
	   "the program's own stack is read without a system call, and what is "
	   "not known is not read in a process that is confined");
	is(run_confined(true), 0, "so is that of a thread");
	return tap_done();
}
