/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs in sandboxes. At its end the library makes no system call unless the program itself
 * requested the ring: a filter that kills would turn a good end into a bad one. Who removes the
 * file then is the next program of the user that records. And where no ring can be had, nothing is
 * said and the program goes on. RINGDUMP_STEP says which part of a program it is.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/landlock.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <ebtrace/probes.h>

#include "tests/tap.h"
#include "tests/unit/ringdump.h"
#include "tests/unit/seccomp.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* the sanitizers make calls of their own at exit */
#else
#define SANITIZED 0
#endif

/* What the kernel does when a tracer attaches to ring_request. */
static void ask(void)
{
	uint16_t one = 1;
	int fd = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
	if (pwrite(fd, &one, sizeof(one), (off_t)(uintptr_t)&ebt_gate.ring_request) != sizeof(one))
		_exit(97);
	close(fd);
}

static void probe(void)
{
	for (int i = 0; i < 1000; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
	}
}

/* Nothing but write and the end; at any other call the program is killed. */
static void enter_strict(void)
{
	static const int calls[] = {SYS_write, SYS_exit_group, -1};
	if (!seccomp_enter(calls, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS))
		_exit(96);
}

/* The calls that a start and the first probe of a thread make; see run_step(). */
static const int start_calls[] = {
#if defined(SYS_mkdir) /* newer processors have but the other half */
	SYS_mkdir,	SYS_readlink,  SYS_unlink,	   SYS_lstat,
#else
	SYS_mkdirat,	SYS_readlinkat,
#endif
	SYS_openat,	SYS_fstat,     SYS_newfstatat,	   SYS_getdents64, SYS_fchmod,
	SYS_flock,	SYS_ftruncate, SYS_fallocate,	   SYS_mmap,	   SYS_madvise,
	SYS_munmap,	SYS_renameat2, SYS_renameat,	   SYS_faccessat,  SYS_unlinkat,
	SYS_read,	SYS_pread64,   SYS_close,	   SYS_gettid,	   SYS_tgkill,
	SYS_membarrier, SYS_prlimit64, SYS_rt_sigprocmask, SYS_pwrite64,   -1};

static int enter_landlock(void)
{
	/* All rights that the first version knows, and none is given. */
	struct landlock_ruleset_attr attr = {.handled_access_fs = (1u << 13) - 1};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (fd < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, fd, 0))
		return -1;
	close(fd);
	return open("/etc/passwd", O_RDONLY) < 0 ? 1 : -1;
}

static void end_well(void)
{
	if (write(STDOUT_FILENO, "done\n", 5) != 5)
		_exit(95);
	if (SANITIZED)
		_exit(42);
	exit(42);
}

/* The programs. Each prints "done" and ends with 42, or tells by another status what went wrong. */
static void run_step(const char *step)
{
	if (!strcmp(step, "requested") || !strcmp(step, "crash")) {
		ask();
		probe();
		if (!ebt_ring_path())
			_exit(1);
		if (!strcmp(step, "crash"))
			raise(SIGKILL);
		enter_strict();
		probe();
	} else if (!strcmp(step, "preserved") || !strcmp(step, "stopped")) {
		if (ebt_start())
			_exit(2);
		probe();
		if (!strcmp(step, "stopped"))
			ebt_stop();
		enter_strict();
		probe();
	} else if (!strcmp(step, "silent")) {
		probe();
		enter_strict();
	} else if (!strcmp(step, "next")) {
		if (ebt_start())
			_exit(3);
		probe();
	} else if (!strcmp(step, "landlock") || !strcmp(step, "chroot")) {
		ask();
		if (*step == 'l' ? enter_landlock() < 0
				 : chroot(getenv("EBTRACE_DIR")) || chdir("/"))
			_exit(4);
		unsetenv("EBTRACE_DIR");
		probe();
		if (!ebt_start() && *step == 'c')
			_exit(5);
	} else { /* one call fails with an error: "CALL ERROR" */
		int calls[] = {atoi(step), -1};
		ask();
		if (!seccomp_enter(calls, SECCOMP_RET_ERRNO | (unsigned)atoi(strchr(step, ' ')),
				   SECCOMP_RET_ALLOW))
			_exit(6);
		probe();
		ebt_start();
		probe();
		ebt_stop();
	}
	end_well();
}

static int output;

static pid_t spawn(const char *step, const char *preserve)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	setenv("RINGDUMP_STEP", step, 1);
	if (preserve)
		setenv("EBTRACE_PRESERVE", preserve, 1);
	execl("/proc/self/exe", "sandbox", (char *)NULL);
	_exit(127);
}

/* True if it ended as it does without us; says nothing else than it does. */
static int ended_well(pid_t pid, const char *step)
{
	int status = -1;
	if (waitpid(pid, &status, 0) != pid || status != 42 << 8) {
		diag("'%s' ended with status 0x%x", step, (unsigned)status);
		return 0;
	}
	return 1;
}

static int runs_well(const char *step, const char *preserve)
{
	return ended_well(spawn(step, preserve), step);
}

static int files(void)
{
	int n = 0;
	DIR *dir = opendir(getenv("EBTRACE_DIR"));
	for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
		n += strstr(e->d_name, ".events") != NULL;
	if (dir)
		closedir(dir);
	return n;
}

static void test_ends(void)
{
	is(files(), 0, "at first there is no file");
	ok(runs_well("silent", NULL),
	   "a program that never records ends well under a filter that kills");
	ok(runs_well("stopped", NULL), "so does one that stopped recording before it");
	is(files(), 0, "and neither leaves a file");
	ok(runs_well("requested", NULL), "a program whose ring a tracer requested ends well too");
	is(files(), 1, "its file is left to others");
	ok(runs_well("next", NULL), "the next program of the user that records");
	is(files(), 0, "removes it, and its own");
	ok(runs_well("preserved", "1"), "one with EBTRACE_PRESERVE ends well");
	ok(runs_well("next", NULL) && files() == 1, "and its file is not removed");
}

static void test_sweep(void)
{
	int status = -1, had = files();
	pid_t pid = spawn("crash", NULL);
	ok(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status),
	   "a program that records is killed");
	ok(runs_well("next", NULL) && files() == had + 1, "and its file stays, to be looked at");
	is(ebt_start(), 0, "we record");
	ok(runs_well("next", NULL) && !access(ebt_ring_path(), F_OK), "a file in use stays");

	ok(runs_well("requested", NULL), "somebody leaves a file");
	is(files(), had + 3, "beside the others");
	is(chmod(getenv("EBTRACE_DIR"), 0755), 0, "in a directory that others may enter");
	ok(runs_well("next", NULL) && files() == had + 3, "it stays");
	is(chmod(getenv("EBTRACE_DIR"), 0700), 0, "in our own");
	ok(runs_well("next", NULL) && files() == had + 2, "it goes");
	is(ebt_stop(), 0, "we stop");
}

static void test_refused(void)
{
	static const int errors[] = {EPERM, ENOSYS};
	int bad = 0, n = 0;
	for (const int *call = start_calls; *call >= 0; call++) {
		pid_t pid[2];
		char step[2][32];
		for (int i = 0; i < 2; i++) {
			snprintf(step[i], sizeof(step[i]), "%d %d", *call, errors[i]);
			pid[i] = spawn(step[i], NULL);
		}
		for (int i = 0; i < 2; i++, n++)
			bad += !ended_well(pid[i], step[i]);
	}
	is(bad, 0, "whatever call of a start a filter refuses, the program does what it does");
	ok(runs_well("landlock", NULL), "a program under Landlock goes on without a ring");
	if (!geteuid())
		ok(runs_well("chroot", NULL), "and so does one in an empty root");
}

/* All that the programs wrote is their "done". */
static int said_nothing_else(void)
{
	char text[4096] = "";
	lseek(output, 0, SEEK_SET);
	ssize_t n = read(output, text, sizeof(text) - 1);
	for (ssize_t i = 0; i + 5 <= n; i += 5)
		if (memcmp(text + i, "done\n", 5))
			return 0;
	return n > 0 && n % 5 == 0;
}

int main(int argc, char **argv)
{
	(void)argc;
	dump_rerun(argv, (const char *[]){"EBTRACE_LOG_WSIZE=10", "EBTRACE_MAX_DOMAINS=4", NULL});
	if (getenv("RINGDUMP_STEP"))
		run_step(getenv("RINGDUMP_STEP"));
	char path[300];
	snprintf(path, sizeof(path), "%s/output", getenv("EBTRACE_DIR"));
	output = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (!SANITIZED) {
		test_ends();
		test_sweep();
	}
	test_refused();
	ok(said_nothing_else(), "and none of them says a word");
	dump_clean();
	tap_keeps(1);
	return tap_done();
}
