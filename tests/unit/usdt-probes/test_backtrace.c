/* SPDX-License-Identifier: BSD-2-Clause */
/* Backtraces of the library that is preloaded, against what the unwinder alone says: of random
 * calls of functions with a frame pointer and without, through libc, in threads and in handlers. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unwind.h>

#include "tests/tap.h"
#include "usdt-probes/preload/backtrace.h"

#define WITH	 __attribute__((noinline, optimize("no-omit-frame-pointer")))
#define WITHOUT	 __attribute__((noinline, optimize("omit-frame-pointer")))
#define THREADS	 4
#define CALLS	 5000
#define KEEP	 __asm__ volatile("" ::: "memory") /* behind a call: it is no jump */
#define DEPTH	 60
#define NOT_EVER (DEPTH + 1)

struct frames {
	uintptr_t caller;
	size_t count;
	int64_t frame[EBT_BACKTRACE_MAX];
};

static __thread struct frames got, want;
static __thread unsigned seed, wrong, compared;

static unsigned draw(unsigned below)
{
	return (unsigned)rand_r(&seed) % below;
}

/* Innermost first. */
static _Unwind_Reason_Code visit(struct _Unwind_Context *c, void *ctx)
{
	struct frames *w = ctx;
	uintptr_t address = _Unwind_GetIP(c);
	if ((w->count || address == w->caller) && address)
		w->frame[w->count++] = (int64_t)address - 1;
	return w->count < EBT_BACKTRACE_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static WITH void compare(void)
{
	got.count =
		ebt_backtrace(__builtin_return_address(0), __builtin_frame_address(0), got.frame);
	want = (struct frames){.caller = (uintptr_t)__builtin_return_address(0)};
	_Unwind_Backtrace(visit, &want);
	int good = got.count == want.count;
	for (size_t i = 0; good && i < got.count; i++)
		good = got.frame[i] == want.frame[want.count - 1 - i];
	wrong += !good;
	compared++;
}

static void call(unsigned depth);

static WITH void with(unsigned depth)
{
	call(depth);
	KEEP;
}

static WITHOUT void without(unsigned depth)
{
	call(depth);
	KEEP;
}

static WITHOUT void call_twice(unsigned depth)
{
	call(depth);
	call(depth);
	KEEP;
}

/* Frames of several sizes. */
static WITH void with_array(unsigned depth)
{
	volatile char *array = __builtin_alloca(16 + 16 * draw(40));
	array[0] = 1;
	call(depth);
	KEEP;
}

static __thread unsigned sort_depth = NOT_EVER;

static WITH int sort_one(const void *a, const void *b)
{
	unsigned depth = sort_depth;
	sort_depth = NOT_EVER;
	if (depth != NOT_EVER)
		call(depth);
	return *(const char *)a - *(const char *)b;
}

static WITH void sort(unsigned depth)
{
	char two[2] = {2, 1};
	sort_depth = depth;
	qsort(two, 2, 1, sort_one);
	KEEP;
}

static WITH void call(unsigned depth)
{
	static void (*const ways[])(unsigned) = {with, without, with_array, sort, with, without};
	if (!depth || !draw(20))
		compare();
	else if (!draw(10))
		call_twice(depth - 1);
	else
		ways[draw(6)](depth - 1);
	KEEP;
}

static void call_often(unsigned first)
{
	seed = first;
	wrong = compared = 0;
	while (compared < CALLS)
		call(draw(DEPTH));
}

static void test_calls(void)
{
	call_often(1);
	is(wrong, 0, "random calls have the unwinder's backtraces");
	ebt_backtrace_forget();
	call_often(2);
	is(wrong, 0, "so they have when no site is known any more");
}

static void *run_thread(void *arg)
{
	call_often(10 + (unsigned)(size_t)arg);
	return (void *)(size_t)wrong;
}

static void test_threads(void)
{
	pthread_t t[THREADS];
	size_t all = 0;
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run_thread, (void *)i);
	for (size_t i = 0; i < THREADS; i++) {
		void *ret = NULL;
		pthread_join(t[i], &ret);
		all += (size_t)ret;
	}
	is(all, 0, "so they have in threads");
}

static void handle(int signo)
{
	(void)signo;
	call(draw(10));
}

static WITHOUT void raise_deep(unsigned depth)
{
	if (depth)
		raise_deep(depth - 1);
	else
		raise(SIGUSR1);
	KEEP;
}

static void test_handlers(void)
{
	static char memory[1 << 16];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction act = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
	wrong = 0;
	sigaction(SIGUSR1, &act, NULL);
	for (unsigned i = 0; i < 1000; i++) {
		if (i == 500)
			sigaltstack(&stack, NULL);
		raise_deep(draw(5));
	}
	is(wrong, 0, "and in handlers, on this and on another stack");
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

static WITHOUT void compare_deep(unsigned depth)
{
	if (depth)
		compare_deep(depth - 1);
	else
		compare();
	KEEP;
}

static void test_long(void)
{
	wrong = 0;
	for (unsigned i = 0; i < 100; i++)
		compare_deep(EBT_BACKTRACE_MAX - 50 + draw(100));
	compare_deep(EBT_BACKTRACE_MAX);
	is(wrong, 0, "of long stacks the outermost frames are missing");
	is(got.count, EBT_BACKTRACE_MAX, "which have all others");
}

/* What is called here has no table; its frame pointers lead on. */
static WITH void test_without_table(void)
{
#ifdef __x86_64__
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void (*)(void));
	memcpy(p, code, sizeof(code));
	memcpy(&run, &p, sizeof(run));
	for (unsigned i = 0; i < 2; i++) {
		run(compare);
		KEEP;
		size_t inner = got.count - 1;
		uint64_t caller = got.count > 2 ? (uint64_t)got.frame[inner - 1] : 0;
		is((uint64_t)got.frame[inner], (uint64_t)(uintptr_t)(p + 5),
		   "code without a table is a frame");
		ok(caller - (uintptr_t)test_without_table < 2000, "and its caller the next one");
	}
	munmap(p, 4096);
#endif
}

int main(void)
{
	test_calls();
	test_threads();
	test_handlers();
	test_long();
	test_without_table();
	return tap_done();
}
