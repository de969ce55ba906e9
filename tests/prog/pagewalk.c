// SPDX-License-Identifier: BSD-2-Clause
/*
 * Takes memory in known ways, a step each argument, and prints what its address space must look
 * like: "range ADDRESS PAGES" is memory of which all is said here, "alloc|free|scavenge ADDRESS
 * PAGES" what happens to it in order. No huge pages. "stop" stops the process until somebody
 * continues it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  4096ul
#define PAGES 64ul

static void say(const char *what, const void *at, size_t pages)
{
	char line[80];
	int n = snprintf(line, sizeof(line), "%s %p %zu\n", what, at, pages);
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		exit(1);
}

static char *map(size_t pages, int flags)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (at == MAP_FAILED)
		exit(1);
	say("range", at, pages);
	return at;
}

static void touch(char *at, size_t pages)
{
	for (size_t i = 0; i < pages; i++) {
		at[i * PAGE] = 1;
		say("alloc", at + i * PAGE, 1);
	}
}

/* What is read before it was written may be the kernel's page of zeroes, which is not the process's
 * own. */
static int is_memory(const char *at)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);
	if (fd < 0 || pread(fd, &entry, 8, (off_t)((uintptr_t)at / PAGE * 8)) != 8)
		exit(1);
	close(fd);
	return entry >> 56 & 1;
}

static void step_touch(void)
{
	char *at = map(PAGES, 0);
	touch(at, PAGES / 2);
	if (!((volatile char *)at)[40 * PAGE] && is_memory(at + 40 * PAGE))
		say("alloc", at + 40 * PAGE, 1);
	touch(at + 50 * PAGE, 1);
	at[50 * PAGE] = 2;
}

static void step_unmap(void)
{
	char *at = map(PAGES, 0);
	touch(at, 8);
	munmap(at + 2 * PAGE, 4 * PAGE);
	say("free", at + 2 * PAGE, 4);
	munmap(at, PAGES * PAGE);
	say("free", at, 2);
	say("free", at + 6 * PAGE, 2);
}

static void step_drop(void)
{
	char *at = map(PAGES, 0);
	touch(at, 8);
	madvise(at + 4 * PAGE, 8 * PAGE, MADV_DONTNEED);
	say("scavenge", at + 4 * PAGE, 4);
	touch(at + 6 * PAGE, 1);
	madvise(at, 2 * PAGE, MADV_FREE);
	say("scavenge", at, 2);
	munmap(at, PAGES * PAGE);
	say("free", at + 2 * PAGE, 2);
	say("free", at + 6 * PAGE, 1);
}

static void step_move(void)
{
	char *at = map(PAGES, 0), *to = map(2 * PAGES, 0);
	touch(at, 8);
	touch(to + 3 * PAGE, 1);
	if (mremap(at, PAGES * PAGE, 4 * PAGE, MREMAP_MAYMOVE) != at)
		exit(1);
	say("free", at + 4 * PAGE, 4);
	if (mremap(at, 4 * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		exit(1);
	say("free", to + 3 * PAGE, 1);
	say("free", at, 4);
	say("alloc", to, 4);
}

static void step_brk(void)
{
	char *at = (char *)(((uintptr_t)sbrk(0) + PAGE - 1) & ~(PAGE - 1));
	if (brk(at + PAGES * PAGE))
		exit(1);
	say("range", at, PAGES);
	touch(at, 8);
	if (brk(at + 3 * PAGE))
		exit(1);
	say("free", at + 3 * PAGE, 5);
}

static void step_over(void)
{
	char *at = map(PAGES, 0);
	touch(at, 8);
	mmap(at, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	say("free", at, 4);
}

static void step_populate(void)
{
	say("alloc", map(PAGES, MAP_POPULATE), PAGES);
}

static void *touch_too(void *at)
{
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)at)[i * PAGE] = 2;
	return NULL;
}

static void step_threads(void)
{
	pthread_t other;
	char *at = map(PAGES, 0);
	pthread_create(&other, NULL, touch_too, at);
	touch_too(at);
	pthread_join(other, NULL);
	for (size_t i = 0; i < PAGES; i++)
		say("alloc", at + i * PAGE, 1);
}

/* The child has a copy of the address space, and writes to its own pages. */
static void step_fork(void)
{
	char *at = map(PAGES, 0);
	touch(at, 8);
	pid_t child = fork();
	if (!child) {
		usleep(50000);
		for (size_t i = 0; i < 4; i++)
			at[i * PAGE] = 3;
		_exit(0);
	}
	waitpid(child, NULL, 0);
	at[0] = 4;
}

static void step_kill(void)
{
	kill(getpid(), SIGKILL);
}

/* As many mappings as the kernel allows by default, every other one with a page. */
static void step_many(void)
{
	char *at = mmap(NULL, 60000 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < 60000; i += 2) {
		if (mprotect(at + i * PAGE, PAGE, PROT_READ | PROT_WRITE))
			exit(1);
		at[i * PAGE] = 1;
	}
}

static void *churn(void *ctx)
{
	(void)ctx;
	for (size_t i = 0; i < 3000; i++) {
		size_t pages = 1 + i * 7 % 64;
		char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t k = 0; k < pages; k += 3)
			at[k * PAGE] = 1;
		if (i % 3 == 0)
			madvise(at, pages * PAGE, MADV_DONTNEED);
		munmap(at, pages * PAGE);
	}
	return NULL;
}

/* Two threads take and give back memory, also what the other one has just given back. */
static void step_churn(void)
{
	pthread_t other;
	pthread_create(&other, NULL, churn, NULL);
	churn(NULL);
	pthread_join(other, NULL);
}

static void step_rest(void)
{
	usleep(300000);
}

static void step_stop(void)
{
	raise(SIGSTOP);
}

static const struct {
	const char *name;
	void (*run)(void);
} steps[] = {
	{"touch", step_touch}, {"unmap", step_unmap},	    {"drop", step_drop},
	{"move", step_move},   {"brk", step_brk},	    {"over", step_over},
	{"fork", step_fork},   {"populate", step_populate}, {"threads", step_threads},
	{"many", step_many},   {"churn", step_churn},	    {"kill", step_kill},
	{"stop", step_stop},   {"rest", step_rest},
};

int main(int argc, char **argv)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "exec")) {
			printf("exec\n");
			fflush(stdout);
			argv[i] = argv[0];
			execv(argv[0], argv + i);
			return 1;
		}
		for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++)
			if (!strcmp(argv[i], steps[k].name))
				steps[k].run();
	}
	return 0;
}
