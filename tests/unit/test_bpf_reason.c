// SPDX-License-Identifier: BSD-2-Clause
/* Why BPF programs cannot be loaded: whose fault it is depends on what this process may do. */
#include "source/bpf_reason.h"
#include "tests/tap.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool may_bpf(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	return !syscall(SYS_capget, &header, caps) && caps[0].effective & 1u << CAP_SYS_ADMIN;
}

int main(void)
{
	char reason[BPF_REASON_BYTES];
	if (may_bpf()) {
		is(bpf_explain_load(-EACCES, reason), -ENOTSUP,
		   "with all capabilities it is no denial");
		ok(strstr(reason, "verifier"), "but the verifier's");
	}
	is(bpf_explain_load(-ENOENT, reason), -ENOENT, "other errors stay");
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	if (syscall(SYS_capset, &header, none))
		return 1;
	is(bpf_explain_load(-EACCES, reason), -EPERM, "without them it is one");
	ok(strstr(reason, "CAP_BPF"), "and they are named");
	return tap_done();
}
