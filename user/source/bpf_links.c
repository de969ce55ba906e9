// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_links.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define MAX_SHARED	  256
#define MAX_FOREIGN_PER_S 10000
#define CHECK_FOREIGN_NS  1000000000ull

int bpf_links_open(struct bpf_links *l, struct attach_env *env, const struct attacher *by,
		   void *state, int file, pid_t pid, struct bpf_link *ret)
{
	struct attach_plan plan = {0};
	int err = by->plan(state, pid <= 0, &plan), fd = -1;
	if (!err && plan.sites) {
		fd = l->attach(l->ctx, by->program, file, pid, plan.site, plan.sites);
		err = fd < 0 ? fd : 0;
	}
	free(plan.site);
	if (fd < 0 && plan.key && by->unplan)
		by->unplan(env, plan.key);
	if (err || fd < 0)
		return err;
	*ret = (struct bpf_link){.by = by, .fd = fd, .sites = plan.sites, .key = plan.key};
	l->sites += plan.sites;
	return (int)plan.sites;
}

void bpf_links_close(struct bpf_links *l, struct attach_env *env, struct bpf_link *link)
{
	if (link->fd < 0)
		return;
	if (link->by->unplan)
		link->by->unplan(env, link->key);
	close(link->fd);
	l->sites -= link->sites;
	link->fd = -1;
	link->sites = 0;
}

static struct bpf_shared *find(const struct bpf_links *l, uint64_t dev, uint64_t inode)
{
	struct bpf_shared *sh = ptrmap_get(&l->by_file, hash_file(dev, inode));
	return sh && sh->inode == inode && sh->dev == dev ? sh : NULL;
}

/* Closes the oldest that nobody uses. False: all are in use. */
static bool make_room(struct bpf_links *l, struct attach_env *env)
{
	uint32_t i = 0;
	while (i < l->shareds && l->shared[i]->users)
		i++;
	if (i == l->shareds)
		return false;
	struct bpf_shared *sh = l->shared[i];
	bpf_links_close(l, env, &sh->link);
	ptrmap_take(&l->by_file, hash_file(sh->dev, sh->inode));
	free(sh);
	for (l->shareds--; i < l->shareds; i++)
		l->shared[i] = l->shared[i + 1];
	return true;
}

static struct bpf_shared *add(struct bpf_links *l, struct attach_env *env, uint64_t dev,
			      uint64_t inode)
{
	if (!l->shared)
		l->shared = calloc(MAX_SHARED, sizeof(*l->shared));
	if (!l->shared || (l->shareds == MAX_SHARED && !make_room(l, env)))
		return NULL;
	bool is_new;
	struct bpf_shared *sh = ptrmap_make(&l->by_file, hash_file(dev, inode), &is_new);
	if (!sh || !is_new) /* another file has the same key */
		return NULL;
	sh->dev = dev;
	sh->inode = inode;
	sh->link.fd = -1;
	l->shared[l->shareds++] = sh;
	return sh;
}

struct bpf_shared *bpf_links_share(struct bpf_links *l, struct attach_env *env, uint64_t dev,
				   uint64_t inode)
{
	struct bpf_shared *sh = find(l, dev, inode);
	if (!sh) {
		sh = add(l, env, dev, inode);
		/* Asked once: the answer may cost a look at all processes. */
		if (sh && env->is_ours && !env->is_ours(env->ctx, dev, inode))
			sh->gone_ns = now_ns();
	}
	if (!sh || sh->gone_ns)
		return NULL;
	sh->users++;
	return sh;
}

void bpf_links_leave(struct bpf_shared *sh)
{
	sh->users--;
}

void bpf_links_unshare(struct bpf_links *l, struct attach_env *env, struct bpf_shared *sh,
		       uint64_t now_ns)
{
	if (sh->link.fd < 0)
		return;
	bpf_links_close(l, env, &sh->link);
	sh->gone_ns = now_ns;
}

bool bpf_links_cover(const struct bpf_links *l, uint64_t dev, uint64_t inode, uint64_t born_ns)
{
	const struct bpf_shared *sh = find(l, dev, inode);
	return sh && sh->link.fd >= 0 && sh->since_ns <= born_ns;
}

void bpf_links_check_foreign(struct bpf_links *l, struct attach_env *env, uint64_t now_ns)
{
	for (uint32_t i = 0; i < l->shareds; i++) {
		struct bpf_shared *sh = l->shared[i];
		uint64_t passed = now_ns - sh->checked_ns;
		if (sh->link.fd < 0 || passed < CHECK_FOREIGN_NS || !l->foreign)
			continue;
		uint64_t n = l->foreign(l->ctx, sh->link.key);
		bool many = sh->checked_ns &&
			    (n - sh->foreign) > MAX_FOREIGN_PER_S * (passed / CHECK_FOREIGN_NS);
		sh->foreign = n;
		sh->checked_ns = now_ns;
		if (!many)
			continue;
		log_at(LOG_NORMAL, "other processes run a probed file, too, and often: from now on "
				   "each process is probed by itself");
		bpf_links_unshare(l, env, sh, now_ns);
	}
}

void bpf_links_close_shared(struct bpf_links *l, struct attach_env *env)
{
	for (uint32_t i = 0; i < l->shareds; i++) {
		bpf_links_close(l, env, &l->shared[i]->link);
		free(l->shared[i]);
	}
	free(l->shared);
	ptrmap_done(&l->by_file);
	l->shared = NULL;
	l->shareds = 0;
}
