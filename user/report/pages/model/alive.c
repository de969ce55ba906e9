/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/alive.h"

#include <stdbool.h>

static void add_run(struct pages_alive *a, uint64_t pages)
{
	struct pages_run_class *c = &a->size[pages_size_class(pages)];
	c->runs++;
	c->pages += pages;
}

/* Pages of one huge page; *run: those since the first one of a run, 0: not in a run. */
static void add_pages(struct pages_alive *a, const struct pages_page *page, uint32_t pages,
		      uint64_t *run)
{
	for (const struct pages_page *p = page; p < page + pages; p++) {
		bool is_first = p->flags & PAGES_RUN_FIRST;
		/* The end of the run before was freed. */
		if (*run && (is_first || p->state != PAGES_ALLOCATED)) {
			a->rest += *run;
			*run = 0;
		}
		if (p->state != PAGES_ALLOCATED)
			continue;
		if (is_first || *run)
			++*run;
		else
			a->rest++;
		if (!*run || !(p->flags & PAGES_RUN_LAST))
			continue;
		add_run(a, *run);
		*run = 0;
	}
}

/* Pages of a chunk that are all alike. */
static void add_whole(struct pages_alive *a, const struct pages_chunk *c, uint64_t *run)
{
	bool is_first = c->kind.run & PAGES_RUN_FIRST;
	if (*run && (is_first || c->kind.state != PAGES_ALLOCATED)) {
		a->rest += *run;
		*run = 0;
	}
	if (c->kind.state != PAGES_ALLOCATED)
		return;
	*(is_first || *run ? run : &a->rest) += c->pages;
	if (!*run || !(c->kind.run & PAGES_RUN_LAST))
		return;
	add_run(a, *run);
	*run = 0;
}

void pages_alive_make(struct pages_alive *ret, const struct pages_heap *h)
{
	struct pages_page page[PAGES_HUGE_PAGES_MAX];
	uint64_t at = 0, run = 0;
	*ret = (struct pages_alive){0};
	for (const struct pages_chunk *c; (c = pages_heap_next(h, &at));) {
		if (c->whole)
			add_whole(ret, c, &run);
		for (uint32_t i = 0; i < h->chunk_pages && !c->whole; i += h->huge_pages) {
			pages_heap_read(c, i, h->huge_pages, page);
			add_pages(ret, page, h->huge_pages, &run);
		}
	}
	ret->rest += run;
}
