/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/pages/model/model.h"

/* Applies events to the pages that they name, and counts what they do to each. Private to the model
 * of pages. */

/* For functions with a variant for each kind of event. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* The pages of an event are fetched into the cache this number of events before it is applied. */
#define AHEAD 8

/* An event that is being applied. */
struct change {
	struct pages_model *m;
	const struct ebt_pagetrace_event *ev;
	uint64_t ns;
	uint32_t slot;		     /* of its P */
	uint64_t was[PAGES_STATES];  /* its pages, by the state before */
	uint64_t runs;		     /* that begin in it */
	uint8_t first_run, last_run; /* flags of its first, of its last page */
	uint64_t first_since;	     /* of its first page */
	uint8_t mark;		     /* PAGES_FOUND, 0 */
	int err;
};

/* The pages of an event that lie in one group: [begin, end) of the group. */
struct part {
	struct pages_group *group;
	struct pages_piece *piece; /* by page of the group */
	unsigned begin, end;
	uint64_t pages; /* a bit each */
};

static inline uint64_t elapsed(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* Pages that are taken again after one scavenge. 0 or -ENOMEM. */
static __attribute__((noinline)) int count_again(struct pages_churn *c, uint64_t since, uint64_t ns,
						 uint64_t pages)
{
	uint64_t after = elapsed(since, ns);
	c->again[pages_time_class(after)] += pages;
	return histogram_count(&c->again_ns, after, pages);
}

static inline void count_freed(struct pages_owners *o, uint16_t owner, uint32_t by, uint64_t pages)
{
	o->freed[(uint64_t)owner * o->cap + by] += pages;
}

/* Pages of this kind change. */
static ALWAYS_INLINE void count_was(struct change *c, struct pages_kind kind, uint64_t pages)
{
	c->was[kind.state] += pages;
	if (kind.run & PAGES_FOUND)
		c->m->heap.count[pages_found_count(kind.state)] -= pages;
}

/* Applies the event to a piece, which lies in it: the pages [first, end) of the group. Of an
 * address space pages are resident until they are returned: that frees them. */
static ALWAYS_INLINE void change_piece(struct change *c, const struct part *p, unsigned first,
				       unsigned end, enum pages_state to)
{
	struct pages_piece *piece = &p->piece[first];
	enum pages_state state = piece->kind.state;
	bool frees = to == PAGES_FREE || (to == PAGES_SCAVENGED && c->m->opt.is_space);
	count_was(c, piece->kind, end - first);
	if (to == PAGES_ALLOCATED) {
		if (state == PAGES_SCAVENGED)
			c->err |= count_again(&c->m->churn, piece->since_ns, c->ns, end - first);
		return;
	}
	if (frees && state == PAGES_ALLOCATED)
		count_freed(&c->m->owners, piece->kind.owner, c->slot, end - first);
	if (frees && state == PAGES_UNSEEN)
		p->group->freed_unseen |= pages_bits(first, end);
	/* Memory that is returned again was returned before. */
	if (frees || state != PAGES_SCAVENGED)
		piece->since_ns = c->ns;
	c->runs += piece->kind.run & PAGES_RUN_FIRST;
	c->last_run = piece->kind.run;
	piece->kind.state = (uint8_t)to;
	piece->kind.run = c->mark;
}

/* run: what the part has of an allocation's. */
static ALWAYS_INLINE void change_part(struct change *c, const struct part *p, enum pages_state to,
				      uint8_t run)
{
	struct pages_group *g = p->group;
	struct pages_piece *piece = &p->piece[p->begin];
	if (p->end < PAGES_GROUP)
		pages_piece_cut(g, p->piece, p->end);
	pages_piece_cut(g, p->piece, p->begin);
	if (run & PAGES_RUN_FIRST) {
		c->first_run = piece->kind.run;
		c->first_since = piece->since_ns;
	}
	unsigned first = p->begin;
	for (uint64_t more = g->pieces & p->pages & (p->pages << 1); more; more &= more - 1) {
		unsigned next = (unsigned)__builtin_ctzll(more);
		change_piece(c, p, first, next, to);
		first = next;
	}
	change_piece(c, p, first, p->end, to);
	if (to != PAGES_ALLOCATED)
		return;
	/* Pages that are allocated together are one piece. */
	g->pieces = (g->pieces & ~p->pages) | 1ull << p->begin;
	piece->since_ns = c->ns;
	piece->kind = (struct pages_kind){(uint16_t)c->slot, PAGES_ALLOCATED, run | c->mark};
	piece->heat++;
	if (p->end < PAGES_GROUP)
		p->piece[p->end].heat--;
}

/* The first of `left` pages: those that lie in the group of the first one. */
static ALWAYS_INLINE struct part part_at(const struct pages_heap *h, struct pages_place at,
					 uint64_t left)
{
	unsigned begin = at.page & (PAGES_GROUP - 1);
	uint64_t room = h->group_pages - begin, pages = left < room ? left : room;
	unsigned end = begin + (unsigned)pages;
	return (struct part){&at.chunk->group[at.page >> PAGES_GROUP_SHIFT],
			     &at.chunk->piece[at.page - begin], begin, end, pages_bits(begin, end)};
}

/* Applies the event to a chunk that is one piece, and remains one. run: as of change_part(). */
static ALWAYS_INLINE void change_whole(struct change *c, struct pages_chunk *k, enum pages_state to,
				       uint8_t run)
{
	enum pages_state state = k->kind.state;
	bool frees = to == PAGES_FREE || (to == PAGES_SCAVENGED && c->m->opt.is_space);
	count_was(c, k->kind, k->pages);
	if (run & PAGES_RUN_FIRST) {
		c->first_run = k->kind.run;
		c->first_since = k->since_ns;
	}
	if (to == PAGES_ALLOCATED) {
		if (state == PAGES_SCAVENGED)
			c->err |= count_again(&c->m->churn, k->since_ns, c->ns, k->pages);
		k->since_ns = c->ns;
		k->kind = (struct pages_kind){(uint16_t)c->slot, PAGES_ALLOCATED, run | c->mark};
		k->heat++;
		return;
	}
	if (frees && state == PAGES_ALLOCATED)
		count_freed(&c->m->owners, k->kind.owner, c->slot, k->pages);
	k->freed_unseen |= frees && state == PAGES_UNSEEN;
	if (frees || state != PAGES_SCAVENGED)
		k->since_ns = c->ns;
	c->runs += k->kind.run & PAGES_RUN_FIRST;
	c->last_run = k->kind.run;
	k->kind.state = (uint8_t)to;
	k->kind.run = c->mark;
}

/* Applies the event to pages [first, end) of a chunk. run: what they have of an allocation's. 0 or
 * -ENOMEM. */
static ALWAYS_INLINE int change_chunk(struct change *c, struct pages_chunk *k, uint32_t first,
				      uint32_t end, enum pages_state to, uint8_t run)
{
	bool all = !first && end == k->pages;
	k->changes++;
	if (all && k->whole) {
		change_whole(c, k, to, run);
		return 0;
	}
	int err = pages_chunk_spread(k);
	for (uint32_t at = first; at < end && !err;) {
		struct part p = part_at(&c->m->heap, (struct pages_place){k, at}, end - at);
		at += p.end - p.begin;
		change_part(c, &p, to, run & (at < end ? PAGES_RUN_FIRST : 0xff));
		run &= PAGES_RUN_LAST;
	}
	if (all && !err)
		pages_chunk_join(k);
	return err;
}

/* Changes all pages of the event to a state, which the compiler knows. Their chunks exist. */
static ALWAYS_INLINE void change_pages(struct change *c, enum pages_state to)
{
	struct pages_heap *h = &c->m->heap;
	uint64_t addr = c->ev->addr, left = c->ev->pages;
	for (uint8_t run = PAGES_RUN_FIRST; left && !c->err; run = 0) {
		uint32_t first = pages_heap_index(h, addr), room = h->chunk_pages - first;
		uint32_t pages = left < room ? (uint32_t)left : room;
		left -= pages;
		c->err = change_chunk(c, pages_heap_chunk(h, addr), first, first + pages, to,
				      run | (left ? 0 : PAGES_RUN_LAST));
		addr += (uint64_t)pages << h->page_shift;
	}
	h->count[PAGES_UNSEEN] -= c->was[PAGES_UNSEEN];
	h->count[PAGES_ALLOCATED] -= c->was[PAGES_ALLOCATED];
	h->count[PAGES_FREE] -= c->was[PAGES_FREE];
	h->count[PAGES_SCAVENGED] -= c->was[PAGES_SCAVENGED];
	h->count[to] += c->ev->pages;
	if (c->mark)
		h->count[pages_found_count((uint8_t)to)] += c->ev->pages;
}

/* Counts the lifetimes that end with the event: all its pages were allocated, and are not any
 * more. */
static void count_lifetime(struct change *c)
{
	struct pages_lifetimes *l = &c->m->lifetimes;
	bool whole = c->first_run & PAGES_RUN_FIRST && c->last_run & PAGES_RUN_LAST;
	if (whole && c->runs == 1)
		c->err = pages_lifetimes_add(l, c->ev->pages, elapsed(c->first_since, c->ns));
	else if (whole)
		l->joined++;
	else
		l->partial++;
}

static inline void note_peak(struct pages_model *m, uint64_t ns)
{
	uint64_t allocated = m->heap.count[PAGES_ALLOCATED];
	pages_timeline_raise(m->timeline, allocated);
	if (allocated > m->peak) {
		m->peak = allocated;
		m->peak_ns = ns;
	}
}

/* Counts an allocation that has been applied; `again` of its pages were allocated already. */
static inline void count_alloc(struct pages_model *m, const struct ebt_pagetrace_event *ev,
			       uint32_t slot, uint64_t again)
{
	struct pages_size_class *size = &m->lifetimes.size[pages_size_class(ev->pages)];
	size->runs++;
	size->pages += ev->pages;
	m->moved.allocated += ev->pages - again;
	m->owners.owner[slot].allocated += ev->pages;
	note_peak(m, ev->time_ns);
	if (again)
		pages_damage_fault(&m->damage, PAGES_DOUBLE_ALLOC, ev, again);
}

static void apply_alloc(struct change *c)
{
	change_pages(c, PAGES_ALLOCATED);
	count_alloc(c->m, c->ev, c->slot, c->was[PAGES_ALLOCATED]);
}

static void apply_free(struct change *c)
{
	struct pages_model *m = c->m;
	change_pages(c, PAGES_FREE);
	uint64_t pages = c->ev->pages, valid = c->was[PAGES_ALLOCATED];
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

static void apply_scavenge(struct change *c)
{
	struct pages_model *m = c->m;
	change_pages(c, PAGES_SCAVENGED);
	uint64_t returned = c->ev->pages - c->was[PAGES_SCAVENGED];
	m->churn.scavenges++;
	m->moved.returned += returned;
	m->owners.owner[c->slot].scavenged += returned;
	/* Resident pages are what a process returns; a heap has freed them before. */
	if (m->opt.is_space && c->was[PAGES_ALLOCATED] == c->ev->pages)
		count_lifetime(c);
	else if (c->was[PAGES_ALLOCATED] && !m->opt.is_space)
		pages_damage_fault(&m->damage, PAGES_SCAVENGED_ALLOCATED, c->ev,
				   c->was[PAGES_ALLOCATED]);
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

/* A page of such an allocation; run: its flags. */
static void apply_late_page(struct change *c, struct pages_chunk *k, uint32_t at, uint8_t run)
{
	struct pages_model *m = c->m;
	struct part p = part_at(&m->heap, (struct pages_place){k, at}, 1);
	uint64_t addr = k->addr + ((uint64_t)at << m->heap.page_shift);
	struct pages_piece *page = &p.piece[p.begin];
	uint64_t freed_ns;
	if (p.end < PAGES_GROUP) {
		pages_piece_cut(p.group, p.piece, p.end);
		p.piece[p.end].heat--;
	}
	pages_piece_cut(p.group, p.piece, p.begin);
	page->heat++;
	if (page->kind.state == PAGES_UNSEEN) {
		page->since_ns = c->ns;
		page->kind = (struct pages_kind){(uint16_t)c->slot, PAGES_ALLOCATED, run};
		c->was[PAGES_UNSEEN]++;
	} else if (p.group->freed_unseen & p.pages) {
		p.group->freed_unseen &= ~p.pages;
		if (pages_damage_explain(&m->damage, addr, m->heap.page_shift, &freed_ns))
			amend(m, c->ns, freed_ns, 1);
	} else {
		c->was[PAGES_ALLOCATED]++;
	}
}

/* Whether no page of a whole chunk has its first event still to be explained. */
static bool is_explained(const struct pages_chunk *k)
{
	uint64_t unseen = k->freed_unseen;
	for (uint32_t i = 0; k->group && i < k->pages / k->group_pages; i++)
		unseen |= k->group[i].freed_unseen;
	return !unseen;
}

/* Pages [first, end) of such an allocation. 0 or -ENOMEM. */
static int apply_late_chunk(struct change *c, struct pages_chunk *k, uint32_t first, uint32_t end,
			    uint8_t run)
{
	k->changes++;
	if (!first && end == k->pages && k->whole && is_explained(k)) {
		bool is_new = k->kind.state == PAGES_UNSEEN;
		c->was[is_new ? PAGES_UNSEEN : PAGES_ALLOCATED] += k->pages;
		k->heat++;
		if (is_new) {
			k->since_ns = c->ns;
			k->kind = (struct pages_kind){(uint16_t)c->slot, PAGES_ALLOCATED, run};
		}
		return 0;
	}
	int err = pages_chunk_spread(k);
	for (uint32_t at = first; at < end && !err; at++)
		apply_late_page(c, k, at,
				run & ((at > first ? 0 : PAGES_RUN_FIRST) |
				       (at + 1 < end ? 0 : PAGES_RUN_LAST)));
	return err;
}

/* An allocation of P -1 that should have come before all other events. */
static void apply_late_boot(struct change *c)
{
	struct pages_model *m = c->m;
	struct pages_heap *h = &m->heap;
	uint64_t addr = c->ev->addr, left = c->ev->pages;
	for (uint8_t run = PAGES_RUN_FIRST; left && !c->err; run = 0) {
		uint32_t first = pages_heap_index(h, addr), room = h->chunk_pages - first;
		uint32_t pages = left < room ? (uint32_t)left : room;
		left -= pages;
		c->err = apply_late_chunk(c, pages_heap_chunk(h, addr), first, first + pages,
					  run | (left ? 0 : PAGES_RUN_LAST));
		addr += (uint64_t)pages << h->page_shift;
	}
	uint64_t made = c->was[PAGES_UNSEEN];
	m->heap.count[PAGES_UNSEEN] -= made;
	m->heap.count[PAGES_ALLOCATED] += made;
	amend(m, c->ns, UINT64_MAX, made);
	count_alloc(m, c->ev, c->slot, c->was[PAGES_ALLOCATED]);
}

/* Makes the chunks of an event. 0, -ERANGE or -EFBIG: it cannot be applied, -ENOMEM. */
static int make_chunks(struct pages_model *m, const struct ebt_pagetrace_event *ev)
{
	if (ev->what < EBT_PAGETRACE_ALLOC || ev->what > EBT_PAGETRACE_SCAVENGE)
		return -ERANGE;
	if (!ev->pages || ev->addr & m->heap.page_rest)
		return -ERANGE;
	return pages_heap_reserve(&m->heap, ev->addr, ev->pages);
}

/* Whether it cannot be applied: *err is what make_chunks() says. */
static bool is_untracked(struct pages_model *m, const struct ebt_pagetrace_event *ev, int *err)
{
	*err = make_chunks(m, ev);
	if (*err != -ERANGE && *err != -EFBIG)
		return false;
	*err = 0;
	pages_damage_fault(&m->damage, PAGES_UNTRACKED, ev, ev->pages);
	return true;
}

/* Any event. */
static __attribute__((noinline)) int
apply_any(struct pages_model *m, const struct ebt_pagetrace_event *ev, uint32_t slot, bool is_late)
{
	struct change c = {.m = m, .ev = ev, .ns = ev->time_ns, .slot = slot, .mark = m->mark};
	if (is_late && ev->p == EBT_PAGETRACE_NO_P && ev->what == EBT_PAGETRACE_ALLOC)
		apply_late_boot(&c);
	else if (ev->what == EBT_PAGETRACE_ALLOC)
		apply_alloc(&c);
	else if (ev->what == EBT_PAGETRACE_FREE)
		apply_free(&c);
	else
		apply_scavenge(&c);
	return c.err;
}

/* Most frees are of the run of one allocation that lies in one group: a piece, which remains one.
 * Whether it is so: it is freed then. */
static ALWAYS_INLINE bool free_run(struct pages_model *m, const struct ebt_pagetrace_event *ev,
				   const struct part *p, uint32_t slot, int *err)
{
	struct pages_piece *piece = &p->piece[p->begin];
	uint64_t pages = p->end - p->begin, behind = p->pages << 1 & ~p->pages;
	if ((p->group->pieces & (p->pages | behind)) != (1ull << p->begin | behind) ||
	    piece->kind.run != (PAGES_RUN_FIRST | PAGES_RUN_LAST) || ev->pages != pages)
		return false;
	*err = pages_lifetimes_add(&m->lifetimes, pages, elapsed(piece->since_ns, ev->time_ns));
	count_freed(&m->owners, piece->kind.owner, slot, pages);
	m->heap.count[PAGES_ALLOCATED] -= pages;
	m->heap.count[PAGES_FREE] += pages;
	m->moved.freed += pages;
	m->owners.owner[slot].freed += pages;
	piece->since_ns = ev->time_ns;
	piece->kind.state = PAGES_FREE;
	piece->kind.run = 0;
	return true;
}

/* Most allocations take pages of one piece that are free. Whether it is so. */
static ALWAYS_INLINE bool alloc_run(struct pages_model *m, const struct ebt_pagetrace_event *ev,
				    const struct part *p, uint32_t slot, int *err)
{
	struct pages_piece *piece = &p->piece[p->begin];
	const struct pages_piece *of = &p->piece[pages_piece_first(p->group, p->begin)];
	enum pages_state state = of->kind.state;
	uint64_t pages = p->end - p->begin;
	if (p->group->pieces & p->pages & p->pages << 1 || state < PAGES_FREE ||
	    ev->pages != pages || of->kind.run & PAGES_FOUND)
		return false;
	*err = state == PAGES_FREE ? 0 : count_again(&m->churn, of->since_ns, ev->time_ns, pages);
	if (p->end < PAGES_GROUP) {
		pages_piece_cut(p->group, p->piece, p->end);
		p->piece[p->end].heat--;
	}
	p->group->pieces |= 1ull << p->begin;
	piece->since_ns = ev->time_ns;
	piece->kind = (struct pages_kind){(uint16_t)slot, PAGES_ALLOCATED,
					  PAGES_RUN_FIRST | PAGES_RUN_LAST};
	piece->heat++;
	m->heap.count[state] -= pages;
	m->heap.count[PAGES_ALLOCATED] += pages;
	count_alloc(m, ev, slot, 0);
	return true;
}

static ALWAYS_INLINE int apply_event(struct pages_model *m, const struct ebt_pagetrace_event *ev,
				     struct pages_place at, bool is_late)
{
	uint32_t slot;
	int err = 0;
	if (!at.chunk && is_untracked(m, ev, &err))
		return 0;
	if (!err)
		err = pages_owners_slot(&m->owners, ev->p, &slot);
	if (err)
		return err;
	m->events++;
	m->owners.owner[slot].events++;
	/* What is less than a chunk needs its groups. */
	if (at.chunk && !is_late && !m->mark && ev->pages < at.chunk->pages) {
		err = pages_chunk_spread(at.chunk);
		if (err)
			return err;
		at.chunk->changes++;
		struct part p = part_at(&m->heap, at, ev->pages);
		if (ev->what == EBT_PAGETRACE_FREE && free_run(m, ev, &p, slot, &err))
			return err;
		if (ev->what == EBT_PAGETRACE_ALLOC && alloc_run(m, ev, &p, slot, &err))
			return err;
	}
	return apply_any(m, ev, slot, is_late);
}

/* Events before the first one are late ones. Whether this one is late. */
static inline bool note_time(struct pages_model *m, const struct ebt_pagetrace_event *ev)
{
	bool is_boot = ev->p == EBT_PAGETRACE_NO_P;
	m->damage.has_boot |= is_boot;
	if (ev->time_ns >= m->last_ns) {
		m->last_ns = ev->time_ns;
		return false;
	}
	if (is_boot)
		m->damage.late_boot++;
	else
		m->damage.late++;
	if (ev->time_ns < m->first_ns) {
		if (m->from_ns == m->first_ns)
			m->from_ns = ev->time_ns;
		m->first_ns = ev->time_ns;
	}
	return true;
}

/* Finds the pages of an event that is applied soon, and fetches them into the cache. */
static inline struct pages_place find(const struct pages_model *m,
				      const struct ebt_pagetrace_event *ev)
{
	bool can = ev->pages && ev->what - EBT_PAGETRACE_ALLOC < PAGES_STATES - 1;
	return can ? pages_heap_find(&m->heap, ev->addr, ev->pages) : (struct pages_place){NULL, 0};
}

/* Applies the first event, and those behind it that are before one at or after limit_ns. Sets
 * *ret_applied to their number, damages included. 0 or -ENOMEM. */
static int pages_apply(struct pages_model *m, const struct ebt_pagetrace_event *ev, size_t n,
		       uint64_t limit_ns, size_t *ret_applied)
{
	struct pages_place found[AHEAD];
	size_t i;
	int err = 0;
	for (i = 0; i < AHEAD && i < n; i++)
		found[i] = find(m, &ev[i]);
	for (i = 0; i < n && !err; i++) {
		struct pages_place at = found[i % AHEAD];
		if (n - i > AHEAD)
			found[i % AHEAD] = find(m, &ev[i + AHEAD]);
		if (ev[i].what == EBT_PAGETRACE_DAMAGE) {
			pages_damage_add(&m->damage, &ev[i]);
			continue;
		}
		if (ev[i].time_ns >= limit_ns && i)
			break;
		err = apply_event(m, &ev[i], at, note_time(m, &ev[i]));
	}
	*ret_applied = i;
	return err;
}

int pages_model_init(struct pages_model *m, const struct pages_options *o)
{
	*m = (struct pages_model){.opt = *o};
	if (!m->opt.pages_max)
		m->opt.pages_max = PAGES_TRACKED_MAX;
	pages_heap_init(&m->heap, o->page_bytes, m->opt.pages_max);
	m->timeline = calloc(1, sizeof(*m->timeline));
	return m->timeline ? 0 : -ENOMEM;
}

void pages_model_done(struct pages_model *m)
{
	pages_heap_done(&m->heap);
	pages_owners_done(&m->owners);
	pages_lifetimes_done(&m->lifetimes);
	pages_churn_done(&m->churn);
	free(m->timeline);
	m->timeline = NULL;
}

/* Counts what happens from now on. */
static void begin_counting(struct pages_model *m, uint64_t ns)
{
	m->counting = true;
	m->from_ns = m->end_ns = ns;
	m->events = 0;
	m->moved = (struct pages_moved){0};
	memcpy(m->start, m->heap.count, sizeof(m->start));
	m->peak = m->heap.count[PAGES_ALLOCATED];
	m->peak_ns = ns;
	pages_lifetimes_done(&m->lifetimes);
	pages_churn_done(&m->churn);
	pages_owners_clear(&m->owners);
	pages_heap_cool(&m->heap);
	pages_timeline_begin(m->timeline, ns, m->heap.count);
	if (m->opt.map)
		pages_map_begin(m->opt.map);
}

void pages_model_restart(struct pages_model *m)
{
	if (m->begun && !m->opt.from.known && !m->ended)
		begin_counting(m, m->last_ns);
}

/* A moment of the options as a time of the trace. */
static uint64_t time_of(const struct pages_model *m, struct moment t)
{
	return t.ns > UINT64_MAX - m->first_ns ? UINT64_MAX : m->first_ns + t.ns;
}

/* The first event, or a limit is reached. */
static void turn(struct pages_model *m, uint64_t ns)
{
	if (!m->begun) {
		m->begun = true;
		m->first_ns = m->last_ns = ns;
		begin_counting(m, ns);
		m->counting = !m->opt.from.known;
	}
	uint64_t from = m->opt.from.known ? time_of(m, m->opt.from) : m->first_ns;
	uint64_t until = m->opt.until.known ? time_of(m, m->opt.until) : UINT64_MAX;
	if (!m->counting && ns >= from)
		begin_counting(m, from);
	m->ended = ns > until;
	m->turn_ns = UINT64_MAX;
	if (m->opt.until.known && until < UINT64_MAX)
		m->turn_ns = until + 1;
	if (!m->counting && from < m->turn_ns)
		m->turn_ns = from;
}

static int advance(struct pages_model *m, uint64_t ns)
{
	pages_timeline_advance(m->timeline, ns, m->heap.count, &m->moved);
	return m->opt.map ? pages_map_follow(m->opt.map, m->timeline, &m->heap, false) : 0;
}

int pages_model_events(struct pages_model *m, const struct ebt_pagetrace_event *ev, size_t n)
{
	int err = 0;
	for (size_t i = 0, applied; i < n && !err; i += applied) {
		uint64_t ns = ev[i].time_ns;
		bool is_event = ev[i].what != EBT_PAGETRACE_DAMAGE;
		if (is_event && ns >= m->turn_ns && !m->ended)
			turn(m, ns);
		if (m->ended)
			break;
		if (is_event && ns >= m->timeline->end_ns)
			err = advance(m, ns);
		uint64_t limit =
			m->timeline->end_ns < m->turn_ns ? m->timeline->end_ns : m->turn_ns;
		applied = 0;
		if (!err)
			err = pages_apply(m, ev + i, n - i, limit, &applied);
	}
	pages_lifetimes_settle(&m->lifetimes);
	return err;
}

static void count_cause(struct pages_causes *c, const struct ebt_pagetrace_event *ev,
			uint32_t cause, uint64_t within_ns)
{
	if (cause >= KINDS_PAGE_CAUSES)
		return;
	if (ev->what == EBT_PAGETRACE_ALLOC)
		c->appeared[cause] += ev->pages;
	else if (ev->what == EBT_PAGETRACE_FREE)
		c->gone[cause] += ev->pages;
	if (within_ns > c->late_ns)
		c->late_ns = within_ns;
}

int pages_model_space_event(struct pages_model *m, const struct ebt_pagetrace_event *ev,
			    uint32_t cause, uint64_t within_ns)
{
	bool is_found = cause >= EBT_PAGE_POPULATED && ev->what != EBT_PAGETRACE_SCAVENGE;
	m->mark = is_found ? PAGES_FOUND : 0;
	int err = pages_model_events(m, ev, 1);
	m->mark = 0;
	if (!m->ended)
		count_cause(&m->causes, ev, cause, within_ns);
	return err;
}

void pages_model_watched(struct pages_model *m, uint64_t ns)
{
	m->watched_ns = ns;
}

int pages_model_end(struct pages_model *m)
{
	if (!m->begun)
		return 0;
	uint64_t until = m->opt.until.known ? time_of(m, m->opt.until) : UINT64_MAX;
	m->end_ns = m->watched_ns > m->last_ns ? m->watched_ns : m->last_ns;
	if (m->end_ns > until)
		m->end_ns = until;
	if (!m->counting)
		begin_counting(m, time_of(m, m->opt.from));
	else if (m->ended)
		m->end_ns = until;
	pages_timeline_finish(m->timeline, m->heap.count, &m->moved);
	return m->opt.map ? pages_map_follow(m->opt.map, m->timeline, &m->heap, true) : 0;
}
