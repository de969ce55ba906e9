/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ending.h"

/* Two signals of one sender are one within this time. */
#define REPEAT_NS 1000000000u

static const int for_program_only[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};
#define FOR_PROGRAM_ONLY (sizeof(for_program_only) / sizeof(*for_program_only))

static bool is_ignored(int signo)
{
	struct sigaction now;
	return !sigaction(signo, NULL, &now) && now.sa_handler == SIG_IGN;
}

/* Before the first signals_catch(), which changes both. */
static struct {
	bool known;
	sigset_t mask;
	struct sigaction pipe;
} before;

static void keep_before(void)
{
	if (before.known)
		return;
	before.known = !sigprocmask(SIG_BLOCK, NULL, &before.mask) &&
		       !sigaction(SIGPIPE, NULL, &before.pipe);
}

void signals_inherit(void)
{
	keep_before();
	if (!before.known)
		return;
	sigaction(SIGPIPE, &before.pipe, NULL);
	sigprocmask(SIG_SETMASK, &before.mask, NULL);
}

int signals_catch(struct signals *s, bool for_program)
{
	sigset_t set;
	keep_before();
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	/* Not under nohup: a blocked signal is queued even where it is ignored. */
	if (!is_ignored(SIGHUP))
		sigaddset(&set, SIGHUP);
	if (for_program && !is_ignored(SIGQUIT))
		sigaddset(&set, SIGQUIT);
	for (unsigned i = 0; for_program && i < FOR_PROGRAM_ONLY; i++)
		sigaddset(&set, for_program_only[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	s->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return s->fd < 0 ? -errno : 0;
}

static bool ends_run(int signo)
{
	for (unsigned i = 0; i < FOR_PROGRAM_ONLY; i++)
		if (signo == for_program_only[i])
			return false;
	return true;
}

/* The last request for the end that was read: later signals are compared with it. */
static struct {
	int signo;
	pid_t from; /* 0: the kernel */
	uint64_t ns;
} request;

static bool repeats_request(int signo, int code, pid_t from, uint64_t within_ns)
{
	return request.signo == signo && code == SI_USER && from == request.from &&
	       now_ns() - request.ns < within_ns;
}

/* The default action, but of a repeat. */
static void end_unless_repeated(int signo, siginfo_t *si, void *context)
{
	(void)context;
	if (repeats_request(signo, si->si_code, si->si_pid, REPEAT_NS))
		return;
	signal(signo, SIG_DFL);
	raise(signo);
}

static void ignore_once(int signo, siginfo_t *si, void *context)
{
	(void)signo, (void)si, (void)context;
	ending_ask();
}

static const struct sigaction by_default = {.sa_handler = SIG_DFL};
static const struct sigaction repeats_ignored = {.sa_sigaction = end_unless_repeated,
						 .sa_flags = SA_SIGINFO | SA_RESTART};
static const struct sigaction ignored_once = {.sa_sigaction = ignore_once,
					      .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_RESTART};

/* What a terminal sends to all of a job, and SIGTERM, which is sent to us alone. */
static void unblock(const struct sigaction *terminals, const struct sigaction *term)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;
	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		/* A shell's background job ignores SIGINT; under nohup SIGHUP stays ignored. */
		if (ends[i] == SIGINT || !is_ignored(ends[i]))
			sigaction(ends[i], ends[i] == SIGTERM ? term : terminals, NULL);
		sigaddset(&set, ends[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void take(struct signals *s, pid_t program, uint64_t repeat_ns)
{
	struct signalfd_siginfo si;
	while (read(s->fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD ||
		    (s->ends &&
		     repeats_request((int)si.ssi_signo, si.ssi_code, (pid_t)si.ssi_pid, repeat_ns)))
			continue;
		/* The kernel sends a terminal's signals to the program itself. */
		if (program > 0 && si.ssi_code <= 0)
			kill(program, (int)si.ssi_signo);
		if (!ends_run((int)si.ssi_signo))
			continue;
		s->ends++;
		ending_ask();
		s->last = (int)si.ssi_signo;
		request.signo = s->last;
		request.from = si.ssi_code == SI_USER ? (pid_t)si.ssi_pid : 0;
		request.ns = s->last_ns = now_ns();
		if (s->released)
			unblock(&repeats_ignored, &repeats_ignored);
	}
}

void signals_read(struct signals *s, pid_t program)
{
	take(s, program, REPEAT_NS);
}

void signals_release(struct signals *s, pid_t program)
{
	if (s->released)
		return;
	/* The age of a signal is not known, as removing probes takes time: any repeat is
	 * ignored. */
	take(s, program, UINT64_MAX);
	s->released = true;
	if (s->ends)
		unblock(&repeats_ignored, &repeats_ignored);
	if (s->ends > 1)
		raise(s->last);
}

void signals_finish(struct signals *s, bool is_live)
{
	/* What ends a program from a terminal, as its run ends, is meant for that program. */
	if (!s->ends)
		unblock(is_live ? &ignored_once : &by_default, &by_default);
}
