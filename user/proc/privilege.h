/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this process may do, and on which kernel: capabilities, user namespace, seccomp filter,
 * lockdown, release. Read from the kernel at each call; nothing is inferred from the user id.
 */
#ifndef PROC_PRIVILEGE_H
#define PROC_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

#define PRIVILEGE_RELEASE_BYTES 65 /* of struct utsname */

enum privilege_lockdown {
	LOCKDOWN_UNKNOWN, /* securityfs is not mounted, or this kernel has no lockdown */
	LOCKDOWN_NONE,
	LOCKDOWN_INTEGRITY,
	LOCKDOWN_CONFIDENTIALITY,
};

struct privilege {
	uint64_t capabilities; /* effective, a bit each */
	bool initial_userns;   /* or not known; capabilities of others do not apply to BPF */
	bool filtered;	       /* a seccomp filter is in force */
	enum privilege_lockdown lockdown;
	char release[PRIVILEGE_RELEASE_BYTES]; /* "6.1.0-56-amd64" */
	unsigned major, minor;		       /* of the release */
};

void privilege_read(struct privilege *ret);
/* True if the process has the capability (CAP_BPF, ...), or one that includes it: CAP_SYS_ADMIN
 * includes CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE, CAP_DAC_OVERRIDE includes
 * CAP_DAC_READ_SEARCH. */
bool privilege_has(const struct privilege *p, unsigned capability);
/* "CAP_BPF"; "a capability" for those that ebtrace does not ask for. */
const char *privilege_name(unsigned capability);

#endif
