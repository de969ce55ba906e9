/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/matrix.h"

#include <errno.h>
#include <stdlib.h>

/* A slot, to be sorted. */
struct rank {
	uint64_t pages;
	int32_t p;
	uint32_t slot;
};

static int by_pages(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;
	if (a->pages != b->pages)
		return a->pages > b->pages ? -1 : 1;
	return a->p < b->p ? -1 : 1;
}

/* The slots of Ps with events, sorted; returns their number. */
static uint32_t sort_slots(const struct pages_owners *o, struct rank *ret)
{
	uint32_t n = 0;
	for (uint32_t slot = 1; slot < o->count; slot++) {
		const struct pages_owner *w = &o->owner[slot];
		uint64_t pages = w->allocated + w->freed + w->scavenged;
		for (uint32_t by = 0; by < o->count; by++)
			pages += pages_owners_freed(o, slot, by);
		if (w->events || pages)
			ret[n++] = (struct rank){pages, w->p, slot};
	}
	qsort(ret, n, sizeof(*ret), by_pages);
	return n;
}

static void add_owner(struct pages_owner *to, const struct pages_owner *from)
{
	to->events += from->events;
	to->allocated += from->allocated;
	to->freed += from->freed;
	to->scavenged += from->scavenged;
}

/* row: of each slot. */
static void fill(struct pages_matrix *m, const struct pages_owners *o, const uint32_t *row)
{
	for (uint32_t of = 0; of < o->count; of++) {
		for (uint32_t by = 0; by < o->count; by++) {
			uint64_t pages = pages_owners_freed(o, of, by);
			if (!pages)
				continue;
			m->pages[(uint64_t)row[of] * m->ps + row[by]] += pages;
			m->freed += pages;
			m->foreign += of != by ? pages : 0;
		}
		if (o->owner[of].events)
			add_owner(&m->owner[row[of]], &o->owner[of]);
	}
}

static int make(struct pages_matrix *m, const struct pages_owners *o, uint32_t most,
		struct rank *ranks, uint32_t *row)
{
	uint32_t n = sort_slots(o, ranks), shown = n < most ? n : most;
	m->others = n - shown + o->owner[0].used;
	m->ps = shown + !!m->others;
	m->owner = calloc(m->ps + 1, sizeof(*m->owner));
	m->pages = calloc((size_t)m->ps * m->ps + 1, sizeof(*m->pages));
	if (!m->owner || !m->pages)
		return -ENOMEM;
	/* Slots without an event have no pages in the matrix, and may be in any row. */
	for (uint32_t slot = 0; slot < o->count; slot++)
		row[slot] = m->others ? shown : 0;
	for (uint32_t i = 0; i < shown; i++) {
		row[ranks[i].slot] = i;
		m->owner[i].p = ranks[i].p;
		m->owner[i].used = true;
	}
	if (m->ps)
		fill(m, o, row);
	return 0;
}

int pages_matrix_make(struct pages_matrix *ret, const struct pages_owners *o, uint32_t most)
{
	*ret = (struct pages_matrix){0};
	if (!o->count)
		return 0;
	struct rank *ranks = calloc(o->count, sizeof(*ranks));
	uint32_t *row = calloc(o->count, sizeof(*row));
	int err = ranks && row ? make(ret, o, most, ranks, row) : -ENOMEM;
	free(ranks);
	free(row);
	return err;
}

void pages_matrix_done(struct pages_matrix *m)
{
	free(m->owner);
	free(m->pages);
	*m = (struct pages_matrix){0};
}
