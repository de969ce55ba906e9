// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_ocaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	int link; /* < 0: left alone */
	int told; /* of an attempt that failed */
	bool on;  /* its own ring is, so far as we know */
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
	err = t->set_runtime(t->ctx, o->index, &r);
	if (err)
		return err;
	t->runtime[o->index] =
		(struct bpf_runtime){.slot = o->slot, .release = o->runtime.release, .used = true};
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

static int attach(struct bpf_targets *t, struct bpf_ocaml *o)
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
	o->link = t->attach(t->ctx, BPF_PROBE_OCAML, o->fd, pid, site, o->runtime.sites);
	if (o->link < 0)
		return o->link;
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

int bpf_ocaml_update(struct bpf_targets *t, struct bpf_ocaml *o, uint64_t now_ns)
{
	pid_t pid = bpf_targets_pid(t, o->slot);
	bool on = !t->no_ring && ocaml_ring_is_on(pid, &o->place) > 0;
	o->on = on;
	if (on && o->link >= 0) {
		log_at(LOG_VERBOSE, "process %d records events itself now: no probes any more",
		       pid);
		detach(t, o);
	}
	if (on || o->link >= 0 || o->told || now_ns < o->after_ns)
		return 0;
	int n = attach(t, o);
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
	remove_runtime(t, o);
	if (o->link >= 0)
		detach(t, o);
	close(o->fd);
	free(o);
}
