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
#define REPEAT_NS      1000000000u
#define REPEAT_WAIT_NS 20000000u

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

/* The handler is of the signals that a terminal sends to all of a job: others are sent to us alone. */
static void unblock(void (*handler)(int))
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;
	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		bool is_terminals = ends[i] != SIGTERM;
		struct sigaction action = {.sa_handler = is_terminals ? handler : SIG_DFL,
					   .sa_flags = SA_RESETHAND | SA_RESTART};
		/* A shell's background job ignores SIGINT; under nohup SIGHUP stays ignored. */
		if (ends[i] == SIGINT || !is_ignored(ends[i]))
			sigaction(ends[i], &action, NULL);
		sigaddset(&set, ends[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static bool is_repeat(const struct signals *s, const struct signalfd_siginfo *si,
		      uint64_t within_ns)
{
	return s->ends && si->ssi_code == SI_USER && (pid_t)si->ssi_pid == s->last_from &&
	       (int)si->ssi_signo == s->last && now_ns() - s->last_ns < within_ns;
}

static void take(struct signals *s, pid_t program, uint64_t repeat_ns)
{
	struct signalfd_siginfo si;
	while (read(s->fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD || is_repeat(s, &si, repeat_ns))
			continue;
		/* The kernel sends a terminal's signals to the program itself. */
		if (program > 0 && si.ssi_code <= 0)
			kill(program, (int)si.ssi_signo);
		if (!ends_run((int)si.ssi_signo))
			continue;
		s->ends++;
		ending_ask();
		s->last = (int)si.ssi_signo;
		s->last_from = si.ssi_code == SI_USER ? (pid_t)si.ssi_pid : 0;
		s->last_ns = now_ns();
		if (s->released)
			unblock(SIG_DFL);
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
	/* A fixed wait: a repeat may never come, and more than one may. */
	uint64_t age_ns = now_ns() - s->last_ns;
	if (s->ends && s->last_from && age_ns < REPEAT_WAIT_NS)
		usleep((unsigned)((REPEAT_WAIT_NS - age_ns) / 1000));
	/* Its age is not known: removing probes takes time. */
	take(s, program, UINT64_MAX);
	s->released = true;
	if (s->ends)
		unblock(SIG_DFL);
	if (s->ends > 1)
		raise(s->last);
}

static void ignore_once(int signo)
{
	(void)signo;
	ending_ask();
}

void signals_finish(struct signals *s, bool is_live)
{
	/* What ends a program from a terminal, as its run ends, is meant for that program. */
	if (!s->ends)
		unblock(is_live ? ignore_once : SIG_DFL);
}
