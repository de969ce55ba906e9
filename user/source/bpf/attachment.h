/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One attacher's probes in one file of one process, attached and detached as the attacher decides,
 * by a link of its own or by one shared by all processes that run the file.
 */
#ifndef SOURCE_BPF_ATTACHMENT_H
#define SOURCE_BPF_ATTACHMENT_H

#include "source/bpf/links.h"

struct attachment {
	const struct attacher *by; /* NULL: none */
	void *state;
	pid_t pid;
	int file; /* < 0: closed */
	struct bpf_link link;
	struct attach_plan plan;   /* of `link`, made ahead; no `site`: none */
	struct bpf_shared *shared; /* NULL: a link of its own */
	bool watched;		   /* probed by the shared link */
	uint32_t cuts;		   /* of the shared link, when it began */
	bool left_alone;	   /* as of the last update: the process records by itself */
	int err;		   /* of an attempt that failed; see attachment_may_retry() */
	uint64_t unshared_ns;	   /* a shared link probed it until then; 0: none did */
};

/* True for a temporary error of ours; after any other there is no second attempt. */
bool attachment_may_retry(int err);
/* Begins probing a file that `by` matches. 0; -errno: *ret is no attachment. */
int attachment_begin(struct bpf_links *l, struct attach_env *env, const struct attacher *by,
		     const struct attach_process *process, const struct attach_file *file,
		     struct attachment *ret);
/* Plans ahead the link of its own that the next update will make: the number of its sites, 0: none.
 * An error is left to the update. */
uint32_t attachment_plan(struct attach_env *env, struct attachment *a, uint64_t now_ns);
/* Attaches or detaches. The number of sites attached by this call, or -errno. */
int attachment_update(struct bpf_links *l, struct attach_env *env, struct attachment *a,
		      uint64_t now_ns);
/* True if its probes were there and are gone: it is to be ended, and begun again. */
bool attachment_is_cut(struct bpf_links *l, struct attach_env *env, struct attachment *a);
/* The begin of the time in which probes were missing, if the process was not scanned since
 * unwatched_ns; 0: they were not. */
uint64_t attachment_missed(const struct attachment *a, uint64_t unwatched_ns);
/* Detaches; a zeroed attachment is allowed. */
void attachment_end(struct bpf_links *l, struct attach_env *env, struct attachment *a);

#endif
