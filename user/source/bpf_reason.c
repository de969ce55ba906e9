// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_reason.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

#define NEEDED (1ull << CAP_BPF | 1ull << CAP_PERFMON)

static bool has_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, caps))
		return false;
	uint64_t all = caps[0].effective | (uint64_t)caps[1].effective << 32;
	return all & 1ull << CAP_SYS_ADMIN || (all & NEEDED) == NEEDED;
}

/* What libbpf returns where it finds no BTF. */
static const char without_btf[] =
	"this kernel has no BTF (CONFIG_DEBUG_INFO_BTF, /sys/kernel/btf/vmlinux), which they need";

int bpf_explain_load(int err, char *reason)
{
	static const char what[] = "cannot load the BPF programs";
	if (err == -ESRCH) {
		snprintf(reason, BPF_REASON_BYTES, "%s: %s", what, without_btf);
		return -ENOTSUP;
	}
	if ((err != -EACCES && err != -EINVAL) || !has_capabilities())
		return bpf_explain(err == -EACCES ? -EPERM : err, what, reason);
	snprintf(reason, BPF_REASON_BYTES, "%s: this kernel's verifier refuses them", what);
	return -ENOTSUP;
}

int bpf_explain_pages(int err, char *reason)
{
	const char *why = err == -EPERM || err == -EACCES
				  ? "needs CAP_BPF, CAP_PERFMON and CAP_DAC_READ_SEARCH, or root"
			  : err == -ENOENT
				  ? "tracefs is missing: mount -t tracefs none /sys/kernel/tracing"
			  : err == -ESRCH ? without_btf
					  : strerror(-err);
	snprintf(reason, BPF_REASON_BYTES, "cannot load the BPF programs: %s", why);
	return err == -EACCES ? -EPERM : err;
}
