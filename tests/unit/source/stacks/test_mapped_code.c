/* SPDX-License-Identifier: BSD-2-Clause */
/* Mappings of code that a child made and has no more. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/stacks/mapped_code.h"
#include "tests/tap.h"

#define GENERATIONS 5
#define STRANGERS   5000 /* mappings of another process: more than are kept */

static long page;
static pid_t *last; /* of the children's children; shared */
static char *at;    /* addresses that are free in the child, too */
static char first[] = "/tmp/ebtrace-mapped-XXXXXX", second[] = "/tmp/ebtrace-mapped-XXXXXX";

static int make_file(char *path)
{
	int fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, 4 * page))
		exit(1);
	return fd;
}

/* Maps a page of a file, and unmaps it. */
static void map_once(int fd, int pages, int protection)
{
	char *to = at + pages * page;
	if (mmap(to, (size_t)page, protection, MAP_PRIVATE | MAP_FIXED, fd, page) != to)
		_exit(1);
	munmap(to, (size_t)page);
}

/* On another CPU, if there is one. */
static void move(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_CONF), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A child has a child, and that one, each on another CPU; the last one maps. */
static void run_children(int generations, int a)
{
	if (!generations) {
		map_once(a, 5, PROT_READ | PROT_EXEC);
		_exit(0);
	}
	pid_t pid = fork();
	if (!pid) {
		move(generations - 1);
		run_children(generations - 1, a);
		_exit(0);
	}
	*last = generations == 1 ? pid : *last;
	waitpid(pid, NULL, 0);
}

static void run_child(int go, int a, int b)
{
	char byte;
	if (read(go, &byte, 1) != 1)
		_exit(1);
	run_children(GENERATIONS, a);
	map_once(a, 0, PROT_READ | PROT_EXEC);
	map_once(a, 1, PROT_READ | PROT_EXEC);
	map_once(b, 1, PROT_READ | PROT_EXEC);
	map_once(a, 2, PROT_READ | PROT_EXEC);
	map_once(a, 2, PROT_READ | PROT_EXEC);
	map_once(a, 3, PROT_READ);
	_exit(0);
}

static bool finds(const struct mapped_code *m, pid_t pid, int pages, struct maps_entry *ret)
{
	return mapped_code_find(m, pid, (uint64_t)(uintptr_t)at + (uint64_t)(pages * page) + 8,
				ret);
}

int main(void)
{
	struct mapped_code *m;
	struct maps_entry e;
	struct stat st;
	int go[2], status = -1;
	page = sysconf(_SC_PAGESIZE);
	at = mmap(NULL, (size_t)(8 * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int a = make_file(first), b = make_file(second);
	last = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || last == MAP_FAILED || fstat(a, &st) || pipe(go))
		return 1;
	pid_t pid = fork();
	if (!pid)
		run_child(go[0], a, b);
	int err = mapped_code_new(pid, &m);
	is(write(go[1], "x", 1), 1, "a child runs");
	waitpid(pid, &status, 0);
	for (int i = 0; !err && i < STRANGERS; i++) {
		map_once(b, 0, PROT_READ | PROT_EXEC);
		if (i % 100 == 0)
			mapped_code_read(m);
	}
	unlink(first);
	unlink(second);
	if (err == -EPERM || err == -EACCES) {
		is(err, err, "without permission nothing is recorded");
		return tap_done();
	}
	is(err, 0, "its mappings are recorded");
	is(status, 0, "it has ended");
	is(mapped_code_read(m), 6, "they are read");
	ok(finds(m, pid, 0, &e), "where it had code, that is found");
	ok(e.inode == st.st_ino && e.offset == (uint64_t)page && !strcmp(e.path, first),
	   "with its file and offset");
	ok(!finds(m, pid, 1, &e), "where two files were, neither is");
	ok(finds(m, pid, 2, &e), "the same file twice is one");
	ok(!finds(m, pid, 3, &e), "what was not executable is not");
	ok(!finds(m, pid, 4, &e), "nor is what was never mapped");
	ok(*last > 1 && finds(m, *last, 5, &e), "that of a child's child, on any CPU, is");
	ok(!finds(m, getpid(), 0, &e), "another process's are not, however many it has");
	mapped_code_free(m);
	mapped_code_free(NULL);
	tap_keeps(4);
	tap_keeps_mapped(1);
	return tap_done();
}
