/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

static const int for_program_only[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};
#define FOR_PROGRAM_ONLY (sizeof(for_program_only) / sizeof(*for_program_only))

static bool is_ignored(int signo)
{
	struct sigaction now;
	return !sigaction(signo, NULL, &now) && now.sa_handler == SIG_IGN;
}

int signals_catch(bool for_program)
{
	sigset_t set;
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
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool signals_end_run(int signo)
{
	for (unsigned i = 0; i < FOR_PROGRAM_ONLY; i++)
		if (signo == for_program_only[i])
			return false;
	return true;
}

static void unblock(void (*handler)(int))
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESETHAND | SA_RESTART};
	sigset_t set;
	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		/* A shell's background job ignores SIGINT; under nohup SIGHUP stays ignored. */
		if (ends[i] == SIGINT || !is_ignored(ends[i]))
			sigaction(ends[i], &action, NULL);
		sigaddset(&set, ends[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void signals_uncatch(void)
{
	unblock(SIG_DFL);
}

static void nothing(int signo)
{
	(void)signo;
}

void signals_finish(void)
{
	unblock(nothing);
}
