/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are looked into by their paths: only regular ones, and only the one that is meant. */
#include "base/regular.h"
#include "runtime/inspect.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/ebt-inspect-XXXXXX";

/* What opening says; the descriptor is closed. */
static int open_status(const char *path, ino_t inode, int flags)
{
	int fd = regular_open(path, inode, flags);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void test_regular(const char *program, ino_t inode)
{
	is(open_status(program, 0, 0), 0, "a regular file is opened");
	is(open_status(program, inode, 0), 0, "also if it must be this one");
	is(open_status(program, inode + 1, 0), -ESTALE, "another one is not");
	mkfifo("fifo", 0600);
	is(open_status("fifo", 0, 0), -EINVAL, "nor a FIFO");
	is(open_status("/dev/null", 0, 0), -EINVAL, "nor a device");
	is(open_status("link", 0, O_NOFOLLOW), -ELOOP, "nor a link, if it is not to be followed");
	is(open_status("link", inode, 0), 0, "if it is, what it leads to is");
	is(open_status("nothing", 0, 0), -ENOENT, "what is not there is not");
}

static void test_program(const char *program)
{
	struct inspect *in = inspect_new();
	setenv("PATH", "/nowhere::/tmp", 1);
	is((int)inspect_program(in, "nothing"), EBT_RELEASE_AUTO, "a program that is not there");
	is(inspect_files(in), 0, "is not looked into");
	inspect_program(in, "plain");
	is(inspect_files(in), 0, "nor one that cannot be executed");
	inspect_program(in, "link");
	is(inspect_files(in), 1, "one that the search path leads to is");
	inspect_program(in, program);
	is(inspect_files(in), 1, "and is known by its path, too");
	inspect_free(in);
}

/* A file that changes is another one: more than are remembered, and then the oldest is not. */
static void test_many(const char *program)
{
	struct inspect *in = inspect_new();
	struct inspect_budget budget;
	struct runtime_file found;
	struct stat st;
	int fd = open(program, O_RDONLY), own = open("many", O_RDWR | O_CREAT | O_EXCL, 0600);
	inspect_budget_init(&budget);
	uint64_t bytes = budget.bytes;
	ok(!inspect_file(in, fd, &budget, &found) && !fstat(own, &st), "a program is looked into");
	ok(budget.bytes < bytes && budget.files, "which uses bytes of the budget");
	unsigned n = 0, err = 0;
	for (; n < 16383; n++) {
		inspect_budget_init(&budget);
		err += ftruncate(own, n + 1) || inspect_file(in, own, &budget, &found);
	}
	is(err, 0, "so are thousands of other files");
	is(inspect_peek(in, fd, &found), 0, "the program is remembered");
	err = ftruncate(own, n + 1) || inspect_file(in, own, &budget, &found);
	ok(!err && inspect_peek(in, fd, &found) == -ENOENT, "up to a number of files");
	is(inspect_files(in), 16385, "all of which are counted");
	is(inspect_has_probes(in, st.st_dev, st.st_ino, true), 0, "the newest are remembered");
	ok(!ftruncate(own, 1) && inspect_peek(in, own, &found) == -ENOENT,
	   "a file that has changed is not");
	ok(!inspect_file(in, fd, &budget, &found) && inspect_peek(in, fd, &found) == 0,
	   "what was forgotten is looked into again");
	inspect_free(in);
	close(fd);
	close(own);
	unlink("many");
}

int main(void)
{
	char program[512], here[256];
	struct stat st;
	const char *o = getenv("O");
	if (!getcwd(here, sizeof(here)) || !mkdtemp(dir))
		return skip_all("needs a temporary directory");
	if (o && *o == '/')
		*here = 0;
	snprintf(program, sizeof(program), "%s/%s/tests/prog/minigc", here, o ? o : "build");
	ok(!stat(program, &st), "there is a program");
	if (chdir(dir) || symlink(program, "link") || close(creat("plain", 0600)))
		return 1;
	test_regular(program, st.st_ino);
	test_program(program);
	test_many(program);
	unlink("fifo");
	unlink("link");
	unlink("plain");
	rmdir(dir);
	return tap_done();
}
