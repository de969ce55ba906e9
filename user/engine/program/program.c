/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/program/program.h"

#include <ebtrace/ring.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ending.h"
#include "engine/program/leftover.h"
#include "engine/program/recording.h"
#include "engine/signals.h"
#include "proc/process.h"
#include "session/languages.h"

/* Memory that our forked child may touch between two reads of its size. */
#define FORK_RSS_SLACK_BYTES (4u << 20)

/* Between two reads of a program that has not called exec yet. */
#define LOOK_MS 20

/* The least time between two sweeps, and its ratio to the time of one. */
#define SWEEP_NS   1000000000ull
#define SWEEP_REST 100

static const char *env_value(const char *name)
{
	const char *v = getenv(name);
	return v && *v ? v : NULL;
}

/*
 * Chooses the directory of its rings: the user's, else one of ours if they are to be on. 0, -ENOSPC
 * without space, or -errno.
 */
static int choose_dir(struct program *t)
{
	struct recording_room room;
	const char *user = NULL;
	const struct language *l;
	for (unsigned at = 0; !user && (l = languages_next_ring(&at));)
		user = env_value(l->ring->dir);
	if (user && snprintf(t->dir, sizeof(t->dir), "%s", user) >= (int)sizeof(t->dir))
		return -ENAMETOOLONG;
	if (!t->record)
		return 0;
	recording_room(&room);
	if (user) {
		int fd = open(user, O_PATH | O_DIRECTORY | O_CLOEXEC);
		bool full = fd >= 0 && rundir_room(fd) < room.least_bytes;
		if (fd >= 0)
			close(fd);
		return full ? -ENOSPC : 0;
	}
	int err = rundir_make(&t->own, room.want_bytes, room.least_bytes);
	if (!err)
		memcpy(t->dir, t->own.path, sizeof(t->dir));
	return err;
}

/* 0, or -errno: the program must not be started. */
static int prepare_rings(struct program *t, bool must)
{
	struct recording_room room;
	int err = choose_dir(t);
	if (!err || err == -ENAMETOOLONG)
		return err;
	recording_room(&room);
	t->record = false;
	messages_at(
		t->messages, LOG_NORMAL,
		"no directory for rings with %llu MB of space (%s); %sEBTRACE_DIR names another "
		"one",
		(unsigned long long)(room.least_bytes >> 20), strerror(-err),
		must ? "" : "the program runs without; ");
	return must ? err : 0;
}

static void extend_environment(const struct program *t)
{
	const struct language *l;
	for (unsigned at = 0; (l = languages_next_ring(&at));) {
		const struct language_ring *r = l->ring;
		setenv(r->start, "1", 0);
		/* An empty one is replaced: a runtime might use the root directory. */
		setenv(r->dir, t->dir, !env_value(r->dir));
		setenv(r->preserve, "1", 0);
	}
}

/* A standard error that is closed is a descriptor that exec() closes (cmd/main.c). */
static void redirect_stdout(void)
{
	bool is_closed = fcntl(STDERR_FILENO, F_GETFD) & FD_CLOEXEC;
	dup3(STDERR_FILENO, STDOUT_FILENO, is_closed ? O_CLOEXEC : 0);
}

/* What it prints would be in the midst of a screen, and it would read the keys of it. */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		if (isatty(fd))
			dup2(null, fd);
}

static void run_child(const struct program *t, char **argv, int go, int failed)
{
	setpriority(PRIO_PROCESS, 0, t->nice);
	struct rlimit files;
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = t->open_files;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	signals_inherit();
	if (*t->dir)
		setenv(EBT_RING_RUN, recording_run(), 1);
	if (t->record)
		extend_environment(t);
	if (t->extend)
		t->extend(t->extend_ctx);
	if (t->stdout_is_stderr)
		redirect_stdout();
	if (t->no_terminal)
		leave_terminal();
	char byte;
	if (read(go, &byte, 1) != 1)
		_exit(127); /* the tracer gave up */
	if (t->traced)
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execvp(argv[0], argv);
	int err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int program_prepare(struct program *t, const struct messages *messages, bool record, bool must)
{
	*t = (struct program){.messages = messages,
			      .pid = -1,
			      .pidfd = -1,
			      .go_fd = -1,
			      .failed_fd = -1,
			      .own = {.fd = -1, .base_fd = -1},
			      .record = record};
	const struct language *l;
	for (unsigned at = 0; (l = languages_next_ring(&at));)
		t->keep_files |= env_value(l->ring->preserve) != NULL;
	recording_run(); /* the same on both sides of the fork */
	return prepare_rings(t, must);
}

int program_spawn(struct program *t, char **argv, const struct program_options *o)
{
	int err = 0;
	t->nice = o->nice;
	t->open_files = o->open_files;
	t->stdout_is_stderr = o->stdout_is_stderr;
	t->no_terminal = o->no_terminal;
	t->traced = o->stop;
	t->extend = o->extend;
	t->extend_ctx = o->ctx;
	int go[2] = {-1, -1}, failed[2] = {-1, -1};
	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		err = -errno;
		goto err_close;
	}
	t->pid = fork();
	if (t->pid < 0) {
		err = -errno;
		goto err_close;
	}
	if (!t->pid) {
		close(go[1]); /* so that the tracer's death ends the wait */
		run_child(t, argv, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	t->go_fd = go[1];
	t->failed_fd = failed[0];
	t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	return t->pidfd < 0 ? -errno : 0;
err_close:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (failed[i] >= 0)
			close(failed[i]);
	}
	return err;
}

/* True when it is stopped behind exec(), or has ended. A signal may stop it before that. */
static bool has_stopped(struct program *t, int options)
{
	while (waitpid(t->pid, &t->status, options) == t->pid) {
		if (!WIFSTOPPED(t->status) || WSTOPSIG(t->status) == SIGTRAP)
			return true;
		ptrace(PTRACE_CONT, t->pid, NULL, (void *)(long)WSTOPSIG(t->status));
	}
	return false;
}

/* 0: it has called exec, failed to, or ended; -ECANCELED: the user asks to end, and it has been
 * killed. */
static int wait_for_exec(struct program *t)
{
	struct pollfd failed = {.fd = t->failed_fd, .events = POLLIN};
	uint64_t asked_ns = 0;
	bool stopped = false;
	while (!stopped && poll(&failed, 1, LOOK_MS) <= 0) {
		if (ending_overdue(&asked_ns)) {
			kill(t->pid, SIGKILL);
			return -ECANCELED;
		}
		stopped = t->traced && has_stopped(t, WNOHANG);
	}
	if (t->traced && !stopped)
		has_stopped(t, 0);
	if (t->traced && !WIFSTOPPED(t->status)) {
		t->traced = false;
		t->reaped = true;
	}
	return 0;
}

int program_go(struct program *t)
{
	struct usage copy;
	if (!usage_read(t->pid, &copy))
		t->fork_rss_bytes = copy.peak_rss_bytes;
	ssize_t n = write(t->go_fd, "", 1);
	close(t->go_fd);
	t->go_fd = -1;
	if (n != 1)
		return -errno;
	int err = wait_for_exec(t), failed = 0;
	if (err)
		return err;
	do {
		n = read(t->failed_fd, &failed, sizeof(failed));
	} while (n < 0 && errno == EINTR);
	return n == sizeof(failed) ? -failed : 0;
}

void program_release(struct program *t)
{
	if (t->traced)
		ptrace(PTRACE_DETACH, t->pid, NULL, NULL);
	t->traced = false;
}

/*
 * The kernel's sums for a child that was waited for include its own children, so its own usage is
 * read before. Only its peak of memory is not available otherwise. While its probes are made it is
 * held by ptrace, and its stops are reported whatever is asked for. waitid() waits for a lock that
 * each fork of the machine takes, and this is asked all the time.
 */
bool program_ended(struct program *t)
{
	siginfo_t si = {0};
	struct rusage ru;
	if (t->reaped || (t->pidfd >= 0 && !process_pidfd_has_ended(t->pidfd)) ||
	    waitid(P_PID, (id_t)t->pid, &si, WEXITED | WNOHANG | WNOWAIT) || si.si_pid != t->pid ||
	    si.si_code == CLD_TRAPPED || si.si_code == CLD_STOPPED)
		return t->reaped;
	t->has_usage = !usage_read(t->pid, &t->usage);
	process_read_text(t->pid, "comm", t->comm, sizeof(t->comm));
	t->comm[strcspn(t->comm, "\n")] = 0;
	if (wait4(t->pid, &t->status, WNOHANG, &ru) == t->pid) {
		t->reaped = true;
		t->usage.peak_rss_bytes = (uint64_t)ru.ru_maxrss * 1024;
	}
	return t->reaped;
}

void program_usage(const struct program *t, struct session *s)
{
	struct process *p = processes_announced(&s->processes, t->process);
	if (!t->reaped || !t->has_usage || !p)
		return;
	p->usage.known = true;
	p->usage.user_ns = t->usage.user_ns;
	p->usage.system_ns = t->usage.system_ns;
	/* A peak near that of our copy before exec() is not the program's. */
	if (t->usage.peak_rss_bytes > t->fork_rss_bytes + FORK_RSS_SLACK_BYTES)
		process_set_peak_rss(p, t->usage.peak_rss_bytes);
}

void program_sweep(struct program *t, struct memory_reader *memory)
{
	uint64_t begin_ns = now_ns();
	if (t->own.fd < 0 || t->keep_files || begin_ns < t->sweep_ns)
		return;
	struct leftover l = {.memory = memory};
	int fd = fcntl(t->own.fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0 && leftover_add(&l, fd, t->dir) >= 0 && l.file_count)
		leftover_judge(&l);
	for (unsigned i = 0; i < l.file_count; i++)
		leftover_remove(&l, &l.files[i]);
	leftover_done(&l);
	uint64_t end_ns = now_ns();
	t->sweep_ns = end_ns + SWEEP_NS + SWEEP_REST * (end_ns - begin_ns);
}

int program_exit_status(const struct program *t)
{
	if (WIFSIGNALED(t->status))
		return 128 + WTERMSIG(t->status);
	return WEXITSTATUS(t->status);
}

void program_done(struct program *t)
{
	if (t->go_fd >= 0) {
		close(t->go_fd); /* the child ends by itself */
		waitpid(t->pid, &t->status, 0);
	}
	if (t->failed_fd >= 0)
		close(t->failed_fd);
	if (t->pidfd >= 0)
		close(t->pidfd);
	if (t->own.fd >= 0 && !t->keep_files) {
		int err = rundir_remove(&t->own);
		if (err)
			messages_at(t->messages, LOG_NORMAL, "cannot remove '%s': %s", t->dir,
				    strerror(-err));
	} else if (t->own.fd >= 0) {
		messages_at(t->messages, LOG_NORMAL, "ring files kept in '%s'", t->dir);
	}
	rundir_close(&t->own);
}
