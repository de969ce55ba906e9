/* SPDX-License-Identifier: BSD-2-Clause */
/* What the worker sees of a process's mappings, their files and its pages, and what we see. */
#include "proc/memory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/maps.h"
#include "proc/pagemap.h"
#include "tests/tap.h"

#define MANY 5000

struct seen {
	uint64_t count, sum;
	struct maps_entry file; /* the first one with code */
	char path[PATH_MAX];
	uint64_t stop_at;
};

static int see(const struct maps_entry *e, void *ctx)
{
	struct seen *s = ctx;
	s->sum = 31 * s->sum + e->start + e->end + e->inode + strlen(e->path) + e->exec;
	if (e->exec && e->inode && !s->file.inode) {
		s->file = *e;
		strncat(s->path, e->path, sizeof(s->path) - 1);
		s->file.path = s->path;
	}
	return ++s->count == s->stop_at ? 42 : 0;
}

/* With so many mappings that no first read has them all. */
static pid_t start_child(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, (size_t)(2 * MANY * page), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	for (int i = 0; at != MAP_FAILED && i < MANY; i++)
		mprotect(at + 2 * i * page, (size_t)page, PROT_WRITE);
	for (int i = 0; at != MAP_FAILED && i < MANY; i++)
		at[2 * i * page] = 1;
	pid_t child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	munmap(at, (size_t)(2 * MANY * page));
	return child;
}

static void test_maps(struct memory_reader *r, pid_t child)
{
	static struct seen by_us, by_worker, stopped = {.stop_at = 7};
	is(maps_each(child, see, &by_us), 0, "a process has many mappings");
	is(memory_reader_maps(r, child, see, &by_worker), 0, "the worker reads them");
	ok(by_us.count > 2 * MANY && by_us.count == by_worker.count && by_us.sum == by_worker.sum,
	   "and they are the same");
	is(memory_reader_maps(r, child, see, &stopped), 42, "the callback's value ends the walk");
	is((long long)stopped.count, 7, "there");
	is(memory_reader_maps(r, INT_MAX, see, &stopped), -ESRCH,
	   "a pid that is not there is told");
	is(memory_reader_maps(NULL, INT_MAX, see, &stopped), -ESRCH, "also without a worker");
}

static void test_open(struct memory_reader *r, pid_t child)
{
	struct seen s = {0};
	struct stat st;
	char magic[4] = "";
	memory_reader_maps(r, child, see, &s);
	int fd = memory_reader_open(r, child, &s.file);
	ok(fd >= 0 && !fstat(fd, &st) && st.st_ino == s.file.inode,
	   "the worker opens a file that is mapped");
	ok(pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4), "whose content is there");
	ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "not for the programs that we start");
	close(fd);
	s.file.inode++;
	is(memory_reader_open(r, child, &s.file), maps_open(child, &s.file),
	   "why it cannot be opened is told as without a worker");
	s.file.inode--;
	fd = memory_reader_open(NULL, child, &s.file);
	ok(fd >= 0, "without a worker it is opened at once");
	close(fd);
	pid_t first;
	is(memory_reader_given_up(r, &first), 0, "nothing was given up");
}

struct pages {
	uint64_t count, sum, stop_at;
};

static int see_pages(void *ctx, const struct pagemap_run *run)
{
	struct pages *p = ctx;
	p->sum = 31 * p->sum + run->addr + run->bytes + run->file + 2u * run->swapped;
	return ++p->count == p->stop_at ? 42 : 0;
}

static void test_pages(struct memory_reader *r, pid_t child)
{
	struct pages by_us = {0}, by_worker = {0}, stopped = {.stop_at = 7};
	uint64_t cpu_ns = 0;
	int dir = pagemap_open(child);
	is(pagemap_read(dir, 0, PAGEMAP_END, false, see_pages, &by_us), 0,
	   "the pages of a process are read");
	is(memory_reader_pages(r, child, dir, false, see_pages, &by_worker, &cpu_ns), 0,
	   "and by a worker");
	ok(by_us.count >= MANY && by_us.count == by_worker.count && by_us.sum == by_worker.sum,
	   "which finds the same %llu runs", (unsigned long long)by_us.count);
	ok(cpu_ns, "in CPU time that it knows");
	is(memory_reader_pages(r, child, dir, false, see_pages, &stopped, &cpu_ns), 42,
	   "an error of the caller's is returned");
	is(stopped.count, 7, "and ends the calls");
	kill_child(child, SIGKILL);
	waitpid(child, NULL, 0);
	is(memory_reader_pages(r, child, dir, false, see_pages, &stopped, &cpu_ns), -ESRCH,
	   "a process that has ended has no pages");
	/* Another one that has its pid now. */
	is(memory_reader_pages(r, getpid(), dir, false, see_pages, &stopped, &cpu_ns), -ESRCH,
	   "those of a process that has its pid are not taken for its");
	close(dir);
}

int main(void)
{
	struct memory_reader *r = memory_reader_new();
	pid_t child = start_child();
	if (!r || child < 0)
		return 1;
	test_maps(r, child);
	test_open(r, child);
	test_pages(r, child);
	memory_reader_free(r);
	return tap_done();
}
