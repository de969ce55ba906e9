/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/hold.h"

#include "proc/process.h"
#include <elf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits for a stop: the first one, and the sum of all of them, each twice the one before it. */
#define WAIT_US	    20
#define WAIT_MAX_US 2000

/* It has more privilege than its user: set-user-id, set-group-id, capabilities. */
static bool is_privileged(pid_t pid)
{
	Elf64_auxv_t aux[64];
	ssize_t n = process_read(pid, "auxv", aux, sizeof(aux));
	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(*aux); i++)
		if (aux[i].a_type == AT_SECURE)
			return aux[i].a_un.a_val != 0;
	return true; /* not known: assume so */
}

/* The kernel allows an exec to raise the privilege of a traced process only if its tracer has
 * this. */
static bool may_trace_privileged(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	return !syscall(SYS_capget, &header, caps) &&
	       caps[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE);
}

static long number_after(const char *status, const char *name)
{
	const char *at = strstr(status, name);
	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

static bool has_stopped(pid_t pid)
{
	siginfo_t si = {0};
	return waitid(P_PID, (id_t)pid, &si, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) ||
	       si.si_pid == pid;
}

int hold_begin(pid_t pid)
{
	if (!may_trace_privileged() || is_privileged(pid) || !process_has_one_thread(pid))
		return -EPERM;
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return -errno;
	/* Fails if it has just ended: see hold_end(). No descriptor reports the stop, which takes
	 * microseconds; the wait is 2 ms at most. */
	if (!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
		for (unsigned us = WAIT_US; us < WAIT_MAX_US && !has_stopped(pid); us *= 2)
			usleep(us);
	return 0;
}

/* The parent of a foreign child is notified of its end once we have waited for it. Our own child is
 * left to the caller that needs its status. */
static int end_of_dead(pid_t pid)
{
	siginfo_t si = {0};
	char status[4096];
	if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT | __WALL))
		return 0;
	if (si.si_pid != pid || si.si_code == CLD_TRAPPED) /* a stop is reported, too */
		return -EAGAIN;
	process_read_text(pid, "status", status, sizeof(status));
	if (number_after(status, "\nPPid:") != getpid())
		waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | __WALL);
	return 0;
}

int hold_end(pid_t pid)
{
	siginfo_t si;
	/* Not by its wait status, which another thread may have consumed. */
	if (ptrace(PTRACE_GETSIGINFO, pid, NULL, &si))
		return end_of_dead(pid);
	/* Stopped by us, by job control, or for a signal, which is delivered now. */
	int sig = si.si_code >> 8 == PTRACE_EVENT_STOP ? 0 : si.si_signo;
	/* Fails if it has been killed since. */
	return ptrace(PTRACE_DETACH, pid, NULL, (void *)(long)sig) ? end_of_dead(pid) : 0;
}
