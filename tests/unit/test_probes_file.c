/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <sys/wait.h>

#include <ebtrace/probes.h>

#include "ringdump.h"
#include "tests/tap.h"

/* Runs ebt_start() in a process of its own under these settings; returns -errno as it does. */
static int start_with(const char *dir, const char *runtime_dir)
{
	int status;
	pid_t pid = fork();
	if (!pid) {
		if (dir)
			setenv("EBTRACE_DIR", dir, 1);
		else
			unsetenv("EBTRACE_DIR");
		if (runtime_dir)
			setenv("XDG_RUNTIME_DIR", runtime_dir, 1);
		execl("/proc/self/exe", "start-only", (char *)NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? -WEXITSTATUS(status) : -1;
}

static void test_directories(const char *dir)
{
	char link[256], runtime[256], private[300];
	snprintf(link, sizeof(link), "%s/link", dir);
	is(symlink("/tmp", link), 0, "a link to a directory is made");
	is(start_with(link, NULL), -ENOTDIR, "a directory behind a symbolic link is refused");
	is(start_with("/nowhere", NULL), -ENOENT, "a directory that is not there is an error");
	is(unlink(link), 0, "the link is removed");

	snprintf(runtime, sizeof(runtime), "%s/run", dir);
	snprintf(private, sizeof(private), "%s/ebtrace", runtime);
	is(mkdir(runtime, 0700), 0, "a runtime directory is made");
	is(start_with(NULL, runtime), 0, "the default is $XDG_RUNTIME_DIR/ebtrace");
	struct stat st;
	ok(!stat(private, &st) && (st.st_mode & 0777) == 0700, "made with mode 0700");
	is(rmdir(private), 0, "and empty again at the end");
	is(rmdir(runtime), 0, "the runtime directory is removed");
}

static void test_file(const char *dir)
{
	char stale[256], second[256];
	snprintf(stale, sizeof(stale), "%s/%d.events", dir, getpid());
	snprintf(second, sizeof(second), "%s/%d-2.events", dir, getpid());
	int fd = open(stale, O_WRONLY | O_CREAT, 0644);
	ok(fd >= 0 && write(fd, "old", 3) == 3 && !close(fd), "a stale file has our name");
	umask(0);
	is(ebt_start(), 0, "recording starts");
	is_str(ebt_ring_path(), stale, "under the name that the stale file had");
	struct stat st;
	ok(!stat(stale, &st) && (st.st_mode & 07777) == 0600 && st.st_size > 1000,
	   "in a new file of mode 0600");

	char lib[512];
	const char *out = getenv("O");
	snprintf(lib, sizeof(lib), "%s/libebtrace-probes.so", out ? out : "build");
	void *copy = dlopen(lib, RTLD_NOW | RTLD_LOCAL);
	if (ok(copy != NULL, "a second copy of the library is loaded")) {
		int (*start)(void) = (int (*)(void))dlsym(copy, "ebt_start");
		const char *(*path)(void) = (const char *(*)(void))dlsym(copy, "ebt_ring_path");
		is(start(), 0, "it starts too");
		is_str(path(), second, "under a name that is free");
		ok(!stat(stale, &st), "and leaves the first one's file alone");
		dlclose(copy);
		ok(stat(second, &st) < 0, "closing it removes its file");
	}
	is(unlink(stale), 0, "somebody replaces the file");
	fd = open(stale, O_WRONLY | O_CREAT, 0600);
	ok(fd >= 0 && !close(fd), "by one that is not ours");
	is(ebt_stop(), 0, "recording stops");
	is(unlink(stale), 0, "and the file that is not ours is still there");
}

static void test_full(void)
{
	static const char command[] =
		"mkdir -p $RINGDUMP_DIR/full && unshare -m sh -c '"
		"mount -t tmpfs -o size=1500k none $RINGDUMP_DIR/full && "
		"EBTRACE_DIR=$RINGDUMP_DIR/full RINGDUMP_FULL=1 exec /proc/'%d'/exe' full-disk";
	char text[512];
	if (geteuid()) {
		diag("no root: the full file system is not tried");
		return;
	}
	snprintf(text, sizeof(text), command, getpid());
	int status = system(text);
	is(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0,
	   "on a full file system the program lives, without a ring");
}

/* The parts that run as programs of their own. */
static int run_part(const char *name)
{
	int err = ebt_start();
	if (!strcmp(name, "start-only"))
		return -err;
	for (int i = 0; i < 100000; i++)
		ebt_begin(EBT_PHASE_minor);
	return 0;
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!strcmp(argv[0], "start-only") || getenv("RINGDUMP_FULL"))
		return run_part(getenv("RINGDUMP_FULL") ? "full" : argv[0]);
	dump_rerun(argv, (const char *[]){NULL});
	const char *dir = getenv("EBTRACE_DIR");
	test_directories(dir);
	test_file(dir);
	test_full();
	dump_clean();
	return tap_done();
}
