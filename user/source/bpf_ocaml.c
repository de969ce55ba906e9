// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_ocaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bpf/abi.h"
#include "codec/ring_ids.h"
#include "proc/ocaml.h"
#include "proc/process.h"
#include "source/bpf_targets.h"

struct bpf_ocaml {
	int fd;
	uint32_t slot, index;
	uint64_t after_ns; /* not to be probed before */
	struct ocaml_runtime runtime;
	struct ocaml_place place;
	int link;	      /* < 0: left alone */
	int told;	      /* of an attempt that failed */
	bool on;	      /* its own ring is, so far as we know */
	uint32_t shared;      /* 1 + its place among the shared; 0: it has a link of its own */
	bool watched;	      /* by the shared link */
	uint64_t unshared_ns; /* it was probed by a shared link until then; 0: not */
};

/* Others that run a file which is probed in all processes pay for it, too: so often at most. */
#define MAX_SHARED	  256
#define MAX_FOREIGN_PER_S 10000
#define CHECK_FOREIGN_NS  1000000000ull

/* A file that is probed in all processes, for the traced ones that run it and will run it. */
struct bpf_shared {
	uint64_t dev, inode, since_ns, gone_ns;
	uint32_t index, sites;
	int link; /* < 0: not yet, or no more */
	uint64_t foreign, checked_ns;
};

static uint32_t runtimes_of(const struct bpf_targets *t, uint32_t slot)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->runtimes; i++)
		n += t->runtime[i].used && t->runtime[i].slot == slot;
	return n;
}

/* In turn, so that a place whose link may still be there is the last one to be taken again. */
static int find_place(struct bpf_targets *t, uint32_t *ret)
{
	uint32_t at = t->next_runtime, tries = 0;
	for (; at < t->runtimes && t->runtime[at].used; at = (at + 1) % EBT_OCAML_MAX)
		if (++tries == EBT_OCAML_MAX)
			return -E2BIG;
	if (at == t->runtimes) {
		struct bpf_runtime *p = realloc(t->runtime, (at + 1ull) * sizeof(*p));
		if (!p)
			return -ENOMEM;
		t->runtime = p;
		p[t->runtimes++] = (struct bpf_runtime){0};
	}
	t->next_runtime = (at + 1) % EBT_OCAML_MAX;
	*ret = at;
	return 0;
}

/* The kernel's entry is written before the first site is attached. */
static int add_runtime(struct bpf_targets *t, struct bpf_ocaml *o)
{
	int err = find_place(t, &o->index);
	if (err)
		return err;
	struct ebt_ocaml_runtime r = {
		.flag = t->no_ring ? 0 : o->place.flag,
		.tls_offset = o->place.offset,
		.tls_module = o->place.module,
		.tls = o->place.tls == OCAML_TLS_STATIC	  ? EBT_OCAML_TLS_STATIC
		       : o->place.tls == OCAML_TLS_MODULE ? EBT_OCAML_TLS_MODULE
							  : EBT_OCAML_TLS_NONE,
		.id_offset = o->runtime.id_offset,
		.slot = o->slot,
		.domain_base = (uint16_t)(BPF_OCAML_DOMAINS * runtimes_of(t, o->slot)),
		.user_event = o->runtime.release >= EBT_RELEASE_OCAML_5_2,
		.serial = ++t->last_serial,
	};
	if (o->shared) {
		r.shared = 1;
		r.flag = t->no_ring ? 0 : o->runtime.flag;
		r.domain_base = 0;
		for (unsigned i = 0; i < o->runtime.sites; i++)
			r.site[o->runtime.site[i].function] = o->runtime.site[i].address;
	}
	err = t->set_runtime(t->ctx, o->index, &r);
	if (err)
		return err;
	t->runtime[o->index] = (struct bpf_runtime){.slot = o->shared ? UINT32_MAX : o->slot,
						    .release = o->runtime.release,
						    .used = true};
	return 0;
}

/* What has been recorded and not yet taken still finds whose it is. */
static void remove_runtime(struct bpf_targets *t, const struct bpf_ocaml *o)
{
	struct ebt_ocaml_runtime r = {.slot = o->slot, .dead = true};
	t->set_runtime(t->ctx, o->index, &r);
	t->runtime[o->index].used = false;
}

/* A program that was started with its ring on gets time to make it; no other has to wait. */
static uint64_t probe_after(const struct bpf_targets *t, uint32_t slot)
{
	char one[2];
	if (!t->ocaml_after_ns ||
	    process_getenv(bpf_targets_pid(t, slot), "OCAML_RUNTIME_EVENTS_START", one,
			   sizeof(one)) < 0)
		return 0;
	return bpf_targets_since(t, slot) + t->ocaml_after_ns;
}

/* Leaves o->shared 0 where the file cannot be probed in all processes at once. */
static int share(struct bpf_targets *t, struct bpf_ocaml *o)
{
	struct stat st;
	bool may = t->share && o->runtime.is_program &&
		   (o->runtime.tls == OCAML_TLS_STATIC || o->runtime.tls == OCAML_TLS_NONE);
	if (!may || fstat(o->fd, &st))
		return 0;
	uint32_t i = 0;
	while (i < t->shareds && (t->shared[i].inode != st.st_ino || t->shared[i].dev != st.st_dev))
		i++;
	if (i == t->shareds) {
		if (i == MAX_SHARED)
			return 0;
		struct bpf_shared *p = realloc(t->shared, (i + 1ull) * sizeof(*p));
		if (!p)
			return -ENOMEM;
		t->shared = p;
		p[i] = (struct bpf_shared){.dev = st.st_dev, .inode = st.st_ino, .link = -1};
		o->shared = 1;
		int err = add_runtime(t, o);
		o->shared = 0;
		if (err)
			return err;
		p[i].index = o->index;
		t->shareds++;
	}
	if (t->shared[i].gone_ns)
		return 0;
	o->index = t->shared[i].index;
	o->shared = i + 1;
	return 0;
}

int bpf_ocaml_new(struct bpf_targets *t, uint32_t slot, const struct maps_entry *e, int fd,
		  const struct ocaml_runtime *runtime, struct bpf_ocaml **ret)
{
	struct bpf_ocaml *o = calloc(1, sizeof(*o));
	*ret = NULL;
	int err = o ? 0 : -ENOMEM;
	if (!err) {
		o->runtime = *runtime;
		o->fd = fd;
		o->link = -1;
		o->slot = slot;
		o->after_ns = probe_after(t, slot);
		if (t->release)
			o->runtime.release = t->release;
		ocaml_place(fd, &o->runtime, bpf_targets_pid(t, slot), e, &o->place);
		err = share(t, o);
		if (!err && !o->shared)
			err = add_runtime(t, o);
	}
	if (err) {
		close(fd);
		free(o);
		return err;
	}
	log_at(LOG_VERBOSE, "pid %d: %s holds %s", bpf_targets_pid(t, slot), e->path,
	       ring_release_name(o->runtime.release));
	*ret = o;
	return 0;
}

static int attach(struct bpf_targets *t, struct bpf_ocaml *o, int *ret_link)
{
	struct uprobe_site site[OCAML_FUNCTIONS] = {0};
	unsigned dear = 0;
	for (unsigned i = 0; i < o->runtime.sites; i++) {
		const struct ocaml_site *from = &o->runtime.site[i];
		site[i].offset = from->offset;
		site[i].cookie = EBT_OCAML_COOKIE(
			o->index, from->function,
			from->flag_in_ax && !t->no_ring ? EBT_OCAML_FLAG_IN_AX : 0);
		dear += !from->emulated;
	}
	pid_t pid = bpf_targets_pid(t, o->slot);
	int link = t->attach(t->ctx, BPF_PROBE_OCAML, o->fd, o->shared ? 0 : pid, site,
			     o->runtime.sites);
	if (link < 0)
		return link;
	*ret_link = link;
	if (dear)
		log_at(LOG_NORMAL,
		       "process %d: %u of its functions can only be probed at a dear instruction, "
		       "for 9 us a call",
		       pid, dear);
	if (o->place.tls == OCAML_TLS_NONE)
		log_at(LOG_NORMAL, "process %d: its domains cannot be told: threads are shown",
		       pid);
	return (int)o->runtime.sites;
}

static void detach(struct bpf_targets *t, struct bpf_ocaml *o)
{
	close(o->link);
	o->link = -1;
	t->sites -= o->runtime.sites;
}

static void unshare(struct bpf_targets *t, struct bpf_shared *sh, uint64_t now_ns)
{
	struct ebt_ocaml_runtime dead = {.dead = true};
	if (sh->link < 0)
		return;
	t->set_runtime(t->ctx, sh->index, &dead);
	close(sh->link);
	sh->link = -1;
	sh->gone_ns = now_ns;
	t->sites -= sh->sites;
}

/* The first process that is to be probed brings the link, which the others find in place. */
static int update_shared(struct bpf_targets *t, struct bpf_ocaml *o, uint64_t now_ns)
{
	struct bpf_shared *sh = &t->shared[o->shared - 1];
	if (o->on) {
		/* It would pay for each event: probes and ring. */
		unshare(t, sh, now_ns);
		return 0;
	}
	if (o->watched || o->told || now_ns < o->after_ns)
		return 0;
	if (sh->link < 0) {
		int n = attach(t, o, &sh->link);
		o->told = n < 0 ? n : 0;
		if (n < 0)
			return n;
		sh->since_ns = clock_ns(CLOCK_MONOTONIC);
		sh->sites = (uint32_t)n;
		t->sites += sh->sites;
	}
	o->watched = true;
	return (int)sh->sites;
}

uint64_t bpf_ocaml_missed(const struct bpf_targets *t, const struct bpf_ocaml *o,
			  uint64_t unwatched_ns)
{
	if (o->unshared_ns)
		return o->unshared_ns;
	bool before = o->shared && t->shared[o->shared - 1].since_ns <= unwatched_ns;
	return before ? 0 : unwatched_ns;
}

bool bpf_ocaml_covers(const struct bpf_targets *t, uint64_t dev, uint64_t inode, uint64_t born_ns)
{
	for (uint32_t i = 0; i < t->shareds; i++)
		if (t->shared[i].inode == inode && t->shared[i].dev == dev)
			return t->shared[i].link >= 0 && t->shared[i].since_ns <= born_ns;
	return false;
}

void bpf_ocaml_check_foreign(struct bpf_targets *t, uint64_t now_ns)
{
	for (uint32_t i = 0; i < t->shareds; i++) {
		struct bpf_shared *sh = &t->shared[i];
		uint64_t passed = now_ns - sh->checked_ns;
		if (sh->link < 0 || passed < CHECK_FOREIGN_NS || !t->foreign)
			continue;
		uint64_t n = t->foreign(t->ctx, sh->index);
		bool many = sh->checked_ns &&
			    (n - sh->foreign) > MAX_FOREIGN_PER_S * (passed / CHECK_FOREIGN_NS);
		sh->foreign = n;
		sh->checked_ns = now_ns;
		if (!many)
			continue;
		log_at(LOG_NORMAL, "other processes run a probed file, too, and often: from now on "
				   "each process is probed by itself");
		unshare(t, sh, now_ns);
	}
}

void bpf_ocaml_unshare_all(struct bpf_targets *t)
{
	for (uint32_t i = 0; i < t->shareds; i++)
		unshare(t, &t->shared[i], 1);
	free(t->shared);
	t->shared = NULL;
	t->shareds = 0;
}

int bpf_ocaml_update(struct bpf_targets *t, struct bpf_ocaml *o, uint64_t now_ns)
{
	pid_t pid = bpf_targets_pid(t, o->slot);
	bool on = !t->no_ring && ocaml_ring_is_on(pid, &o->place) > 0;
	o->on = on;
	if (o->shared && !t->shared[o->shared - 1].gone_ns)
		return update_shared(t, o, now_ns);
	if (o->shared) {
		o->unshared_ns = o->watched ? t->shared[o->shared - 1].gone_ns : 0;
		o->shared = 0;
		o->told = add_runtime(t, o);
	}
	if (on && o->link >= 0) {
		log_at(LOG_VERBOSE, "process %d records events itself now: no probes any more",
		       pid);
		detach(t, o);
	}
	if (on || o->link >= 0 || o->told || now_ns < o->after_ns)
		return 0;
	int n = attach(t, o, &o->link);
	o->told = n < 0 ? n : 0;
	t->sites += n > 0 ? (uint32_t)n : 0;
	return n;
}

bool bpf_ocaml_ring_is_on(const struct bpf_ocaml *o)
{
	return o->on;
}

void bpf_ocaml_free(struct bpf_targets *t, struct bpf_ocaml *o)
{
	if (!o)
		return;
	if (!o->shared)
		remove_runtime(t, o);
	if (o->link >= 0)
		detach(t, o);
	close(o->fd);
	free(o);
}
