/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

void worker_ignore_signals(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGXCPU};
	sigset_t set;
	sigfillset(&set);
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		sigdelset(&set, faults[i]);
		signal(faults[i], SIG_DFL);
	}
	sigprocmask(SIG_SETMASK, &set, NULL);
}

bool worker_keep_descriptors(int *fds, int first, int end)
{
	for (int i = first; i < end; i++)
		if (fds[i] >= 0 && (fds[i] = fcntl(fds[i], F_DUPFD, end)) < 0)
			return false;
	for (int i = first; i < end; i++)
		if (fds[i] >= 0 && dup2(fds[i], i) < 0)
			return false;
	return !syscall(SYS_close_range, (unsigned)end, ~0u, 0);
}

bool worker_limit(int resource, uint64_t value)
{
	struct rlimit had, l = {value, value};
	if (getrlimit(resource, &had))
		return false;
	if (had.rlim_max < l.rlim_max)
		l = (struct rlimit){had.rlim_max, had.rlim_max};
	return !setrlimit(resource, &l);
}

/* The bytes that our address space has now. */
static uint64_t memory_bytes(void)
{
	char text[64];
	file_read_text("/proc/self/statm", text, sizeof(text));
	return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool worker_limit_memory(uint64_t bytes)
{
	return worker_limit(RLIMIT_AS, memory_bytes() + bytes);
}

bool worker_drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	return !syscall(SYS_capset, &head, none);
}
