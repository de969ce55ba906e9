/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/damage.h"

#include <string.h>

void pages_damage_fault(struct pages_damage *d, enum pages_fault_kind kind,
			const struct ebt_pagetrace_event *ev, uint64_t pages)
{
	d->fault[kind] += kind == PAGES_SCAVENGED_UNSEEN ? pages : 1;
	if (d->firsts < PAGES_FIRST_FAULTS)
		d->first[d->firsts++] = (struct pages_fault){kind, pages, *ev};
}

void pages_damage_add(struct pages_damage *d, const struct ebt_pagetrace_event *ev)
{
	if (d->damages < PAGES_FIRST_FAULTS)
		d->damage[d->damages] = *ev;
	d->damages++;
	d->damaged_bytes += ev->pages;
}

void pages_damage_unseen_free(struct pages_damage *d, const struct ebt_pagetrace_event *ev)
{
	if (d->unseen_frees < PAGES_UNSEEN_FREES)
		d->unseen_free[d->unseen_frees++] =
			(struct pages_unseen_free){ev->time_ns, ev->addr, ev->pages, ev->pages};
}

/* The free was none. */
static void forget_fault(struct pages_damage *d, const struct pages_unseen_free *f)
{
	d->fault[PAGES_DOUBLE_FREE]--;
	for (uint32_t i = 0; i < d->firsts; i++) {
		const struct pages_fault *e = &d->first[i];
		if (e->kind != PAGES_DOUBLE_FREE || e->event.addr != f->addr ||
		    e->event.time_ns != f->ns)
			continue;
		memmove(d->first + i, d->first + i + 1, (--d->firsts - i) * sizeof(*d->first));
		return;
	}
}

bool pages_damage_explain(struct pages_damage *d, uint64_t addr, unsigned page_shift,
			  uint64_t *ret_ns)
{
	for (uint32_t i = 0; i < d->unseen_frees; i++) {
		struct pages_unseen_free *f = &d->unseen_free[i];
		if (addr < f->addr || (addr - f->addr) >> page_shift >= f->pages)
			continue;
		*ret_ns = f->ns;
		if (!--f->left)
			forget_fault(d, f);
		return true;
	}
	return false;
}

uint64_t pages_damage_violations(const struct pages_damage *d)
{
	return d->fault[PAGES_DOUBLE_ALLOC] + d->fault[PAGES_DOUBLE_FREE] +
	       d->fault[PAGES_SCAVENGED_ALLOCATED];
}
