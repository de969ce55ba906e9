/* SPDX-License-Identifier: BSD-2-Clause */
/* How many files and directories `list --prune` looks at, and that it says when there are more. */
#include "engine/program/leftover.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/dev/shm/ebt-leftover-XXXXXX";

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Files that are named like rings of processes from, ..., to - 1. */
static bool make_files(unsigned from, unsigned to)
{
	char path[64];
	bool good = true;
	for (unsigned n = from; n < to && good; n++) {
		snprintf(path, sizeof(path), "%s/%u.events", dir, n);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		good = fd >= 0 && !close(fd);
	}
	return good;
}

static void check_files(unsigned want, bool cut, const char *name)
{
	struct leftover l = {0};
	is(leftover_add(&l, open_dir(dir), dir), 0, "a directory is added");
	ok(l.file_count == want && l.cut == cut, "%s", name);
	leftover_done(&l);
}

static void test_files(void)
{
	if (!make_files(1, LEFTOVER_FILES_MAX + 1)) {
		ok(true, "files # SKIP %s", strerror(errno));
		return;
	}
	check_files(LEFTOVER_FILES_MAX, false, "with as many files as are looked at");
	make_files(LEFTOVER_FILES_MAX + 1, LEFTOVER_FILES_MAX + 2);
	check_files(LEFTOVER_FILES_MAX, true, "one more is not, which is said");
}

static void test_dirs(void)
{
	struct rlimit limit;
	char path[64];
	struct leftover l = {0};
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < LEFTOVER_DIRS_MAX + 64) {
		ok(true, "directories # SKIP too few descriptors");
		return;
	}
	int last = 0;
	for (int n = 0; n < LEFTOVER_DIRS_MAX && last == n; n++) {
		snprintf(path, sizeof(path), "%s/d%d", dir, n);
		last = mkdir(path, 0700) ? -errno : leftover_add(&l, open_dir(path), path) + 1;
		last = last == n + 1 ? last : -1;
	}
	ok(last == LEFTOVER_DIRS_MAX && !l.cut, "so many directories are looked at");
	is(leftover_add(&l, open_dir(path), path), -EEXIST, "each of them once");
	snprintf(path, sizeof(path), "%s/more", dir);
	ok(!mkdir(path, 0700) && leftover_add(&l, open_dir(path), path) == -E2BIG && l.cut,
	   "one more is not, which is said, too");
	leftover_done(&l);
}

int main(void)
{
	if (!mkdtemp(dir))
		return skip_all("needs /dev/shm");
	test_files();
	test_dirs();
	char cmd[64];
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd) ? 1 : tap_done();
}
