/* SPDX-License-Identifier: BSD-2-Clause */
/* Why the kernel refuses what the BPF source asks for, in words of the user. */
#ifndef SOURCE_BPF_REASON_H
#define SOURCE_BPF_REASON_H

#define BPF_REASON_BYTES 256

/* Writes "what: why" to reason, of BPF_REASON_BYTES; returns err, a negative errno. */
int bpf_explain(int err, const char *what, char *reason);
/* Of loading the programs. What the verifier refuses is refused for want of a capability, too: -EPERM then;
 * a process that has them gets -ENOTSUP. */
int bpf_explain_load(int err, char *reason);
/* Of the programs that watch pages: tracepoints of system calls are attached by way of tracefs, which
 * is root's. Returns -EPERM for want of a capability. */
int bpf_explain_pages(int err, char *reason);

#endif
