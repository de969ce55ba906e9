/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls by which a program confines itself, which the recorder has to know of before. Both are
 * variadic for the program; their arguments are those of a system call, all in the places of longs.
 */
#include <linux/prctl.h>
#include <sys/syscall.h>

#include "real.h"
#include "recorder.h"

#define EXPORT __attribute__((visibility("default")))

/* Not as headers declare them. */
int execve(const char *path, char *const argv[], char *const envp[]);
int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);
int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
long syscall(long number, long a, long b, long c, long d, long e, long f);

EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (option == PR_SET_SECCOMP)
		ebt_recorder_confine();
	return ebt_real.prctl(option, a, b, c, d);
}

/* What else it is called for is passed on by a jump. */
EXPORT long syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(number == SYS_seccomp, 0) ||
	    __builtin_expect(number == SYS_prctl && a == PR_SET_SECCOMP, 0))
		ebt_recorder_confine();
	if (__builtin_expect(number == SYS_execve, 0))
		return execve((const char *)a, (char *const *)b, (char *const *)c);
	if (__builtin_expect(number == SYS_execveat, 0))
		return execveat((int)a, (const char *)b, (char *const *)c, (char *const *)d,
				(int)e);
	if (__builtin_expect(number == SYS_exit_group, 0))
		ebt_recorder_end();
	return ebt_real.syscall(number, a, b, c, d, e, f);
}
