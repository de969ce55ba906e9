/* SPDX-License-Identifier: BSD-2-Clause */
/* What the worker sees of a process's mappings, their files and its pages, and what we see. */
#include "proc/memory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/maps.h"
#include "proc/pagemap.h"
#include "proc/process.h"
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
	is(maps_each(child, MAPS_ALL, see, &by_us), 0, "a process has many mappings");
	is(memory_reader_maps(r, child, MAPS_ALL, see, &by_worker), 0, "the worker reads them");
	ok(by_us.count > 2 * MANY && by_us.count == by_worker.count && by_us.sum == by_worker.sum,
	   "and they are the same");
	is(memory_reader_maps(r, child, MAPS_ALL, see, &stopped), 42,
	   "the callback's value ends the walk");
	is((long long)stopped.count, 7, "there");
	is(memory_reader_maps(r, INT_MAX, MAPS_ALL, see, &stopped), -ESRCH,
	   "a pid that is not there is told");
	is(memory_reader_maps(NULL, INT_MAX, MAPS_ALL, see, &stopped), -ESRCH,
	   "also without a worker");
}

static void test_open(struct memory_reader *r, pid_t child)
{
	struct seen s = {0};
	struct stat st;
	char magic[4] = "";
	memory_reader_maps(r, child, MAPS_ALL, see, &s);
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

/* A directory of ours, and one with another file of that name. */
static void test_own_dir(struct memory_reader *r, pid_t child)
{
	struct seen s = {0};
	struct stat st = {0};
	char dir[PATH_MAX], other[] = "/tmp/test-memory-reader.XXXXXX";
	memory_reader_maps(r, child, MAPS_ALL, see, &s);
	char *name = strrchr(s.path, '/') + 1;
	snprintf(dir, sizeof(dir), "%.*s", (int)(name - s.path), s.path);
	int own = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int second = mkdtemp(other) ? open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int same_name = openat(second, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	uint64_t before = memory_reader_opens(r);
	memory_reader_own_dir(r, own);
	int fd = memory_reader_open(r, child, &s.file);
	ok(fd >= 0 && !fstat(fd, &st) && st.st_ino == s.file.inode &&
		   memory_reader_opens(r) == before,
	   "a file in a directory of ours is opened without the worker");
	close(fd);
	memory_reader_own_dir(r, second);
	fd = memory_reader_open(r, child, &s.file);
	ok(fd >= 0 && !fstat(fd, &st) && st.st_ino == s.file.inode &&
		   memory_reader_opens(r) == before + 1,
	   "another file of its name in there is not taken for it");
	close(fd);
	memory_reader_own_dir(r, -1);
	close(same_name);
	unlinkat(second, name, 0);
	close(second);
	close(own);
	rmdir(other);
}

static void test_no_environment(struct memory_reader *r)
{
	char *const environment[] = {NULL};
	char value[32];
	int status, ends[2];
	if (pipe2(ends, O_CLOEXEC))
		abort();
	pid_t child = fork();
	if (!child) {
		execle("/bin/sleep", "sleep", "1000", NULL, environment);
		_exit(1);
	}
	close(ends[1]);
	is(read(ends[0], value, 1), 0, "a process without an environment");
	close(ends[0]);
	is(memory_reader_getenv(r, child, "NAME", value, sizeof(value)), -ENODATA,
	   "has no variable at all, which another one that lacks this one has");
	kill_child(child, SIGKILL);
	waitpid(child, &status, 0);
}

static void test_getenv(struct memory_reader *r)
{
	static char longer[] = "LONGER_NAME=1", empty[] = "NAME_EMPTY=", full[] = "NAME=a value";
	char *const environment[] = {longer, empty, full, NULL};
	char value[32] = "";
	int status, ends[2];
	if (pipe2(ends, O_CLOEXEC))
		abort();
	pid_t child = fork();
	if (!child) {
		execle("/bin/sleep", "sleep", "1000", NULL, environment);
		_exit(1);
	}
	close(ends[1]);
	/* Closed by the exec. */
	is(read(ends[0], value, 1), 0, "a process with an environment of its own");
	close(ends[0]);
	ok(memory_reader_getenv(r, child, "NAME", value, sizeof(value)) == 7 &&
		   !strcmp(value, "a value"),
	   "a variable is found by its whole name");
	ok(memory_reader_getenv(r, child, "NAME", value, 4) == 7 && !strcmp(value, "a v"),
	   "its value is cut where there is no room");
	is(memory_reader_getenv(r, child, "NAME_EMPTY", value, sizeof(value)), -ENOENT,
	   "one that is empty is as one that is not set");
	is(memory_reader_getenv(r, child, "NAM", value, sizeof(value)), -ENOENT,
	   "a part of a name is another");
	kill_child(child, SIGKILL);
	waitpid(child, &status, 0);
}

/* ---- what is read ahead ---- */

static volatile uint64_t word, other_word;

static uint64_t read_word(struct memory_reader *r, volatile uint64_t *at, uint64_t n)
{
	uint64_t got = 0;
	memory_reader_read(r, getpid(), "mem", (uintptr_t)at, &got, n);
	return got;
}

static void read_maps(struct memory_reader *r, pid_t pid)
{
	struct seen s = {0};
	memory_reader_maps(r, pid, MAPS_TRACED, see, &s);
}

static void expect_word(struct memory_reader *r, volatile uint64_t *at)
{
	memory_reader_expect(r, getpid(), "mem", (uintptr_t)at, sizeof(*at));
}

/* The worker may read it late, or we may be late to take it: whether one of many tries has what it
 * was before it changed. prepare: behind what is expected, before: before the word is read. */
static bool is_ahead(struct memory_reader *r, void (*prepare)(struct memory_reader *r),
		     void (*before)(struct memory_reader *r), uint64_t n)
{
	for (int i = 0; i < 300; i++) {
		word = 1;
		other_word = 5;
		expect_word(r, &other_word);
		expect_word(r, &word);
		if (prepare)
			prepare(r);
		read_maps(r, getpid());
		usleep(100);
		word = 2;
		if (before)
			before(r);
		uint64_t got = read_word(r, &word, n);
		read_word(r, &word, 1); /* nothing is left */
		if (got == 1)
			return true;
	}
	return false;
}

static void forget_by_others(struct memory_reader *r)
{
	for (uint64_t i = 0; i < 64; i++)
		memory_reader_expect(r, 1, "mem", i, 1);
}

static void read_maps_of_parent(struct memory_reader *r)
{
	read_maps(r, getppid());
}

static void read_maps_of_both(struct memory_reader *r)
{
	read_maps(r, getpid());
	read_maps(r, getpid());
}

static void wait_long(struct memory_reader *r)
{
	(void)r;
	usleep(4000);
}

static void read_other_range(struct memory_reader *r)
{
	read_word(r, &word, 4);
}

static void read_first(struct memory_reader *r)
{
	read_word(r, &other_word, sizeof(other_word));
}

static void test_ahead(struct memory_reader *r)
{
	ok(is_ahead(r, NULL, NULL, sizeof(word)), "what is expected is read with the mappings");
	ok(is_ahead(r, NULL, read_first, sizeof(word)), "as many ranges as are expected");
	ok(is_ahead(r, read_maps_of_parent, NULL, sizeof(word)), "with those of its process");
	ok(!is_ahead(r, read_maps_of_both, NULL, sizeof(word)), "with the next ones, not later");
	ok(!is_ahead(r, NULL, wait_long, sizeof(word)), "and is not kept for long,");
	ok(!is_ahead(r, NULL, read_other_range, sizeof(word)), "nor behind another read,");
	ok(!is_ahead(r, NULL, NULL, 4), "nor taken for another range");
	ok(!is_ahead(r, forget_by_others, NULL, sizeof(word)), "of many the oldest are forgotten");
	memory_reader_expect(NULL, getpid(), "mem", 0, 1);
	word = 3;
	is(read_word(NULL, &word, sizeof(word)), 3, "without a worker nothing is read ahead");
	pid_t gone = fork();
	if (!gone)
		_exit(0);
	memory_reader_expect_environ(r, gone);
	memory_reader_expect(r, gone, "mem", 0, 8);
	read_maps(r, gone); /* of a zombie: there are none, and nothing can be read */
	is(read_word(r, &word, sizeof(word)), 3, "errors of what is expected are its own");
	waitpid(gone, NULL, 0);
}

/* ---- workers that do not answer, nor end when they are killed ---- */

#define WORKERS 16 /* at most that have not ended */

static int find_worker(pid_t child, void *ctx)
{
	char name[32] = "";
	process_read_text(child, "comm", name, sizeof(name));
	if (!strcmp(name, "memory-reader\n"))
		*(pid_t *)ctx = child;
	return 0;
}

/* A process that stops each worker that it is given the pid of. As their tracer it would have to
 * wait for their ends before we can. */
static pid_t start_holder(int *ret_to, int *ret_from)
{
	int to[2], from[2];
	pid_t worker;
	if (pipe(to) || pipe(from))
		abort();
	pid_t pid = fork();
	if (!pid) {
		close(to[1]);
		while (read(to[0], &worker, sizeof(worker)) == sizeof(worker)) {
			int held = !ptrace(PTRACE_SEIZE, worker, NULL, NULL) &&
				   !ptrace(PTRACE_INTERRUPT, worker, NULL, NULL) &&
				   waitpid(worker, NULL, __WALL) == worker;
			if (write(from[1], &held, sizeof(held)) != sizeof(held))
				break;
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	*ret_to = to[1];
	*ret_from = from[0];
	return pid;
}

static ssize_t read_one(struct memory_reader *r, pid_t pid)
{
	char text[64];
	return memory_reader_read(r, pid, "comm", 0, text, sizeof(text));
}

static void test_given_up(void)
{
	struct memory_reader *r = memory_reader_new();
	pid_t asked[WORKERS], other = fork(), first;
	int to, from, held = 1, given_up = 0, answered = 0;
	for (int i = 0; other && i < WORKERS; i++)
		if (!(asked[i] = fork())) {
			pause();
			_exit(0);
		}
	if (!other) {
		pause();
		_exit(0);
	}
	pid_t holder = start_holder(&to, &from);
	for (int i = 0; i < WORKERS && held; i++) {
		pid_t worker = 0;
		answered += read_one(r, other) > 0;
		process_children(getpid(), 0, find_worker, &worker);
		if (!worker || write(to, &worker, sizeof(worker)) != sizeof(worker) ||
		    read(from, &held, sizeof(held)) != sizeof(held))
			abort();
		/* A zombie of before has its name, too. */
		given_up += read_one(r, asked[i]) == -ETIMEDOUT;
		if (!i)
			ok(read_one(r, asked[i]) == -ETIMEDOUT && read_one(r, other) > 0,
			   "a process whose read was given up is let alone for a while, and no "
			   "other");
	}
	ok(held && given_up == WORKERS && answered == WORKERS,
	   "a worker that does not answer is given up, and another one answers (%d, %d)", given_up,
	   answered);
	ok(memory_reader_given_up(r, &first) == WORKERS && first == asked[0],
	   "those that were given up are counted");
	is(read_one(r, other), -ETIMEDOUT, "there are not any number of those that do not end");
	kill_child(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	ssize_t got = -1;
	for (int i = 0; i < 300 && (got = read_one(r, other)) < 0; i++)
		usleep(10000);
	ok(got > 0, "once they have ended there are others");
	for (int i = 0; i < WORKERS; i++) {
		kill_child(asked[i], SIGKILL);
		waitpid(asked[i], NULL, 0);
	}
	kill_child(other, SIGKILL);
	waitpid(other, NULL, 0);
	close(to);
	close(from);
	memory_reader_free(r);
}

int main(void)
{
	struct memory_reader *r = memory_reader_new();
	pid_t child = start_child();
	if (!r || child < 0)
		return 1;
	test_maps(r, child);
	test_open(r, child);
	test_own_dir(r, child);
	test_getenv(r);
	test_no_environment(r);
	test_ahead(r);
	test_pages(r, child);
	test_given_up();
	memory_reader_free(r);
	return tap_done();
}
