/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/pages_apply.h"

#include <errno.h>

/* Of what has a variant for each kind of event. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

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

static __attribute__((noinline)) void count_again(struct change *c)
{
	if (!c->again)
		return;
	uint64_t ns = elapsed(c->again_since, c->ns);
	int err = histogram_count(&c->m->churn.again_ns, ns, c->again);
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

/*
 * Pages of one part, counted by their state before: 16 bits a state, enough for the 512 pages that a
 * huge page has at most. One addition a page, no branch.
 */
#define PART_BITS 16
_Static_assert(PAGES_CHUNK_HUGE == 2, "change_pages() compares, for a division");
_Static_assert(1u << (PAGES_HUGE_SHIFT - 12) < 1u << PART_BITS, "a part's pages in 16 bits");

static inline uint64_t one_of(uint8_t state)
{
	return 1ull << state * PART_BITS;
}

static inline uint64_t part_pages(uint64_t part, enum pages_state state)
{
	return part >> state * PART_BITS & ((1u << PART_BITS) - 1);
}

/* Locals, because a store to a page might change what a pointer leads to. */
static ALWAYS_INLINE uint64_t alloc_part(struct change *c, struct pages_page *page, uint32_t n)
{
	uint64_t was = 0, ns = c->ns;
	uint16_t slot = (uint16_t)c->slot;
	for (struct pages_page *p = page; p < page + n; p++) {
		struct pages_page old = *p;
		was += one_of(old.state);
		if (__builtin_expect(old.state == PAGES_SCAVENGED, 0)) {
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

static ALWAYS_INLINE uint64_t free_part(struct change *c, struct pages_page *page, uint32_t n)
{
	uint64_t was = 0, ns = c->ns, freed = c->freed;
	uint32_t runs = 0;
	for (struct pages_page *p = page; p < page + n; p++) {
		struct pages_page old = *p;
		uint8_t flags = old.flags & PAGES_FREED_UNSEEN;
		was += one_of(old.state);
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

static ALWAYS_INLINE uint64_t scavenge_part(const struct change *c, struct pages_page *page,
					    uint32_t n)
{
	uint64_t was = 0, ns = c->ns;
	for (struct pages_page *p = page; p < page + n; p++) {
		uint8_t state = p->state;
		was += one_of(state);
		/* Memory that is returned again was returned before. */
		if (state != PAGES_SCAVENGED)
			p->since_ns = ns;
		p->state = PAGES_SCAVENGED;
		p->flags &= PAGES_FREED_UNSEEN;
	}
	return was;
}

/* Of an address space, whose pages are resident until they are returned. */
static uint64_t return_part(struct change *c, struct pages_page *page, uint32_t n)
{
	uint64_t was = free_part(c, page, n);
	scavenge_part(c, page, n);
	return was;
}

/* Pages of one huge page. */
static ALWAYS_INLINE uint64_t change_part(struct change *c, struct pages_page *page, uint32_t n,
					  enum pages_state to)
{
	if (to == PAGES_ALLOCATED)
		return alloc_part(c, page, n);
	if (to == PAGES_FREE)
		return free_part(c, page, n);
	return c->m->opt.is_space ? return_part(c, page, n) : scavenge_part(c, page, n);
}

/* Pages of a part that leave a state. */
static inline void take_part(uint64_t was[PAGES_STATES], uint32_t huge[PAGES_STATES], uint64_t part,
			     enum pages_state state)
{
	was[state] += part_pages(part, state);
	huge[state] -= (uint32_t)part_pages(part, state);
}

/* Changes all pages of the event, whose chunks exist, to a state, which the compiler knows. */
static ALWAYS_INLINE void change_pages(struct change *c, enum pages_state to)
{
	struct pages_heap *h = &c->m->heap;
	uint64_t addr = c->ev->addr, left = c->ev->pages, was[PAGES_STATES] = {0};
	struct pages_page *last = NULL;
	while (left) {
		struct pages_chunk *chunk = pages_heap_chunk(h, addr);
		uint32_t i = (uint32_t)(addr >> h->page_shift) & (h->chunk_pages - 1);
		uint32_t room = h->huge_pages - (i & (h->huge_pages - 1));
		uint32_t n = left < room ? (uint32_t)left : room;
		struct pages_page *page = &chunk->page[i];
		uint32_t *huge = chunk->huge[i >= h->huge_pages];
		if (!last) {
			c->first_flags = page->flags;
			c->first_since = page->since_ns;
			c->owner = page->owner;
		}
		c->last_flags = page[n - 1].flags;
		chunk->changes++;
		uint64_t part = change_part(c, page, n, to);
		take_part(was, huge, part, PAGES_UNSEEN);
		take_part(was, huge, part, PAGES_ALLOCATED);
		take_part(was, huge, part, PAGES_FREE);
		take_part(was, huge, part, PAGES_SCAVENGED);
		huge[to] += n;
		if (to == PAGES_ALLOCATED && !last)
			page->flags |= PAGES_RUN_FIRST;
		last = page + n - 1;
		addr += (uint64_t)n << h->page_shift;
		left -= n;
	}
	if (to == PAGES_ALLOCATED)
		last->flags |= PAGES_RUN_LAST;
	for (unsigned s = 0; s < PAGES_STATES; s++) {
		h->count[s] -= was[s];
		c->was[s] = was[s];
	}
	h->count[to] += c->ev->pages;
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
		c->err = pages_lifetimes_add(l, c->ev->pages, elapsed(c->first_since, c->ns));
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
	struct change c; /* cleared field by field: that costs less than all of it at once */
	c.m = m;
	c.ev = ev;
	c.ns = ev->time_ns;
	c.runs = c.again = c.again_since = c.freed = 0;
	c.err = 0;
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
	if (ev->what == EBT_PAGETRACE_ALLOC) {
		change_pages(&c, PAGES_ALLOCATED);
		after_alloc(&c, c.was[PAGES_ALLOCATED]);
	} else if (ev->what == EBT_PAGETRACE_FREE) {
		change_pages(&c, PAGES_FREE);
		after_free(&c);
	} else {
		change_pages(&c, PAGES_SCAVENGED);
		after_scavenge(&c);
	}
	return c.err;
}
