/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this kernel and the privileges of this process allow: each feature of the BPF programs is
 * tried, on this process itself, by the same steps as in a trace, and undone. Nothing is inferred
 * from a version number, but that a kernel older than the oldest supported one is not tried.
 */
#ifndef SOURCE_BPF_CHECK_H
#define SOURCE_BPF_CHECK_H

#include "source/bpf/kernel.h"

struct bpf_check {
	struct bpf_refusal refusal[BPF_FEATURES]; /* err 0: it works */
	bool multi; /* many probes have one link; else each has its own, removed one by one */
};

/* Takes some 0.1 s, longer where something is refused. 0 or -errno: nothing was tried. */
int bpf_check(struct bpf_check *ret);

#endif
