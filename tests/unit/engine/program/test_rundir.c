/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory of a run: where it is made, whether others could replace it, and what its end
 * removes. */
#include "engine/program/rundir.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHER_UID 65533

static char base[] = "/tmp/ebt-rundir-XXXXXX";

/* A path below the base; valid until the fourth call behind it. */
static const char *below(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned at;
	char *path = paths[at++ % 4];
	snprintf(path, PATH_MAX, "%s/%s", base, name);
	return path;
}

static void put_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		abort();
	close(fd);
}

static bool is_there(int dir, const char *name)
{
	return !faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

static int opens(const char *path)
{
	int fd = rundir_open_base(path);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int opens_with(mode_t mode)
{
	if (chmod(base, mode))
		abort();
	return opens(base);
}

static void test_bases(void)
{
	const char *at[RUNDIR_BASES];
	if (mkdir(below("in"), 0700))
		abort();
	is(opens(below("none")), -ENOENT, "a base that is not there is none");
	is(opens_with(0700), 0, "a directory of ours below one that is sticky is a base");
	is(opens_with(0777), -EPERM, "one in which others may replace files is none");
	is(opens(below("in")), -EPERM, "nor one below it");
	is(opens_with(0770), -EPERM, "a group is others, too");
	is(opens_with(01777), 0, "but where each may remove its own files alone it is one");
	is(opens_with(0755), 0, "as where others may read");
	if (!geteuid()) {
		if (chown(base, OTHER_UID, OTHER_UID))
			abort();
		is(opens(base), -EPERM, "a directory of another user is none");
		is(opens(below("in")), -EPERM, "nor is ours below that");
		if (chown(base, 0, 0))
			abort();
	}
	rmdir(below("in"));
	unsetenv("XDG_RUNTIME_DIR");
	rundir_bases(at);
	ok(!at[0] && at[1] && at[2], "without XDG_RUNTIME_DIR there are two");
	setenv("XDG_RUNTIME_DIR", "run", 1);
	rundir_bases(at);
	ok(!at[0], "a relative name is none");
	setenv("XDG_RUNTIME_DIR", base, 1);
	rundir_bases(at);
	is_str(at[0] ? at[0] : "", base, "else it is the first");
}

static void test_made(void)
{
	struct rundir r, none;
	struct stat st;
	is(rundir_make(&r, 1, 1), 0, "a directory is made");
	size_t len = strlen(base);
	ok(!strncmp(r.path, base, len) &&
		   !strncmp(r.path + len, "/" RUNDIR_PREFIX, strlen("/" RUNDIR_PREFIX)),
	   "in the first base");
	ok(!stat(r.path, &st) && (st.st_mode & 07777) == 0700 && st.st_dev == r.dev &&
		   st.st_ino == r.ino,
	   "for us alone");
	int fd = open(r.path, O_RDONLY | O_CLOEXEC);
	ok(flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK, "it is locked");
	close(fd);
	is(rundir_make(&none, UINT64_MAX, UINT64_MAX), -ENOSPC, "no base has all space");
	ok(none.fd == -1 && none.base_fd == -1, "then there is none");
	put_file(r.fd, "1.events");
	put_file(r.fd, "2.events");
	is(rundir_remove(&r), 0, "it is removed");
	ok(stat(r.path, &st) < 0 && errno == ENOENT, "with its files");
	rundir_close(&r);
	is(rundir_remove(&r), 0, "once");
	is(rundir_make(&r, UINT64_MAX, 1), 0, "where no base has the space that is wanted");
	ok(!strncmp(r.path, base, len), "the first one has it that has the least");
	rundir_remove(&r);
	rundir_close(&r);
}

/* The name of a directory may be another's. */
static void test_replaced(void)
{
	struct rundir r;
	struct stat st;
	if (rundir_make(&r, 1, 1) || rename(r.path, below("moved")) || mkdir(r.path, 0700))
		abort();
	put_file(r.fd, "1.events");
	is(rundir_remove(&r), -ESTALE, "a directory with another name is not removed");
	ok(!stat(r.path, &st) && !is_there(r.fd, "1.events"),
	   "nor the one that has its name, but its files are");
	rmdir(r.path);
	if (symlink("moved", r.path))
		abort();
	is(rundir_remove(&r), -ESTALE, "a symbolic link is not followed");
	unlink(r.path);
	rmdir(below("moved"));
	rundir_close(&r);
}

static void test_traces(void)
{
	struct rundir r;
	if (rundir_make(&r, 1, 1))
		abort();
	put_file(r.fd, "0.ctf");
	put_file(r.fd, "0.state");
	put_file(r.fd, "7.state");
	put_file(r.fd, "0.other");
	mkdirat(r.fd, "7.ctf", 0700);
	rundir_remove_traces(r.fd);
	ok(!is_there(r.fd, "0.ctf") && !is_there(r.fd, "0.state") && !is_there(r.fd, "7.state"),
	   "the files of a recorder are removed");
	ok(is_there(r.fd, "0.other") && is_there(r.fd, "7.ctf"), "and no other ones");
	unlinkat(r.fd, "7.ctf", AT_REMOVEDIR);
	is(rundir_remove(&r), 0, "until the directory goes");
	rundir_close(&r);
}

int main(void)
{
	if (!mkdtemp(base))
		return 1;
	test_bases();
	test_made();
	test_replaced();
	test_traces();
	is(rmdir(base), 0, "nothing is left in the base");
	return tap_done();
}
