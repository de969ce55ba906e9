// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_unseen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LIVES 256

void bpf_unseen_add(struct bpf_unseen *u, const struct bpf_life *life)
{
	if (!u->life)
		u->life = calloc(MAX_LIVES, sizeof(*u->life));
	if (!u->life || u->lives == MAX_LIVES)
		u->left_out++;
	if (!u->life)
		return;
	if (u->lives == MAX_LIVES)
		memmove(u->life, u->life + 1, --u->lives * sizeof(*u->life));
	u->life[u->lives++] = *life;
}

void bpf_unseen_tell(struct bpf_unseen *u, const struct bpf_scanner *by,
		     void (*fn)(void *ctx, uint32_t process, uint64_t since_ns, uint64_t until_ns),
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
	}
	u->lives = left;
}

void bpf_unseen_done(struct bpf_unseen *u)
{
	free(u->life);
	*u = (struct bpf_unseen){0};
}
