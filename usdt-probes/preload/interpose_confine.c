/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls by which a program confines itself, which the recorder has to know of before. Both are
 * variadic for the program; their arguments are those of a system call, all in the places of longs.
 */
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "../shared/confined.h"
#include "real.h"
#include "recorder.h"

#define EXPORT __attribute__((visibility("default")))

/* Not as headers declare them. */
int execve(const char *path, char *const argv[], char *const envp[]);
int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);
int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
long syscall(long number, long a, long b, long c, long d, long e, long f);

/* Programs ask what the kernel has by a call that it refuses: such a one confines nothing. */
static bool confines(unsigned long mode, const void *filter)
{
	return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter);
}

static void end(bool prepared, bool failed)
{
	if (prepared && failed)
		ebt_confine_cancel();
}

EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (option != PR_SET_SECCOMP || !confines(a, (const void *)b))
		return ebt_real.prctl(option, a, b, c, d);
	bool prepared = ebt_recorder_confine();
	int ret = ebt_real.prctl(option, a, b, c, d);
	end(prepared, ret != 0);
	return ret;
}

/* By seccomp() or prctl(). */
static long confine_by_call(long number, long a, long b, long c, long d, long e, long f)
{
	bool by_prctl = number == SYS_prctl;
	bool does = by_prctl			   ? confines((unsigned long)b, (const void *)c)
		    : a == SECCOMP_SET_MODE_STRICT ? true
						   : a == SECCOMP_SET_MODE_FILTER && c;
	bool prepared = does && ebt_recorder_confine();
	long ret = ebt_real.syscall(number, a, b, c, d, e, f);
	end(prepared, ret < 0);
	return ret;
}

/* What else it is called for is passed on by a jump. */
EXPORT long syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(number == SYS_seccomp, 0) ||
	    __builtin_expect(number == SYS_prctl && a == PR_SET_SECCOMP, 0))
		return confine_by_call(number, a, b, c, d, e, f);
	if (__builtin_expect(number == SYS_execve, 0))
		return execve((const char *)a, (char *const *)b, (char *const *)c);
	if (__builtin_expect(number == SYS_execveat, 0))
		return execveat((int)a, (const char *)b, (char *const *)c, (char *const *)d,
				(int)e);
	if (__builtin_expect(number == SYS_exit_group, 0))
		ebt_recorder_end();
	return ebt_real.syscall(number, a, b, c, d, e, f);
}
