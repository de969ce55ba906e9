/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/occupancy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FEW_PARTS    16 /* few pages keep a unit: at most 1 / FEW_PARTS of it */
#define HOLDERS_SEEN 64 /* of a unit, counted apart */

static bool is_kept(const struct pages_units *u, const uint32_t count[PAGES_STATES])
{
	return count[PAGES_ALLOCATED] && count[PAGES_ALLOCATED] <= u->few;
}

static void add_unit(struct pages_units *u, const uint32_t count[PAGES_STATES])
{
	uint32_t allocated = count[PAGES_ALLOCATED];
	uint32_t resident = allocated + count[PAGES_FREE];
	if (count[PAGES_UNSEEN] == u->pages)
		return;
	u->units++;
	if (!allocated)
		u->empty++;
	else if (allocated == u->pages)
		u->full++;
	else
		u->share[(allocated * PAGES_SHARES - 1) / u->pages]++;
	if (resident == u->pages)
		u->whole++;
	else if (resident)
		u->mixed++;
	else
		u->returned++;
	if (!is_kept(u, count))
		return;
	u->kept++;
	u->kept_allocated += allocated;
	u->kept_free += count[PAGES_FREE];
	u->kept_scavenged += count[PAGES_SCAVENGED];
}

static struct pages_units units(const struct pages_heap *h, unsigned shift)
{
	uint32_t pages = 1u << (shift - h->page_shift);
	return (struct pages_units){.bytes = 1u << shift, .pages = pages, .few = pages / FEW_PARTS};
}

static int add_chunk(struct pages_occupancy *o, struct pages_best *best,
		     const struct pages_chunk *c)
{
	uint32_t pages = o->huge.pages;
	uint32_t all[PAGES_STATES] = {0};
	int err = 0;
	for (unsigned i = 0; i < PAGES_CHUNK_HUGE && !err; i++) {
		uint32_t count[PAGES_COUNTS] = {0};
		pages_heap_count(c, i * pages, pages, count);
		for (unsigned s = 0; s < PAGES_STATES; s++)
			all[s] += count[s];
		add_unit(&o->huge, count);
		if (is_kept(&o->huge, count))
			err = pages_best_add(best, count[PAGES_FREE] + count[PAGES_SCAVENGED],
					     c->addr + ((uint64_t)i << PAGES_HUGE_SHIFT));
	}
	add_unit(&o->chunk, all);
	return err;
}

static int by_pages(const void *x, const void *y)
{
	const struct pages_holder *a = x, *b = y;
	if (a->pages != b->pages)
		return a->pages > b->pages ? -1 : 1;
	return a->owner < b->owner ? -1 : 1;
}

/* Holders beyond HOLDERS_SEEN are counted with the last of these. */
static void find_holders(struct pages_kept *k, const struct pages_page *page, uint32_t pages)
{
	struct pages_holder seen[HOLDERS_SEEN];
	uint32_t n = 0;
	for (uint32_t i = 0; i < pages; i++) {
		uint32_t at = 0;
		if (page[i].state != PAGES_ALLOCATED)
			continue;
		while (at < n && seen[at].owner != page[i].owner)
			at++;
		if (at == HOLDERS_SEEN)
			at--;
		else if (at == n)
			seen[n++] = (struct pages_holder){page[i].owner, 0, UINT64_MAX, 0};
		struct pages_holder *s = &seen[at];
		s->pages++;
		s->first_ns = page[i].since_ns < s->first_ns ? page[i].since_ns : s->first_ns;
		s->last_ns = page[i].since_ns > s->last_ns ? page[i].since_ns : s->last_ns;
	}
	qsort(seen, n, sizeof(*seen), by_pages);
	k->holders = n < PAGES_HOLDERS ? n : PAGES_HOLDERS;
	k->more_holders = n - k->holders;
	memcpy(k->holder, seen, k->holders * sizeof(*seen));
}

static const struct pages_chunk *chunk_at(const struct pages_heap *h, uint64_t addr)
{
	uint64_t at = addr >> PAGES_CHUNK_SHIFT;
	return pages_heap_next(h, &at);
}

static int keep_best(struct pages_occupancy *o, const struct pages_heap *h,
		     const struct pages_best *best)
{
	o->kept = calloc(best->count + 1, sizeof(*o->kept));
	if (!o->kept)
		return -ENOMEM;
	for (uint32_t i = 0; i < best->count; i++) {
		struct pages_page page[PAGES_HUGE_PAGES_MAX];
		struct pages_kept *k = &o->kept[o->kept_rows++];
		k->addr = best->row[i].addr;
		const struct pages_chunk *c = chunk_at(h, k->addr);
		uint32_t first = pages_heap_index(h, k->addr);
		pages_heap_count(c, first, h->huge_pages, k->count);
		pages_heap_read(c, first, h->huge_pages, page);
		find_holders(k, page, h->huge_pages);
	}
	return 0;
}

int pages_occupancy_make(struct pages_occupancy *ret, const struct pages_model *m, uint32_t rows)
{
	const struct pages_heap *h = &m->heap;
	struct pages_best best = {.most = rows};
	uint64_t at = 0;
	int err = 0;
	*ret = (struct pages_occupancy){.huge = units(h, PAGES_HUGE_SHIFT),
					.chunk = units(h, PAGES_CHUNK_SHIFT)};
	for (const struct pages_chunk *c; !err && (c = pages_heap_next(h, &at));)
		err = add_chunk(ret, &best, c);
	pages_best_sort(&best);
	if (!err)
		err = keep_best(ret, h, &best);
	pages_best_done(&best);
	return err;
}

void pages_occupancy_done(struct pages_occupancy *o)
{
	free(o->kept);
	o->kept = NULL;
}
