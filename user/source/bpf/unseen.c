// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/unseen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each keeps its process in the registry. The oldest makes room for the next one: it is counted, and
 * the count is reported at the end. */
#define MAX_LIVES 256

void bpf_unseen_add(struct bpf_unseen *u, struct processes *ps, const struct bpf_life *life)
{
	if (!u->life)
		u->life = calloc(MAX_LIVES, sizeof(*u->life));
	if (!u->life || u->lives == MAX_LIVES)
		u->left_out++;
	if (!u->life)
		return;
	if (u->lives == MAX_LIVES) {
		processes_unref(ps, u->life[0].process);
		memmove(u->life, u->life + 1, --u->lives * sizeof(*u->life));
	}
	processes_ref(ps, life->process);
	u->life[u->lives++] = *life;
}

void bpf_unseen_report(struct bpf_unseen *u, struct processes *ps, const struct bpf_scanner *by,
		       void (*fn)(void *ctx, uint32_t process, uint64_t since_ns,
				  uint64_t until_ns),
		       void *ctx)
{
	uint32_t left = 0;
	if (u->known_files == inspect_files(by->inspect))
		return;
	u->known_files = inspect_files(by->inspect);
	for (uint32_t i = 0; i < u->lives; i++) {
		struct bpf_life life = u->life[i];
		int had = bpf_scanner_would_probe(by, life.dev, life.inode, life.born_ns);
		if (had > 0)
			fn(ctx, life.process, life.born_ns, life.end_ns);
		else if (had == -ENOENT)
			u->life[left++] = life;
		if (had != -ENOENT)
			processes_unref(ps, life.process);
	}
	u->lives = left;
}

void bpf_unseen_done(struct bpf_unseen *u, struct processes *ps)
{
	for (uint32_t i = 0; i < u->lives; i++)
		processes_unref(ps, u->life[i].process);
	free(u->life);
	*u = (struct bpf_unseen){0};
}
