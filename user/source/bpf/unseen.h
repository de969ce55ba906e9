/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that ended before they were scanned, and before anybody had looked into their programs:
 * of those that shared one, the last to end may be the first to be scanned. They are reported as
 * unwatched when that has been done and there was something to watch.
 */
#ifndef SOURCE_BPF_UNSEEN_H
#define SOURCE_BPF_UNSEEN_H

#include "session/processes.h"
#include "source/bpf/files.h"

struct bpf_life {
	uint32_t process;    /* its index in the registry */
	uint64_t dev, inode; /* of its program */
	uint64_t born_ns, end_ns;
};

struct bpf_unseen {
	struct bpf_life *life; /* the last ones */
	uint32_t lives;
	uint32_t left_out;    /* there was no room for them */
	uint32_t known_files; /* when they were last asked about */
};

/* All take the registry of the processes, which is referred to for each life that is kept. */
void bpf_unseen_add(struct bpf_unseen *u, struct processes *ps, const struct bpf_life *life);
/* Calls fn for each of which it has become known since the last call that something was missed. */
void bpf_unseen_report(struct bpf_unseen *u, struct processes *ps, const struct bpf_scanner *by,
		       void (*fn)(void *ctx, uint32_t process, uint64_t since_ns,
				  uint64_t until_ns),
		       void *ctx);
/* Those of which it is not known whether something was missed. */
static inline uint32_t bpf_unseen_unknown(const struct bpf_unseen *u)
{
	return u->lives + u->left_out;
}
void bpf_unseen_done(struct bpf_unseen *u, struct processes *ps);

#endif
