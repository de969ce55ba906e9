/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe links: one for a file in one process, or, where an attacher can share it, one for all
 * processes that run the file (the BPF program then asks a map for the process's slot). A shared link
 * stays when the last process that used it ends, for the next one; of those the oldest is closed when
 * they become too many. Others that run the file pay for its probes too: where they hit them often,
 * the link is closed and each traced process gets one of its own.
 */
#ifndef SOURCE_BPF_LINKS_H
#define SOURCE_BPF_LINKS_H

#include "base/ptrmap.h"
#include "source/attacher.h"

struct bpf_links {
	/* Links the sites of a file in `pid` (<= 0: in all processes): a descriptor, or -errno. When
	 * it is closed the probes go, which takes tens of milliseconds and is not waited for. */
	int (*attach)(void *ctx, enum bpf_probe program, int file, pid_t pid,
		      const struct uprobe_site *site, uint32_t sites);
	/* Hits of a shared link by processes that are not traced, by the key of its plan. */
	uint64_t (*foreign)(void *ctx, uint32_t key);
	void *ctx;
	uint32_t sites; /* attached now */
	struct bpf_shared **shared;
	uint32_t shareds;
	PTRMAP(struct bpf_shared) by_file; /* of these: by hash_file() */
};

struct bpf_link {
	const struct attacher *by;
	int fd; /* < 0: none */
	uint32_t sites;
	uint32_t key; /* of its plan */
};

struct bpf_shared {
	uint64_t dev, inode;
	struct bpf_link link;
	uint64_t since_ns; /* its probes are in place */
	uint64_t gone_ns;  /* closed for good, or never to be made; 0: not */
	uint32_t users;
	uint64_t foreign, checked_ns;
};

/* Plans and makes a link. The number of its sites (0: nothing was wanted, there is no link), or
 * -errno. */
int bpf_links_open(struct bpf_links *l, struct attach_env *env, const struct attacher *by,
		   void *state, int file, pid_t pid, struct bpf_link *ret);
void bpf_links_close(struct bpf_links *l, struct attach_env *env, struct bpf_link *link);

/* The shared link of a file, made if there is none yet (not yet attached: link.fd < 0); the caller is
 * one more user. NULL: it cannot be shared any more, or no memory. */
struct bpf_shared *bpf_links_share(struct bpf_links *l, struct attach_env *env, uint64_t dev,
				   uint64_t inode);
void bpf_links_leave(struct bpf_shared *sh); /* one user less */
void bpf_links_unshare(struct bpf_links *l, struct attach_env *env, struct bpf_shared *sh,
		       uint64_t now_ns);
/* True if a shared link has watched the file in all processes since before born_ns. */
bool bpf_links_cover(const struct bpf_links *l, uint64_t dev, uint64_t inode, uint64_t born_ns);
/* Closes the shared links that too many others hit. Call it now and then. */
void bpf_links_check_foreign(struct bpf_links *l, struct attach_env *env, uint64_t now_ns);
void bpf_links_close_shared(struct bpf_links *l, struct attach_env *env); /* no user is left */

#endif
