/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/pages_apply.h"

#include <errno.h>

/* An event that is being applied, part by part: a part lies in one huge page. */
struct change {
	struct pages_model *m;
	const struct ebt_pagetrace_event *ev;
	uint64_t ns;
	uint32_t slot;		    /* of its P */
	uint64_t was[PAGES_STATES]; /* its pages, by the state before */
	uint64_t runs;		    /* first pages of runs among them */
	uint8_t first_flags, last_flags;
	uint64_t first_since;
	/* Successive pages of one kind, counted together: taken again after one scavenge; freed, of
	 * one owner. */
	uint64_t again, again_since;
	uint64_t freed;
	uint16_t owner;
	int err;
};

static inline uint64_t elapsed(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static void count_again(struct change *c)
{
	if (!c->again)
		return;
	uint64_t ns = elapsed(c->again_since, c->ns);
	int err = histogram_add_many(&c->m->churn.again_ns, ns, c->again);
	c->err = c->err ? c->err : err;
	c->m->churn.again[pages_time_class(ns)] += c->again;
	c->again = 0;
}

static void count_freed(struct change *c)
{
	struct pages_owners *o = &c->m->owners;
	o->freed[(uint64_t)c->owner * o->cap + c->slot] += c->freed;
	c->freed = 0;
}

/* Pages of one part, by their state before. Those that no event was about are the rest. */
struct part {
	uint32_t allocated, free, scavenged;
};

/* Locals, because a store to a page might change what a pointer leads to. */
static struct part alloc_part(struct change *c, struct pages_page *page, uint32_t n)
{
	struct part was = {0};
	uint64_t ns = c->ns;
	uint16_t slot = (uint16_t)c->slot;
	for (struct pages_page *p = page; p < page + n; p++) {
		struct pages_page old = *p;
		was.allocated += old.state == PAGES_ALLOCATED;
		was.free += old.state == PAGES_FREE;
		was.scavenged += old.state == PAGES_SCAVENGED;
		if (old.state == PAGES_SCAVENGED) {
			if (old.since_ns != c->again_since)
				count_again(c);
			c->again_since = old.since_ns;
			c->again++;
		}
		*p = (struct pages_page){
			.since_ns = ns,
			.allocations = old.allocations + (old.allocations != UINT32_MAX),
			.owner = slot,
			.state = PAGES_ALLOCATED,
			.flags = old.flags & PAGES_FREED_UNSEEN,
		};
	}
	return was;
}

static struct part free_part(struct change *c, struct pages_page *page, uint32_t n)
{
	struct part was = {0};
	uint64_t ns = c->ns, freed = c->freed;
	uint32_t runs = 0;
	for (struct pages_page *p = page; p < page + n; p++) {
		struct pages_page old = *p;
		uint8_t flags = old.flags & PAGES_FREED_UNSEEN;
		was.allocated += old.state == PAGES_ALLOCATED;
		was.free += old.state == PAGES_FREE;
		was.scavenged += old.state == PAGES_SCAVENGED;
		runs += old.flags & PAGES_RUN_FIRST;
		if (old.state == PAGES_ALLOCATED) {
			if (old.owner != c->owner) {
				c->freed = freed;
				count_freed(c);
				c->owner = old.owner;
				freed = 0;
			}
			freed++;
		} else if (old.state == PAGES_UNSEEN) {
			flags = PAGES_FREED_UNSEEN;
		}
		p->since_ns = ns;
		p->state = PAGES_FREE;
		p->flags = flags;
	}
	c->freed = freed;
	c->runs += runs;
	return was;
}

static struct part scavenge_part(const struct change *c, struct pages_page *page, uint32_t n)
{
	struct part was = {0};
	uint64_t ns = c->ns;
	for (struct pages_page *p = page; p < page + n; p++) {
		uint8_t state = p->state;
		was.allocated += state == PAGES_ALLOCATED;
		was.free += state == PAGES_FREE;
		was.scavenged += state == PAGES_SCAVENGED;
		/* Memory that is returned again was returned before. */
		if (state != PAGES_SCAVENGED)
			p->since_ns = ns;
		p->state = PAGES_SCAVENGED;
		p->flags &= PAGES_FREED_UNSEEN;
	}
	return was;
}

/* Of an address space, whose pages are resident until they are returned. */
static struct part return_part(struct change *c, struct pages_page *page, uint32_t n)
{
	struct part was = free_part(c, page, n);
	scavenge_part(c, page, n);
	return was;
}

static const enum pages_state state_after[] = {
	[EBT_PAGETRACE_ALLOC] = PAGES_ALLOCATED,
	[EBT_PAGETRACE_FREE] = PAGES_FREE,
	[EBT_PAGETRACE_SCAVENGE] = PAGES_SCAVENGED,
};

/* Pages of one huge page. */
static void change_part(struct change *c, uint32_t huge[PAGES_STATES], struct pages_page *page,
			uint32_t n)
{
	struct part was;
	if (c->ev->what == EBT_PAGETRACE_ALLOC)
		was = alloc_part(c, page, n);
	else if (c->ev->what == EBT_PAGETRACE_FREE)
		was = free_part(c, page, n);
	else
		was = c->m->opt.is_space ? return_part(c, page, n) : scavenge_part(c, page, n);
	uint32_t unseen = n - was.allocated - was.free - was.scavenged;
	c->was[PAGES_UNSEEN] += unseen;
	c->was[PAGES_ALLOCATED] += was.allocated;
	c->was[PAGES_FREE] += was.free;
	c->was[PAGES_SCAVENGED] += was.scavenged;
	huge[PAGES_UNSEEN] -= unseen;
	huge[PAGES_ALLOCATED] -= was.allocated;
	huge[PAGES_FREE] -= was.free;
	huge[PAGES_SCAVENGED] -= was.scavenged;
	huge[state_after[c->ev->what]] += n;
}

/* Changes all pages of the event, whose chunks exist. */
static void change_pages(struct change *c)
{
	struct pages_heap *h = &c->m->heap;
	uint64_t addr = c->ev->addr, left = c->ev->pages;
	struct pages_page *last = NULL;
	bool is_alloc = c->ev->what == EBT_PAGETRACE_ALLOC;
	while (left) {
		struct pages_chunk *chunk = pages_heap_chunk(h, addr);
		uint32_t i = (uint32_t)(addr >> h->page_shift) & (h->chunk_pages - 1);
		uint32_t room = h->huge_pages - (i & (h->huge_pages - 1));
		uint32_t n = left < room ? (uint32_t)left : room;
		struct pages_page *page = &chunk->page[i];
		if (!last) {
			c->first_flags = page->flags;
			c->first_since = page->since_ns;
		}
		c->last_flags = page[n - 1].flags;
		chunk->changes++;
		change_part(c, chunk->huge[i / h->huge_pages], page, n);
		if (is_alloc && !last)
			page->flags |= PAGES_RUN_FIRST;
		last = page + n - 1;
		addr += (uint64_t)n << h->page_shift;
		left -= n;
	}
	if (is_alloc)
		last->flags |= PAGES_RUN_LAST;
	for (unsigned s = 0; s < PAGES_STATES; s++)
		h->count[s] -= c->was[s];
	h->count[state_after[c->ev->what]] += c->ev->pages;
}

/* Of the pages of the event, `again` were allocated. */
static void after_alloc(struct change *c, uint64_t again)
{
	struct pages_model *m = c->m;
	struct pages_size_class *size = &m->lifetimes.size[pages_size_class(c->ev->pages)];
	count_again(c);
	size->runs++;
	size->pages += c->ev->pages;
	m->moved.allocated += c->ev->pages - again;
	m->owners.owner[c->slot].allocated += c->ev->pages;
	if (again)
		pages_damage_fault(&m->damage, PAGES_DOUBLE_ALLOC, c->ev, again);
}

/* All pages of the event were allocated, and are not any more. */
static void count_lifetime(struct change *c)
{
	struct pages_lifetimes *l = &c->m->lifetimes;
	bool whole = c->first_flags & PAGES_RUN_FIRST && c->last_flags & PAGES_RUN_LAST;
	if (whole && c->runs == 1)
		c->err = histogram_add(&l->size[pages_size_class(c->ev->pages)].ns,
				       elapsed(c->first_since, c->ns));
	else if (whole)
		l->joined++;
	else
		l->partial++;
}

static void after_free(struct change *c)
{
	struct pages_model *m = c->m;
	uint64_t pages = c->ev->pages, valid = c->was[PAGES_ALLOCATED];
	count_freed(c);
	m->moved.freed += valid;
	m->owners.owner[c->slot].freed += valid;
	if (valid == pages) {
		count_lifetime(c);
		return;
	}
	pages_damage_fault(&m->damage, PAGES_DOUBLE_FREE, c->ev, pages - valid);
	if (c->was[PAGES_UNSEEN] == pages)
		pages_damage_unseen_free(&m->damage, c->ev);
}

static void after_scavenge(struct change *c)
{
	struct pages_model *m = c->m;
	uint64_t returned = c->ev->pages - c->was[PAGES_SCAVENGED];
	m->churn.scavenges++;
	m->moved.returned += returned;
	m->owners.owner[c->slot].scavenged += returned;
	/* Resident pages are what a process returns; a heap has freed them before. */
	if (m->opt.is_space) {
		count_freed(c);
		if (c->was[PAGES_ALLOCATED] == c->ev->pages)
			count_lifetime(c);
	} else if (c->was[PAGES_ALLOCATED]) {
		pages_damage_fault(&m->damage, PAGES_SCAVENGED_ALLOCATED, c->ev,
				   c->was[PAGES_ALLOCATED]);
	}
	if (c->was[PAGES_UNSEEN])
		pages_damage_fault(&m->damage, PAGES_SCAVENGED_UNSEEN, c->ev, c->was[PAGES_UNSEEN]);
}

/* The pages were allocated from the event until `to`, UINT64_MAX: until now. */
static void amend(struct pages_model *m, uint64_t ns, uint64_t to, uint64_t pages)
{
	pages_timeline_amend(m->timeline, ns, to, pages);
	if (m->peak_ns >= ns && m->peak_ns < to)
		m->peak += pages;
}

/* An allocation of P -1 that should have come before all other events. */
static void apply_late_boot(struct change *c)
{
	struct pages_model *m = c->m;
	struct pages_heap *h = &m->heap;
	uint64_t again = 0, made = 0;
	for (uint64_t i = 0; i < c->ev->pages; i++) {
		uint64_t addr = c->ev->addr + (i << h->page_shift), freed_ns;
		struct pages_chunk *chunk = pages_heap_chunk(h, addr);
		uint32_t at = (uint32_t)(addr >> h->page_shift) & (h->chunk_pages - 1);
		struct pages_page *page = &chunk->page[at];
		uint32_t *huge = chunk->huge[at / h->huge_pages];
		chunk->changes++;
		page->allocations += page->allocations != UINT32_MAX;
		if (page->state == PAGES_UNSEEN) {
			uint8_t flags = (uint8_t)((i ? 0 : PAGES_RUN_FIRST) |
						  (i + 1 < c->ev->pages ? 0 : PAGES_RUN_LAST));
			*page = (struct pages_page){c->ns, page->allocations, (uint16_t)c->slot,
						    PAGES_ALLOCATED, flags};
			huge[PAGES_UNSEEN]--;
			huge[PAGES_ALLOCATED]++;
			made++;
		} else if (page->flags & PAGES_FREED_UNSEEN) {
			page->flags &= (uint8_t)~PAGES_FREED_UNSEEN;
			if (pages_damage_explain(&m->damage, addr, h->page_shift, &freed_ns))
				amend(m, c->ns, freed_ns, 1);
		} else {
			again++;
		}
	}
	h->count[PAGES_UNSEEN] -= made;
	h->count[PAGES_ALLOCATED] += made;
	amend(m, c->ns, UINT64_MAX, made);
	after_alloc(c, again);
}

/* 0, -ERANGE or -EFBIG: it cannot be applied, -ENOMEM. */
static int check(struct pages_model *m, const struct ebt_pagetrace_event *ev)
{
	struct pages_heap *h = &m->heap;
	if (ev->what < EBT_PAGETRACE_ALLOC || ev->what > EBT_PAGETRACE_SCAVENGE)
		return -ERANGE;
	if (!ev->pages || ev->addr & ((1ull << h->page_shift) - 1))
		return -ERANGE;
	/* In most cases it lies in one chunk, which exists. */
	uint64_t last = ev->addr + ((ev->pages - 1) << h->page_shift);
	if (ev->pages <= h->chunk_pages && last >> PAGES_ADDRESS_BITS == 0 &&
	    (ev->addr ^ last) >> PAGES_CHUNK_SHIFT == 0 && pages_heap_chunk(h, ev->addr))
		return 0;
	return pages_heap_reserve(h, ev->addr, ev->pages);
}

int pages_apply(struct pages_model *m, const struct ebt_pagetrace_event *ev, bool is_late)
{
	struct change c = {.m = m, .ev = ev, .ns = ev->time_ns};
	int err = check(m, ev);
	if (err == -ERANGE || err == -EFBIG) {
		pages_damage_fault(&m->damage, PAGES_UNTRACKED, ev, ev->pages);
		return 0;
	}
	if (!err)
		err = pages_owners_slot(&m->owners, ev->p, &c.slot);
	if (err)
		return err;
	m->events++;
	m->owners.owner[c.slot].events++;
	if (is_late && ev->p == EBT_PAGETRACE_NO_P && ev->what == EBT_PAGETRACE_ALLOC) {
		apply_late_boot(&c);
		return 0;
	}
	change_pages(&c);
	if (ev->what == EBT_PAGETRACE_ALLOC)
		after_alloc(&c, c.was[PAGES_ALLOCATED]);
	else if (ev->what == EBT_PAGETRACE_FREE)
		after_free(&c);
	else
		after_scavenge(&c);
	return c.err;
}
