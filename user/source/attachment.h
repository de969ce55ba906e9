/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One attacher's probes in one file of one process: attached and detached as the attacher says, by a
 * link of its own or by one that all processes of the file share.
 */
#ifndef SOURCE_ATTACHMENT_H
#define SOURCE_ATTACHMENT_H

#include "source/bpf_links.h"

struct attachment {
	const struct attacher *by; /* NULL: none */
	void *state;
	pid_t pid;
	int file; /* < 0: not kept */
	struct bpf_link link;
	struct bpf_shared *shared; /* NULL: a link of its own */
	bool watched;		   /* by the shared link */
	bool left_alone;	   /* as of the last update: the process records by itself */
	int err;		   /* of an attempt that failed; see attachment_may_retry() */
	uint64_t unshared_ns;	   /* it was probed by a shared link until then; 0: not */
};

/* True for an error of ours that passes; after another one there is no second attempt. */
bool attachment_may_retry(int err);
/* Of a file of the process that `by` matches. 0 or -errno, and then it is none. */
int attachment_begin(struct bpf_links *l, struct attach_env *env, const struct attacher *by,
		     const struct attach_process *process, const struct attach_file *file,
		     struct attachment *ret);
/* Attaches or detaches. The number of sites attached by this call, or -errno. */
int attachment_update(struct bpf_links *l, struct attach_env *env, struct attachment *a,
		      uint64_t now_ns);
/* Since when events were missed that are seen from now on, if the process was not scanned since
 * unwatched_ns; 0: none were. */
uint64_t attachment_missed(const struct attachment *a, uint64_t unwatched_ns);
/* Detaches; also one that never began. */
void attachment_end(struct bpf_links *l, struct attach_env *env, struct attachment *a);

#endif
