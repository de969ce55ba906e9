// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_reason.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int bpf_explain(int err, const char *what, char *reason)
{
	const char *why = strerror(-err);
	if (err == -EPERM)
		why = "needs CAP_BPF and CAP_PERFMON, or root";
	else if (err == -EACCES)
		why = "its files are not ours to read: needs its user, CAP_SYS_PTRACE, or root";
	else if (err == -ESRCH)
		why = "no such process";
	snprintf(reason, BPF_REASON_BYTES, "%s: %s", what, why);
	return err;
}

int bpf_explain_pages(int err, char *reason)
{
	const char *why = err == -EPERM || err == -EACCES
				  ? "needs CAP_BPF, CAP_PERFMON and CAP_DAC_READ_SEARCH, or root"
			  : err == -ENOENT
				  ? "tracefs is missing: mount -t tracefs none /sys/kernel/tracing"
				  : strerror(-err);
	snprintf(reason, BPF_REASON_BYTES, "cannot load the BPF programs: %s", why);
	return err == -EACCES ? -EPERM : err;
}
