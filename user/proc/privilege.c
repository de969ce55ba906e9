// SPDX-License-Identifier: BSD-2-Clause
#include "proc/privilege.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "proc/process.h"

/* The kernel's inode number of the initial user namespace. */
#define INITIAL_USERNS 0xeffffffdu

static uint64_t read_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, caps))
		return 0;
	return caps[0].effective | (uint64_t)caps[1].effective << 32;
}

/* The file has all levels, the one in force in brackets. */
static enum privilege_lockdown read_lockdown(void)
{
	char text[128];
	if (file_read_text("/sys/kernel/security/lockdown", text, sizeof(text)) <= 0)
		return LOCKDOWN_UNKNOWN;
	return strstr(text, "[confidentiality]") ? LOCKDOWN_CONFIDENTIALITY
	       : strstr(text, "[integrity]")	 ? LOCKDOWN_INTEGRITY
						 : LOCKDOWN_NONE;
}

void privilege_read(struct privilege *ret)
{
	struct stat st;
	struct utsname name;
	*ret = (struct privilege){
		.capabilities = read_capabilities(),
		.initial_userns = stat("/proc/self/ns/user", &st) || st.st_ino == INITIAL_USERNS,
		.filtered = process_is_filtered(getpid()),
		.lockdown = read_lockdown(),
	};
	if (uname(&name))
		return;
	snprintf(ret->release, sizeof(ret->release), "%s", name.release);
	if (sscanf(name.release, "%u.%u", &ret->major, &ret->minor) != 2)
		ret->major = ret->minor = 0;
}

static bool has(const struct privilege *p, unsigned capability)
{
	return p->capabilities >> capability & 1;
}

bool privilege_has(const struct privilege *p, unsigned capability)
{
	switch (capability) {
	case CAP_BPF:
	case CAP_PERFMON:
	case CAP_CHECKPOINT_RESTORE:
		return has(p, capability) || has(p, CAP_SYS_ADMIN);
	case CAP_DAC_READ_SEARCH:
		return has(p, capability) || has(p, CAP_DAC_OVERRIDE);
	default:
		return has(p, capability);
	}
}

const char *privilege_name(unsigned capability)
{
	switch (capability) {
	case CAP_BPF:
		return "CAP_BPF";
	case CAP_PERFMON:
		return "CAP_PERFMON";
	case CAP_SYS_ADMIN:
		return "CAP_SYS_ADMIN";
	case CAP_SYS_PTRACE:
		return "CAP_SYS_PTRACE";
	case CAP_DAC_READ_SEARCH:
		return "CAP_DAC_READ_SEARCH";
	default:
		return "a capability";
	}
}
