// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/links.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define MAX_IDLE	    256 /* open links without users */
#define MAX_FOREIGN_PER_S   10000
#define MAX_EXCLUSIVE_PER_S 100 /* where they are not known to be others */
#define CHECK_FOREIGN_NS    1000000000ull
#define CHECK_EXCLUSIVE_NS  100000000ull

/* Between the decision when a shared link ends to count and that time, for all CPUs to know of it;
 * from then until it is closed, for hits on their way; and until its probes are removed. */
#define NOTICE_NS 20000000ull
#define LINGER_NS 50000000ull
#define REMOVE_NS 2000000000ull

void bpf_links_drop(struct attach_env *env, const struct attacher *by, struct attach_plan *plan)
{
	free(plan->site);
	if (plan->key && by->unplan)
		by->unplan(env, plan->key);
	*plan = (struct attach_plan){0};
}

/* The upper bits of the cookies of a link. */
static uint64_t bits_of(const struct link_of *of, uint32_t key)
{
	if (of->pid > 0)
		return (uint64_t)of->heir << EBT_KEY_SHIFT;
	return key && key < EBT_SHARED_KEYS ? EBT_SHARED_COOKIE | (uint64_t)key << EBT_KEY_SHIFT
					    : 0;
}

int bpf_links_plan(struct attach_env *env, const struct attacher *by, void *state,
		   const struct link_of *of, struct attach_plan *ret)
{
	struct attach_plan plan = {0};
	int err = by->plan(state, of->pid <= 0, &plan);
	for (uint32_t i = 0; !err && i < plan.sites; i++)
		plan.site[i].cookie |= bits_of(of, plan.key);
	if (err)
		bpf_links_drop(env, by, &plan);
	else
		*ret = plan;
	return err;
}

int bpf_links_attach(struct bpf_links *l, struct attach_env *env, const struct attacher *by,
		     struct attach_plan *plan, const struct link_of *of, struct bpf_link *ret)
{
	struct link_spec spec = {.file = of->file,
				 .probe = by->program,
				 .pid = of->pid,
				 .site = plan->site,
				 .sites = plan->sites,
				 .beside = of->beside};
	int fd = plan->sites ? l->attach(l->ctx, &spec) : 0;
	if (fd < 0 || !plan->sites) {
		bpf_links_drop(env, by, plan);
		return fd;
	}
	*ret = (struct bpf_link){.by = by, .fd = fd, .sites = plan->sites, .key = plan->key};
	l->sites += plan->sites;
	free(plan->site);
	*plan = (struct attach_plan){0};
	return (int)ret->sites;
}

int bpf_links_open(struct bpf_links *l, struct attach_env *env, const struct attacher *by,
		   void *state, const struct link_of *of, struct bpf_link *ret)
{
	struct attach_plan plan;
	int err = bpf_links_plan(env, by, state, of, &plan);
	return err ? err : bpf_links_attach(l, env, by, &plan, of, ret);
}

void bpf_links_close(struct bpf_links *l, struct attach_env *env, struct bpf_link *link)
{
	if (link->fd < 0)
		return;
	if (link->by->unplan)
		link->by->unplan(env, link->key);
	close(link->fd);
	l->closes++;
	l->sites -= link->sites;
	link->fd = -1;
	link->sites = 0;
}

bool bpf_links_check(struct bpf_links *l, struct attach_env *env, struct bpf_link *link)
{
	if (link->fd < 0 || !l->holds || l->holds(link->fd))
		return true;
	bpf_links_close(l, env, link);
	return false;
}

static uint64_t key_of(const struct attacher *by, uint64_t dev, uint64_t inode)
{
	return hash_u64(hash_file(dev, inode), (uintptr_t)by);
}

static struct bpf_shared *find(const struct bpf_links *l, const struct attacher *by, uint64_t dev,
			       uint64_t inode)
{
	struct bpf_shared *sh = ptrmap_get(&l->shared, key_of(by, dev, inode));
	return sh && sh->inode == inode && sh->dev == dev && sh->by == by ? sh : NULL;
}

static void remove_idle(struct bpf_links *l, struct bpf_shared *sh)
{
	*(sh->prev_idle ? &sh->prev_idle->next_idle : &l->first_idle) = sh->next_idle;
	*(sh->next_idle ? &sh->next_idle->prev_idle : &l->last_idle) = sh->prev_idle;
	l->idles--;
}

static bool is_going(const struct bpf_links *l, const struct bpf_shared *sh)
{
	return l->going[sh->link.key % EBT_HANDOVERS] == sh;
}

static void put_idle(struct bpf_links *l, struct attach_env *env, struct bpf_shared *sh)
{
	if (l->idles == MAX_IDLE) {
		struct bpf_shared *first = l->first_idle;
		while (is_going(l, first))
			first = first->next_idle;
		remove_idle(l, first);
		bpf_links_close(l, env, &first->link);
		free(ptrmap_remove(&l->shared, key_of(first->by, first->dev, first->inode)));
	}
	sh->prev_idle = l->last_idle;
	sh->next_idle = NULL;
	*(l->last_idle ? &l->last_idle->next_idle : &l->first_idle) = sh;
	l->last_idle = sh;
	l->idles++;
}

static struct bpf_shared *add(struct bpf_links *l, struct attach_env *env,
			      const struct attacher *by, uint64_t dev, uint64_t inode)
{
	bool is_new;
	struct bpf_shared *sh = ptrmap_make(&l->shared, key_of(by, dev, inode), &is_new);
	if (!sh || !is_new) /* another file has the same key */
		return NULL;
	sh->by = by;
	sh->dev = dev;
	sh->inode = inode;
	sh->link.fd = -1;
	put_idle(l, env, sh);
	return sh;
}

struct bpf_shared *bpf_links_share(struct bpf_links *l, struct attach_env *env,
				   const struct attacher *by, uint64_t dev, uint64_t inode)
{
	struct bpf_shared *sh = find(l, by, dev, inode);
	if (!sh) {
		bool asks = env->is_ours && (by->exclusive || !env->shares_unasked);
		sh = add(l, env, by, dev, inode);
		/* Asked once: the answer may need a scan of all processes. */
		if (sh && asks && !env->is_ours(env->ctx, dev, inode))
			sh->gone_ns = now_ns();
	}
	if (!sh || sh->until_ns || sh->gone_ns)
		return NULL;
	if (!sh->users++)
		remove_idle(l, sh);
	return sh;
}

bool bpf_links_knows(const struct bpf_links *l, const struct attacher *by, uint64_t dev,
		     uint64_t inode)
{
	return find(l, by, dev, inode) != NULL;
}

void bpf_links_leave(struct bpf_links *l, struct attach_env *env, struct bpf_shared *sh)
{
	if (!--sh->users)
		put_idle(l, env, sh);
}

static void close_for_good(struct bpf_links *l, struct attach_env *env, struct bpf_shared *sh,
			   uint64_t now_ns)
{
	bpf_links_close(l, env, &sh->link);
	sh->gone_ns = now_ns;
}

static bool set_handover(struct attach_env *env, const struct bpf_shared *sh, uint64_t from_ns)
{
	uint64_t handover = EBT_HANDOVER(sh->link.key, from_ns);
	return env->set &&
	       !env->set(env->ctx, BPF_TABLE_HANDOVER, sh->link.key % EBT_HANDOVERS, &handover);
}

bool bpf_links_unshare(struct bpf_links *l, struct attach_env *env, struct bpf_shared *sh,
		       uint32_t heirs, uint64_t now_ns)
{
	bool has_key = sh->link.key && sh->link.key < EBT_SHARED_KEYS;
	struct bpf_shared **place = &l->going[sh->link.key % EBT_HANDOVERS];
	if (sh->link.fd < 0 || sh->goes)
		return true;
	if (heirs && *place)
		return false;
	if (!heirs || !has_key || !set_handover(env, sh, 0)) {
		close_for_good(l, env, sh, now_ns);
		return true;
	}
	*place = sh;
	l->closes++; /* it covers no new process */
	sh->goes = true;
	return true;
}

/* True when nothing is left of it. */
static bool hand_over(struct bpf_links *l, struct attach_env *env, struct bpf_shared *sh,
		      uint64_t now_ns)
{
	bool is_cut = !sh->gone_ns && !bpf_links_check(l, env, &sh->link);
	bool is_over = sh->until_ns && now_ns >= sh->until_ns + LINGER_NS;
	/* It may have begun to go within a round. */
	if (!sh->until_ns && ++sh->rounds > 1 && set_handover(env, sh, now_ns + NOTICE_NS))
		sh->until_ns = now_ns + NOTICE_NS;
	if (!sh->gone_ns && (is_cut || is_over) && set_handover(env, sh, EBT_HANDOVER_ALL_NS))
		close_for_good(l, env, sh, now_ns);
	return sh->gone_ns && now_ns >= sh->gone_ns + REMOVE_NS;
}

void bpf_links_hand_over(struct bpf_links *l, struct attach_env *env, uint64_t now_ns)
{
	for (unsigned i = 0; i < EBT_HANDOVERS; i++)
		if (l->going[i] && hand_over(l, env, l->going[i], now_ns))
			l->going[i] = NULL;
}

uint32_t bpf_links_heir(const struct bpf_links *l, const struct attacher *by, uint64_t dev,
			uint64_t inode)
{
	const struct bpf_shared *sh = find(l, by, dev, inode);
	return sh && is_going(l, sh) ? sh->link.key : 0;
}

static bool covers(const struct bpf_shared *sh, uint64_t born_ns)
{
	return sh && sh->link.fd >= 0 && !sh->goes && sh->since_ns <= born_ns;
}

bool bpf_links_cover(const struct bpf_links *l, const struct attacher *by, uint64_t dev,
		     uint64_t inode, uint64_t born_ns)
{
	bool any = false;
	if (by)
		return covers(find(l, by, dev, inode), born_ns);
	for (unsigned i = 0; i < ATTACHERS; i++) {
		const struct bpf_shared *sh = find(l, attachers[i], dev, inode);
		if (sh && !covers(sh, born_ns))
			return false;
		any |= sh != NULL;
	}
	return any;
}

/* Untraced processes have hit a link `hits` times in this time. */
static bool is_too_foreign(const struct attach_env *env, const struct bpf_shared *sh, uint64_t hits,
			   double seconds)
{
	double most = sh->by->exclusive ? MAX_EXCLUSIVE_PER_S : MAX_FOREIGN_PER_S;
	if ((double)hits > most * seconds)
		return true;
	/* A child that was born while no slot was free is found later. */
	return hits && sh->by->exclusive && env->is_ours &&
	       !env->is_ours(env->ctx, sh->dev, sh->inode);
}

void bpf_links_check_foreign(struct bpf_links *l, struct attach_env *env, uint64_t now_ns)
{
	size_t at = 0;
	for (struct bpf_shared *sh; (sh = ptrmap_next(&l->shared, &at));) {
		uint64_t passed = now_ns - sh->checked_ns;
		uint64_t period = sh->by->exclusive ? CHECK_EXCLUSIVE_NS : CHECK_FOREIGN_NS;
		if (!sh->users && !bpf_links_check(l, env, &sh->link))
			sh->cuts++;
		if (sh->link.fd < 0 || sh->goes || passed < period || !l->foreign)
			continue;
		uint64_t n = l->foreign(l->ctx, sh->link.key);
		bool many = (sh->checked_ns || sh->by->exclusive) &&
			    is_too_foreign(env, sh, n - sh->foreign, (double)passed / 1e9);
		sh->foreign = n;
		sh->checked_ns = now_ns;
		if (!many || !bpf_links_unshare(l, env, sh, sh->users, now_ns))
			continue;
		messages_at(env->messages, LOG_NORMAL,
			    "other processes run a probed file, too%s: from now on each process is "
			    "probed by itself",
			    sh->by->exclusive ? "" : ", and often");
		sh->rounds = 1; /* the one that begins */
	}
}

void bpf_links_close_shared(struct bpf_links *l, struct attach_env *env)
{
	size_t at = 0;
	for (struct bpf_shared *sh; (sh = ptrmap_next(&l->shared, &at));)
		bpf_links_close(l, env, &sh->link);
	ptrmap_free(&l->shared);
	memset(l->going, 0, sizeof(l->going));
	l->first_idle = l->last_idle = NULL;
	l->idles = 0;
}
