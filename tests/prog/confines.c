/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seccomp filters that a recorder does not see coming: "exec PROGRAM" sets one that has only the
 * system calls of a small program, and becomes PROGRAM, which inherits it. "raw" sets one that
 * forbids fallocate(), as the first one by a bare system call without libc, and "asks" makes the
 * calls by which programs ask what the kernel has, and confines a child of vfork(). Both then
 * allocate 150,000 objects and leave them, with deep backtraces, so that the trace has more than
 * what is reserved when a program confines itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/seccomp.h"

#define OBJECTS 150000
#define DEPTH	64

static const int small_program[] = {
	SYS_execve, SYS_brk,	    SYS_mmap,	   SYS_munmap,		SYS_mprotect,
	SYS_openat, SYS_read,	    SYS_pread64,   SYS_close,		SYS_newfstatat,
	SYS_fstat,  SYS_futex,	    SYS_rseq,	   SYS_set_tid_address, SYS_set_robust_list,
	SYS_write,  SYS_getrandom,  SYS_prlimit64, SYS_exit_group,
#ifdef __x86_64__
	SYS_access, SYS_arch_prctl,
#endif
	-1};
static const int fallocate_alone[] = {SYS_fallocate, -1};

static void *volatile kept;

static size_t allocate(unsigned depth, uint64_t way);

static __attribute__((noinline)) size_t allocate_left(unsigned depth, uint64_t way)
{
	return allocate(depth, way) + 1;
}

static __attribute__((noinline)) size_t allocate_right(unsigned depth, uint64_t way)
{
	return allocate(depth, way) + 2;
}

/* Another backtrace for each way. */
static __attribute__((noinline)) size_t allocate(unsigned depth, uint64_t way)
{
	if (!depth) {
		kept = malloc(8 * 100);
		return 0;
	}
	return (way & 1 ? allocate_left : allocate_right)(depth - 1, way >> 1);
}

static void allocate_all(void)
{
	for (uint64_t i = 0; i < OBJECTS; i++)
		allocate(DEPTH, i * 0x9e3779b97f4a7c15ull);
}

/* `listed` for the calls, which -1 ends, and `others` for all others. */
static void confine_raw(const int *calls, unsigned listed, unsigned others)
{
#ifdef __x86_64__
	struct sock_filter code[2 * SECCOMP_MAX_CALLS + 2];
	struct sock_fprog p = {seccomp_make(calls, listed, others, code), code};
	long ret;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&p)
			 : "rcx", "r11", "memory");
	if (ret)
		exit(77);
#else
	(void)calls, (void)listed, (void)others;
	exit(77);
#endif
}

static void ask(void)
{
	unsigned action = SECCOMP_RET_KILL_PROCESS;
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)16);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (void *)16);
	syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
	pid_t pid = vfork();
	if (!pid)
		_exit(seccomp_enter(fallocate_alone, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW)
			      ? 0
			      : 1);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *act = argc > 1 ? argv[1] : "";
	if (!strcmp(act, "exec") && argc == 3) {
		confine_raw(small_program, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
		execl(argv[2], argv[2], "small", NULL);
		return 126;
	}
	if (!strcmp(act, "raw"))
		confine_raw(fallocate_alone, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
	if (!strcmp(act, "asks"))
		ask();
	if (strcmp(act, "small"))
		allocate_all();
	kept = malloc(1000);
	return 5;
}
