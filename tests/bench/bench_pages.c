/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel does for pages, alone: getppid (a system call that is none of memory), munmap (of
 * a page that is mapped for it), fault (the first write to a page). Arguments: which, and a file,
 * into which goes what one takes, in ns: the least of several runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RUNS   25
#define CALLS  40000
#define MAPS   5000
#define FAULTS 4096
#define PAGE   4096ul

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *map(size_t pages)
{
	void *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (at == MAP_FAILED)
		exit(1);
	madvise(at, pages * PAGE, MADV_NOHUGEPAGE);
	return at;
}

static double run_getppid(void)
{
	double begin = now_ns();
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	return (now_ns() - begin) / CALLS;
}

static double run_munmap(void)
{
	double begin = now_ns();
	for (int i = 0; i < MAPS; i++)
		munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
	return (now_ns() - begin) / MAPS;
}

static double run_fault(void)
{
	volatile char *at = map(FAULTS);
	double begin = now_ns();
	for (size_t i = 0; i < FAULTS; i++)
		at[i * PAGE] = 1;
	double ns = (now_ns() - begin) / FAULTS;
	munmap((void *)at, FAULTS * PAGE);
	return ns;
}

static const struct {
	const char *name;
	double (*run)(void);
} kinds[] = {{"getppid", run_getppid}, {"munmap", run_munmap}, {"fault", run_fault}};

int main(int argc, char **argv)
{
	double least = 1e9;
	size_t kind = 0;
	while (argc == 3 && kind < sizeof(kinds) / sizeof(*kinds) &&
	       strcmp(argv[1], kinds[kind].name) != 0)
		kind++;
	if (argc != 3 || kind == sizeof(kinds) / sizeof(*kinds))
		return 2;
	for (int run = 0; run < RUNS; run++) {
		double ns = kinds[kind].run();
		least = ns < least ? ns : least;
	}
	FILE *f = fopen(argv[2], "w");
	if (!f)
		return 1;
	fprintf(f, "%.3f\n", least);
	return fclose(f) ? 1 : 0;
}
