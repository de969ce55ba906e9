// SPDX-License-Identifier: BSD-2-Clause
/* Rings of processes that ended before a scan: only those that carry the mark of the probe library
 * are removed. */
#include <ebtrace/ring.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/live/ring_dirs.h"
#include "proc/memory_reader.h"
#include "tests/tap.h"

static char base[] = "/tmp/ebtrace-test.XXXXXX";
static char ring[256];

/* A program that keeps its ring in the library's own directory, and has ended. Returns its pid. */
static pid_t run(void)
{
	const char *o = getenv("O");
	char path[256];
	snprintf(path, sizeof(path), "%s/tests/prog/minigc", o ? o : "build");
	unsetenv("EBTRACE_DIR");
	unsetenv("OCAML_RUNTIME_EVENTS_DIR");
	setenv("XDG_RUNTIME_DIR", base, 1);
	setenv("EBTRACE_START", "1", 1);
	setenv("EBTRACE_PRESERVE", "1", 1);
	setenv("EBTRACE_LOG_WSIZE", "9", 1);
	setenv("EBTRACE_MAX_DOMAINS", "2", 1);
	pid_t pid = fork();
	if (!pid) {
		execl(path, path, "-q", "-n", "10", "-c", "/dev/null", NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	snprintf(ring, sizeof(ring), "%s/ebtrace/%d.events", base, pid);
	return pid;
}

/* Sets the mark in the file, as the library does at the end of a ring that a tracer asked for. */
static bool mark(void)
{
	const uint64_t magic = EBT_RING_EXT_MAGIC;
	struct stat st;
	int fd = open(ring, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return false;
	size_t bytes = (size_t)st.st_size;
	char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	struct ebt_ring_ext *ext =
		map == MAP_FAILED ? NULL : memmem(map, bytes, &magic, sizeof(magic));
	if (ext)
		ext->left_over = 1;
	return ext && !munmap(map, bytes);
}

static bool exists(const char *path)
{
	struct stat st;
	return !lstat(path, &st);
}

static unsigned left;
static void note_left(void *ctx, pid_t pid, int fd, const char *name)
{
	char expected[40];
	snprintf(expected, sizeof(expected), "%d.events", pid);
	left += ctx == &left && !strcmp(name, expected) && !close(fd);
}

/* A directory is open as long as a ring in it is read. */
static void test_holds(void)
{
	struct ring_dirs dirs = {0};
	struct ring_dir *one = ring_dirs_hold_path(&dirs, base);
	struct ring_dir *again = ring_dirs_hold_path(&dirs, base);
	int fd = ring_dirs_fd(one);
	ok(one && one == again && fd >= 0, "a directory that is held twice is opened once");
	ring_dirs_put(&dirs, again);
	ok(fcntl(fd, F_GETFD) >= 0, "it stays open until the last hold");
	ring_dirs_put(&dirs, one);
	ok(fcntl(fd, F_GETFD) < 0, "then it is closed");
	one = ring_dirs_hold_path(&dirs, base);
	ok(one && fcntl(ring_dirs_fd(one), F_GETFD) >= 0, "and may be opened again");
	ok(!ring_dirs_hold_path(&dirs, "/nowhere") && ring_dirs_fd(NULL) < 0,
	   "one that is not there is not");
	ring_dirs_put(&dirs, NULL);
	fd = ring_dirs_fd(one);
	ring_dirs_done(&dirs);
	ok(fcntl(fd, F_GETFD) < 0, "at the end all are closed");
}

/* A process with this directory for its rings in its environment. */
static pid_t start(const char *value)
{
	char name[64], *environment[] = {name, NULL};
	int end[2];
	snprintf(name, sizeof(name), "OCAML_RUNTIME_EVENTS_DIR=%s", value);
	if (pipe2(end, O_CLOEXEC))
		abort();
	pid_t pid = fork();
	if (!pid) {
		execle("/bin/sleep", "sleep", "600", NULL, environment);
		_exit(127);
	}
	close(end[1]);
	while (read(end[0], name, 1) > 0) /* until it has called exec */
		;
	close(end[0]);
	return pid;
}

/* Whether a ring of a process that only root may read was requested, as another user sees it. */
static int requested_unread(pid_t pid)
{
	const struct ring_dirs dirs = {0};
	int status;
	pid_t child = fork();
	if (!child) {
		if (!geteuid() &&
		    (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
			_exit(2);
		struct memory_reader *memory = memory_reader_new();
		_exit(ring_dirs_requested(&dirs, NULL, memory, pid, "/a/1.events", "/b"));
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A ring is there because of us, unless its process has chosen another directory. */
static void test_requested(void)
{
	struct ring_dirs dirs = {0};
	struct memory_reader *memory = memory_reader_new();
	pid_t pid = start("/a");
	ok(ring_dirs_requested(&dirs, NULL, memory, pid, "/a/1.events", "/a"),
	   "a ring in the directory that we have set was requested");
	ok(!ring_dirs_requested(&dirs, NULL, memory, pid, "/a/1.events", "/b"),
	   "one in a directory that the process has set was not");
	ok(ring_dirs_requested(&dirs, NULL, memory, pid, "/c/1.events", "/b"), "one elsewhere was");
	ring_dirs_own(&dirs, base);
	struct ring_dir *own = ring_dirs_hold_path(&dirs, base);
	ok(own && ring_dirs_requested(&dirs, own, memory, pid, "/a/1.events", "/b"),
	   "so was each in a directory of our own");
	ring_dirs_put(&dirs, own);
	ring_dirs_done(&dirs);
	is(requested_unread(geteuid() ? 1 : pid), 0,
	   "where the environment cannot be read, it is not known, and was not");
	memory_reader_free(memory);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	struct ring_dirs dirs = {0};
	char moved[300];
	if (!mkdtemp(base))
		return 1;
	test_holds();
	test_requested();
	pid_t pid = run();
	ok(exists(ring), "a process has ended, and its ring is there");
	ring_dirs_remove_left(&dirs, pid, note_left, &left);
	ok(exists(ring), "a ring that its process has kept is not removed");
	ok(mark(), "it is left to the tracer");
	ring_dirs_remove_left(&dirs, pid + 1, note_left, &left);
	ok(exists(ring), "another process's end does not remove it");
	snprintf(moved, sizeof(moved), "%s.moved", ring);
	ok(!rename(ring, moved) && !symlink(moved, ring), "a link has its name");
	ring_dirs_remove_left(&dirs, pid, note_left, &left);
	ok(exists(ring) && exists(moved), "neither the link nor the file behind it is removed");
	ok(!rename(moved, ring), "it has its name again");
	ring_dirs_remove_left(&dirs, pid, note_left, &left);
	ok(!exists(ring), "its own does");
	is(left, 1, "which the caller gets before that, and no other");
	ring_dirs_done(&dirs);
	snprintf(moved, sizeof(moved), "%s/ebtrace", base);
	rmdir(moved);
	rmdir(base);
	return tap_done();
}
