/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/pages_alive.h"

#include <stdbool.h>

static void add_run(struct pages_alive *a, uint64_t pages)
{
	struct pages_run_class *c = &a->size[pages_size_class(pages)];
	c->runs++;
	c->pages += pages;
}

void pages_alive_make(struct pages_alive *ret, const struct pages_heap *h)
{
	uint64_t at = 0, run = 0; /* pages since the first one of a run; 0: not in a run */
	*ret = (struct pages_alive){0};
	for (const struct pages_chunk *c; (c = pages_heap_next(h, &at));) {
		for (uint32_t i = 0; i < h->chunk_pages; i++) {
			const struct pages_page *p = &c->page[i];
			bool is_first = p->flags & PAGES_RUN_FIRST;
			/* The end of the run before was freed. */
			if (run && (is_first || p->state != PAGES_ALLOCATED)) {
				ret->rest += run;
				run = 0;
			}
			if (p->state != PAGES_ALLOCATED)
				continue;
			if (is_first || run)
				run++;
			else
				ret->rest++;
			if (!run || !(p->flags & PAGES_RUN_LAST))
				continue;
			add_run(ret, run);
			run = 0;
		}
	}
	ret->rest += run;
}
