/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why the kernel refuses what the BPF source asks for, in words of the user, and what the user can
 * do. A reason names what was found: a capability that this process lacks, a filter that is in
 * force, the line of the verifier's log that says why. Where nothing was found it is the error's
 * own text.
 */
#ifndef SOURCE_BPF_REASON_H
#define SOURCE_BPF_REASON_H

#include <linux/capability.h>

#include "proc/privilege.h"

#define BPF_REASON_BYTES 256
#define BPF_WHY_BYTES	 208 /* of a refusal, which messages begin or end */

/* The oldest kernel that is supported: older ones are refused by their version. */
#define BPF_OLDEST_MAJOR 6
#define BPF_OLDEST_MINOR 1

enum bpf_cause {
	BPF_CAUSE_NONE,	      /* nothing is refused */
	BPF_CAUSE_CAPABILITY, /* this process lacks one */
	BPF_CAUSE_USERNS,     /* its capabilities are those of a container */
	BPF_CAUSE_SECCOMP,
	BPF_CAUSE_LOCKDOWN,
	BPF_CAUSE_VERSION,  /* the kernel is older than the oldest supported one */
	BPF_CAUSE_BTF,	    /* the kernel's types are not there */
	BPF_CAUSE_MISSING,  /* a function or tracepoint of the kernel is not there */
	BPF_CAUSE_VERIFIER, /* a program was refused by the verifier */
	BPF_CAUSE_TRACEFS,  /* it is not mounted */
	BPF_CAUSE_OTHER,
};

struct bpf_refusal {
	int err; /* negative errno; 0: nothing is refused */
	enum bpf_cause cause;
	char why[BPF_WHY_BYTES];
	const char *advice; /* what the user can do; a constant */
};

/* What was attempted. */
enum bpf_step {
	BPF_STEP_LOAD,	     /* of a program */
	BPF_STEP_TRACEPOINT, /* attaching to one that is found by way of tracefs */
	BPF_STEP_EVENT,	     /* perf_event_open() for threads */
	BPF_STEP_LINK,	     /* attaching to any other tracepoint, or walking over threads */
	BPF_STEP_UPROBE,
};

/* The word for a cause in JSON: "capability". */
const char *bpf_cause_name(enum bpf_cause cause);

/* The capabilities, a bit each, that programs need. */
#define BPF_NEEDS (1ull << CAP_BPF | 1ull << CAP_PERFMON)

struct bpf_attempt {
	enum bpf_step step;
	int err;	 /* negative errno */
	uint64_t needs;	 /* capabilities, a bit each */
	bool no_btf;	 /* the kernel's types were not found */
	const char *log; /* the verifier's, or NULL */
};

/* The reason why an attempt failed. */
void bpf_refuse(const struct bpf_attempt *a, struct bpf_refusal *ret);
/* What tracefs, where tracepoints of system calls are found, needs of this process to be read: a
 * bit for a capability, or 0. */
uint64_t bpf_tracefs_needs(void);
/* The reason for a kernel older than the oldest supported one; err 0: it is not older. */
void bpf_refuse_version(const struct privilege *p, struct bpf_refusal *ret);
/* A function of the kernel that is not there, and the release that first has it ("6.2"). */
void bpf_refuse_missing(const char *what, const char *since, struct bpf_refusal *ret);

/* libbpf reports EINVAL of a map for which there is no descriptor, as it tries again without the
 * map's types. -EMFILE or -ENFILE if `wanted` descriptors, up to a limit, cannot be had; else
 * 0. */
int bpf_shortage_of_files(int wanted);

/* Why processes of other users cannot be read, for which these capabilities (a bit each) are
 * lacking, or are there and not accepted; err 0: none is lacking. */
void bpf_refuse_others(const struct privilege *p, uint64_t lacking, struct bpf_refusal *ret);

/* The first line of a verifier's log that says why, not what it did: its begin, and its length in
 * *ret_len; NULL: there is none. */
const char *bpf_verifier_reason(const char *log, int *ret_len);

#endif
