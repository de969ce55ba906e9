/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether processes of other users can be read: their mappings, and files that only their user may
 * read, as rings are. Tried on a process that is made for it, as far as one can be made: which
 * capability opens mappings depends on the kernel (since Linux 6.18 CAP_PERFMON does, too).
 */
#ifndef SOURCE_BPF_OTHER_USERS_H
#define SOURCE_BPF_OTHER_USERS_H

struct bpf_refusal;

/* Why they cannot be read; err 0: they can. */
void other_users_check(struct bpf_refusal *ret);
/* Writes "what: why" of an error with a process to reason, of BPF_REASON_BYTES. Returns err, a
 * negative errno. */
int other_users_explain(int err, const char *what, char *reason);

#endif
