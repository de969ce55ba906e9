// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/other_users.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "proc/process.h"
#include "source/bpf/reason.h"

/* Either is another user than we are. */
#define NOBODY	65534
#define NEITHER 65533

static bool reads_maps(pid_t pid)
{
	char path[32], text[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return file_read_text(path, text, sizeof(text)) > 0;
}

/* The process: another user's from its first byte on, until its input ends. System calls alone:
 * other threads of ours may hold libc's locks. */
static void be_other(const int in[2], const int out[2], uid_t uid)
{
	char is_other = !syscall(SYS_setresuid, uid, uid, uid), byte;
	syscall(SYS_close, in[1]);
	if (syscall(SYS_write, out[1], &is_other, 1) == 1)
		while (syscall(SYS_read, in[0], &byte, 1) < 0 && errno == EINTR)
			;
	syscall(SYS_exit_group, 0);
}

/* 1 or 0: the mappings of another user's process can be read, or not; -errno: none can be made. */
static int try_maps(void)
{
	int in[2], out[2], ret = 0;
	char is_other = 0;
	if (pipe2(in, O_CLOEXEC))
		return -errno;
	if (pipe2(out, O_CLOEXEC)) {
		ret = -errno;
		goto out_in;
	}
	/* No exit signal (flags 0): an event loop of ours does not see its end. */
	long pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (!pid)
		be_other(in, out, geteuid() == NOBODY ? NEITHER : NOBODY);
	ret = pid < 0 ? -errno : 0;
	close(out[1]);
	if (!ret)
		ret = read(out[0], &is_other, 1) == 1 && is_other ? reads_maps((pid_t)pid) : -EPERM;
	close(in[1]);
	in[1] = -1;
	while (pid > 0 && waitpid((pid_t)pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	close(out[0]);
out_in:
	close(in[0]);
	if (in[1] >= 0)
		close(in[1]);
	return ret;
}

/* Used if try_maps() cannot make a process of another user: other users may run some. */
static int reads_of_other(pid_t pid, void *ctx)
{
	char path[32];
	struct stat st;
	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !stat(path, &st) && st.st_uid != geteuid() && reads_maps(pid);
}

static bool reads_some(void)
{
	return process_each(reads_of_other, NULL) > 0;
}

void other_users_check(struct bpf_refusal *ret)
{
	struct privilege p;
	privilege_read(&p);
	int maps = try_maps();
	uint64_t lacking = 0;
	/* In a user namespace without other users no capability applies to them. */
	bool has_others = p.initial_userns || maps >= 0;
	if (maps <= 0 && !reads_some() &&
	    (maps == 0 || !has_others || !privilege_has(&p, CAP_SYS_PTRACE)))
		lacking |= 1ull << CAP_SYS_PTRACE;
	if (!has_others || !privilege_has(&p, CAP_DAC_READ_SEARCH))
		lacking |= 1ull << CAP_DAC_READ_SEARCH;
	bpf_refuse_others(&p, lacking, ret);
}

int other_users_explain(int err, const char *what, char *reason)
{
	const char *why = err == -ESRCH	      ? "no such process"
			  : err == -ETIMEDOUT ? "the kernel did not answer"
					      : strerror(-err);
	struct bpf_refusal others = {0};
	if (err == -EACCES)
		other_users_check(&others);
	if (others.err)
		snprintf(reason, BPF_REASON_BYTES, "%.30s: its files cannot be read: %.190s", what,
			 others.why);
	else
		snprintf(reason, BPF_REASON_BYTES, "%s: %s", what, why);
	return err;
}
