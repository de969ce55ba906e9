/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates memory in the ways that its arguments name, one after the other, and prints what it
 * leaves allocated: "SITE line bytes". Everything else is freed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/unit/seccomp.h"

#define NOINLINE __attribute__((noinline))
#define THREADS	 8
#define ROUNDS	 200
#define HANDED	 64

static void *volatile sink;
static char **arguments;

static struct {
	const char *name;
	int line;
	size_t bytes;
} left[16];

static void leave(const char *name, int line, size_t bytes)
{
	unsigned i = 0;
	while (left[i].name && strcmp(left[i].name, name))
		i++;
	left[i].name = name;
	left[i].line = line;
	__atomic_add_fetch(&left[i].bytes, bytes, __ATOMIC_RELAXED);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of several threads. */
static void leave_locked(const char *name, int line, size_t bytes)
{
	pthread_mutex_lock(&lock);
	leave(name, line, bytes);
	pthread_mutex_unlock(&lock);
}

static NOINLINE void leak_malloc(void)
{
	sink = malloc(1000), leave_locked("leak_malloc", __LINE__, 1000);
}

static NOINLINE void leak_calloc(void)
{
	sink = calloc(20, 100), leave_locked("leak_calloc", __LINE__, 2000);
}

static NOINLINE void leak_realloc(void)
{
	void *p = malloc(10);
	sink = realloc(p, 3000), leave_locked("leak_realloc", __LINE__, 3000);
}

/* Each function of the family; what it returns is freed, by this or another thread. */
static NOINLINE void *allocate(unsigned way)
{
	void *p = NULL;
	switch (way % 10) {
	case 0:
		return malloc(way % 300);
	case 1:
		return calloc(way % 7, 50);
	case 2:
		return realloc(malloc(24), 100 + way % 1000);
	case 3:
		return reallocarray(calloc(1, 24), 30, way % 9);
	case 4:
		return aligned_alloc(64, 64 * (way % 5));
	case 5:
		return memalign(256, way % 500);
	case 6:
		return posix_memalign(&p, 4096, way % 600) ? NULL : p;
	case 7:
		return valloc(way % 700);
	case 8:
		return pvalloc(way % 800);
	default:
		return strdup("copied by libc");
	}
}

static void *handed[HANDED];

static void *run_thread(void *arg)
{
	unsigned first = (unsigned)(size_t)arg;
	for (unsigned i = 0; i < ROUNDS; i++) {
		free(allocate(first + i));
		free(__atomic_exchange_n(&handed[(first + i) % HANDED], allocate(first * 3 + i),
					 __ATOMIC_ACQ_REL));
		if (i % 10 == 0)
			leak_malloc();
		if (i % 20 == 0)
			leak_calloc();
		if (i % 25 == 0)
			leak_realloc();
	}
	return NULL;
}

static void act_threads(void)
{
	pthread_t t[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run_thread, (void *)(i * 1000));
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (size_t i = 0; i < HANDED; i++)
		free(handed[i]);
}

static NOINLINE void leak_large(void)
{
	sink = malloc(8 << 20), leave("leak_large", __LINE__, 8 << 20);
}

/* Enough for an estimate. */
static void act_large(void)
{
	for (unsigned i = 0; i < 20; i++)
		leak_large();
	for (unsigned i = 0; i < 1000; i++) {
		sink = malloc(100000);
		free(sink);
	}
}

static NOINLINE void leak_small(size_t bytes)
{
	sink = malloc(bytes), leave("leak_small", __LINE__, bytes);
}

/* Of sizes that are no multiples of a word. */
static void small_objects(unsigned count)
{
	static const size_t sizes[] = {1, 7, 8, 20, 24, 33, 100};
	for (unsigned i = 0; i < count; i++)
		leak_small(sizes[i % 7]);
}

static void act_small(void)
{
	small_objects(140000);
}

static void act_few_small(void)
{
	small_objects(14000);
}

static void *run_short(void *arg)
{
	sink = malloc(64);
	free(sink);
	leak_malloc();
	return arg;
}

static void act_short(void)
{
	pthread_t t;
	for (unsigned i = 0; i < 500; i++) {
		pthread_create(&t, NULL, run_short, NULL);
		pthread_join(t, NULL);
	}
}

static NOINLINE void leak_before_fork(void)
{
	sink = malloc(500), leave("leak_before_fork", __LINE__, 500);
}

/* What the child frees and allocates is its own. */
static void act_fork(void)
{
	leak_before_fork();
	pid_t pid = fork();
	if (!pid) {
		free(sink);
		for (unsigned i = 0; i < 1000; i++)
			sink = malloc(100 + i);
		exit(0);
	}
	waitpid(pid, NULL, 0);
	leak_malloc();
}

static void act_vfork(void)
{
	pid_t pid = vfork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	leak_malloc();
	if (system("true") == 0)
		leak_malloc();
}

static void act_exec(void)
{
	sink = malloc(700);
	char *next[] = {arguments[0], (char *)"threads", NULL};
	execv("/proc/self/exe", next);
}

static void handle(int signo)
{
	(void)signo;
	free(malloc(300));
	sink = malloc(400), leave("handle", __LINE__, 400);
}

static void act_signals(void)
{
	signal(SIGUSR1, handle);
	for (unsigned i = 0; i < 200; i++)
		raise(SIGUSR1);
}

static NOINLINE void *map_block(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static NOINLINE void leak_map(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	sink = mmap(NULL, 2 << 20, PROT_READ, flags, -1, 0), leave("leak_map", __LINE__, 2 << 20);
}

static void act_map(void)
{
	char *p = map_block(1 << 20);
	munmap(p + (1 << 19), 1 << 19); /* the rest lives on */
	munmap(p, 1 << 19);
	p = mremap(map_block(1 << 20), 1 << 20, 4 << 20, MREMAP_MAYMOVE);
	munmap(p, 4 << 20);
	map_block(4096); /* not large */
	leak_map();
}

/* The library is unloaded, and another one may be loaded at its addresses. */
static void act_dlopen(void)
{
	void *zstd = dlopen("libzstd.so.1", RTLD_NOW);
	void *(*create)(void);
	*(void **)&create = zstd ? dlsym(zstd, "ZSTD_createCCtx") : NULL;
	if (!create)
		exit(77);
	create();
	dlclose(zstd);
	void *z = dlopen("libz.so.1", RTLD_NOW);
	void *(*open_z)(int, const char *);
	*(void **)&open_z = z ? dlsym(z, "gzdopen") : NULL;
	if (!open_z)
		exit(77);
	open_z(open("/dev/null", O_RDONLY), "r");
}

static pthread_mutex_t waited_for = PTHREAD_MUTEX_INITIALIZER;
static sem_t iterates;

static int wait_inside(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)info, (void)size, (void)ctx;
	sem_post(&iterates);
	pthread_mutex_lock(&waited_for);
	pthread_mutex_unlock(&waited_for);
	return 1;
}

static void *run_iteration(void *arg)
{
	dl_iterate_phdr(wait_inside, NULL);
	return arg;
}

/* The dynamic linker's lock is held by a thread that waits for one that allocates. */
static void act_iterate(void)
{
	pthread_t t;
	pthread_mutex_lock(&waited_for);
	pthread_create(&t, NULL, run_iteration, NULL);
	sem_wait(&iterates);
	leak_malloc();
	pthread_mutex_unlock(&waited_for);
	pthread_join(t, NULL);
}

/* Numbers of descriptors, before and after all of them are closed. */
static void act_descriptors(void)
{
	leak_malloc();
	int before = open("/dev/null", O_RDONLY);
	for (int fd = 3; fd < 100; fd++)
		close(fd);
	leak_malloc();
	printf("descriptors %d %d\n", before, open("/dev/null", O_RDONLY));
}

static void print_left(void)
{
	for (unsigned i = 0; left[i].name; i++)
		printf("%s %d %zu\n", left[i].name, left[i].line, left[i].bytes);
	fflush(stdout);
}

static void act_exit_now(void)
{
	leak_malloc();
	print_left();
	_exit(5);
}

static void act_crash(void)
{
	leak_malloc();
	print_left();
	raise(SIGKILL);
}

/* Runs until it gets a signal. */
static void act_wait(void)
{
	leak_malloc();
	print_left();
	for (;;)
		pause();
}

static void act_failing(void)
{
	volatile size_t huge = (size_t)-1 / 2;
	void *volatile p = malloc(100);
	void *volatile moved = realloc(p, huge);
	if (malloc(huge) || calloc(huge, 3) || moved)
		exit(9);
	free(p);
	sink = NULL;
	free(sink);
	p = realloc(sink, 100); /* allocates */
	p = realloc(p, 0);	/* frees */
	free(p);
}

/* glibc's free() by its other name, which nobody sees; the address is allocated again at once. */
void __libc_free(void *p);

static void act_unseen(void)
{
	for (unsigned i = 0; i < 10; i++) {
		sink = malloc(640);
		__libc_free(sink);
		sink = malloc(640);
		free(sink);
	}
}

static NOINLINE size_t allocate_deep(unsigned depth)
{
	char deep[3000];
	memset(deep, 1, sizeof(deep));
	free(allocate(depth * 7));
	return depth ? allocate_deep(depth - 1) + (size_t)deep[depth] : 0;
}

/* Any system call but those of malloc() and of the end kills. */
static void confine(bool by_prctl)
{
	static const int calls[] = {SYS_brk,	    SYS_mmap,  SYS_munmap,     SYS_mremap,
				    SYS_madvise,    SYS_write, SYS_exit_group, SYS_clock_gettime,
				    SYS_newfstatat, SYS_fstat, SYS_futex,      -1};
	leak_malloc();
	if (!(by_prctl ? seccomp_enter : seccomp_enter_by_call)(calls, SECCOMP_RET_ALLOW,
								SECCOMP_RET_KILL_PROCESS))
		exit(77);
	for (unsigned i = 0; i < 1500; i++)
		sink = (void *)allocate_deep(i % 100);
	leak_calloc();
	leak_realloc();
}

static void act_confine(void)
{
	confine(true);
}

static void act_confine_call(void)
{
	confine(false);
}

static sigjmp_buf jump;
static volatile unsigned mapped, jumps;

static void leave_by_jump(int signo)
{
	(void)signo;
	jumps++;
	siglongjmp(jump, 1);
}

/* A timer's handler leaves what it interrupts, which may be the recorder. */
static void act_jump(void)
{
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	signal(SIGALRM, leave_by_jump);
	setitimer(ITIMER_REAL, &often, NULL);
	sigsetjmp(jump, 1);
	while (mapped < 20000) {
		if (map_block(1 << 18) != MAP_FAILED)
			mapped++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("jump %u\n", mapped);
	fflush(stdout);
	_exit(0);
}

#define COROUTINES 300
#define SMALL	   4096

static ucontext_t outside, inside;

static NOINLINE void leak_in_coroutine(void)
{
	sink = malloc(600), leave("leak_in_coroutine", __LINE__, 600);
}

static void run_coroutine(void)
{
	sink = realloc(malloc(100), 200);
	swapcontext(&inside, &outside);
	free(sink);
	leak_in_coroutine();
	__asm__ volatile(""); /* no jump */
}

/* Each has a page for its stack, above one that must not be touched. */
static void act_coroutine(void)
{
	for (unsigned i = 0; i < COROUTINES; i++) {
		char *stack = mmap(NULL, 2 * SMALL, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(stack, SMALL, PROT_NONE);
		getcontext(&inside);
		inside.uc_stack = (stack_t){.ss_sp = stack + SMALL, .ss_size = SMALL};
		inside.uc_link = &outside;
		makecontext(&inside, run_coroutine, 0);
		swapcontext(&outside, &inside);
		swapcontext(&outside, &inside);
		munmap(stack, 2 * SMALL);
	}
}

#define MANY_THREADS 64
#define MANY_OBJECTS 300

static __thread ucontext_t outside_here, inside_here;

static NOINLINE void leak_inside(void)
{
	for (unsigned i = 0; i < MANY_OBJECTS; i++) {
		void *volatile object = malloc(500);
		free(object);
	}
	leave_locked("leak_inside", __LINE__ + 1, 600);
	sink = malloc(600);
	__asm__ volatile(""); /* no jump */
}

static void *run_inside(void *stack)
{
	getcontext(&inside_here);
	inside_here.uc_stack = (stack_t){.ss_sp = (char *)stack + SMALL, .ss_size = SMALL / 2};
	inside_here.uc_link = &outside_here;
	makecontext(&inside_here, leak_inside, 0);
	swapcontext(&outside_here, &inside_here);
	return NULL;
}

/* More threads at a time than the recorder has stacks, with half a page each. */
static void act_many_coroutines(void)
{
	pthread_t thread[MANY_THREADS];
	char *stack = mmap(NULL, (size_t)MANY_THREADS * 2 * SMALL, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < MANY_THREADS; i++) {
		mprotect(stack + i * 2 * SMALL, SMALL, PROT_NONE);
		pthread_create(&thread[i], NULL, run_inside, stack + i * 2 * SMALL);
	}
	for (unsigned i = 0; i < MANY_THREADS; i++)
		pthread_join(thread[i], NULL);
	munmap(stack, (size_t)MANY_THREADS * 2 * SMALL);
}

static volatile sig_atomic_t raised;
static void *alternative;

/* Handlers on the alternative stack; one interrupts the other. */
static void handle_nested(int signo)
{
	volatile uint64_t canary[64];
	for (unsigned i = 0; i < 64; i++)
		canary[i] = i * 77;
	if (signo == SIGUSR1)
		kill(getpid(), SIGUSR2);
	for (unsigned i = 0; i < 50; i++)
		free(malloc(300));
	leak_malloc();
	for (unsigned i = 0; i < 64; i++)
		if (canary[i] != i * 77)
			_exit(99);
	raised++;
}

static void act_alternative(void)
{
	alternative = malloc(1 << 16);
	stack_t s = {.ss_sp = alternative, .ss_size = 1 << 16};
	sigaltstack(&s, NULL);
	struct sigaction a = {.sa_handler = handle_nested, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR2, &a, NULL);
	for (unsigned i = 0; i < 100; i++)
		raise(SIGUSR1);
	s.ss_flags = SS_DISABLE;
	sigaltstack(&s, NULL);
	free(alternative);
}

static const struct {
	const char *name;
	void (*run)(void);
} acts[] = {
	{"threads", act_threads},
	{"large", act_large},
	{"small", act_small},
	{"few_small", act_few_small},
	{"short", act_short},
	{"fork", act_fork},
	{"vfork", act_vfork},
	{"exec", act_exec},
	{"signals", act_signals},
	{"map", act_map},
	{"dlopen", act_dlopen},
	{"iterate", act_iterate},
	{"descriptors", act_descriptors},
	{"exit_now", act_exit_now},
	{"crash", act_crash},
	{"wait", act_wait},
	{"failing", act_failing},
	{"unseen", act_unseen},
	{"jump", act_jump},
	{"coroutine", act_coroutine},
	{"many_coroutines", act_many_coroutines},
	{"alternative", act_alternative},
	{"confine", act_confine},
	{"confine_call", act_confine_call},
};

int main(int argc, char **argv)
{
	arguments = argv;
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(acts) / sizeof(*acts); k++)
			if (!strcmp(argv[i], acts[k].name))
				acts[k].run();
	print_left();
	return 0;
}
