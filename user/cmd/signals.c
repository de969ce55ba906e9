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

void signals_uncatch(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	signal(SIGINT, SIG_DFL); /* a shell's background job ignores it */
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
