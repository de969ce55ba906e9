/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/heat.h"

/* Successive pages that are alike: `bytes` apart, the first at addr. */
static int add_pages(struct pages_heat *t, const struct pages_page *p, uint64_t addr,
		     uint32_t pages, uint64_t bytes)
{
	if (p->state == PAGES_UNSEEN)
		return 0;
	t->pages += pages;
	t->allocations += (uint64_t)p->allocations * pages;
	if (!p->allocations) {
		t->cold += pages;
		return 0;
	}
	struct pages_heat_class *c = &t->times[pages_size_class(p->allocations)];
	c->pages += pages;
	c->allocations += (uint64_t)p->allocations * pages;
	int err = 0;
	/* Of pages with equal counts the lowest are shown. */
	for (uint32_t i = 0; i < pages && i < t->page.most && !err; i++)
		err = pages_best_add(&t->page, p->allocations, addr + i * bytes);
	return err;
}

static int add_chunk(struct pages_heat *t, const struct pages_heap *h, const struct pages_chunk *c)
{
	struct pages_page page[PAGES_HUGE_PAGES_MAX];
	int err = 0;
	for (uint32_t huge = 0; huge < PAGES_CHUNK_HUGE && !err; huge++) {
		uint64_t before = t->allocations;
		uint64_t addr = c->addr + ((uint64_t)huge << PAGES_HUGE_SHIFT);
		/* The pages of a chunk without groups are alike. */
		uint32_t alike = c->group ? 1 : h->huge_pages;
		pages_heap_read(c, huge * h->huge_pages, h->huge_pages / alike, page);
		for (uint32_t i = 0; i < h->huge_pages / alike && !err; i++)
			err = add_pages(t, &page[i], addr + ((uint64_t)i << h->page_shift), alike,
					1ull << h->page_shift);
		if (!err && t->allocations > before)
			err = pages_best_add(&t->huge, t->allocations - before, addr);
	}
	return err;
}

int pages_heat_make(struct pages_heat *ret, const struct pages_model *m, uint32_t rows)
{
	uint64_t at = 0;
	int err = 0;
	*ret = (struct pages_heat){.page.most = rows, .huge.most = rows};
	for (const struct pages_chunk *c; !err && (c = pages_heap_next(&m->heap, &at));)
		err = add_chunk(ret, &m->heap, c);
	pages_best_sort(&ret->page);
	pages_best_sort(&ret->huge);
	return err;
}

void pages_heat_done(struct pages_heat *h)
{
	pages_best_done(&h->page);
	pages_best_done(&h->huge);
}

struct pages_page pages_heat_page(const struct pages_model *m, uint64_t addr)
{
	uint64_t at = addr >> PAGES_CHUNK_SHIFT;
	struct pages_page page;
	pages_heap_read(pages_heap_next(&m->heap, &at), pages_heap_index(&m->heap, addr), 1, &page);
	return page;
}
