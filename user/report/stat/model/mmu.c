/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/mmu.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MS 1000000ull

const uint64_t mmu_window_ns[MMU_WINDOWS] = {1 * MS,  2 * MS,	5 * MS,	  10 * MS,  20 * MS,
					     50 * MS, 100 * MS, 200 * MS, 500 * MS, 1000 * MS};

/* Until now the room had counted `was` entries. */
static void account(struct mmu *m, uint32_t was)
{
	m->room->bytes += m->cap * sizeof(*m->edge);
	m->room->bytes -= was * sizeof(*m->edge);
}

void mmu_release(struct mmu *m)
{
	uint32_t was = m->cap;
	free(m->edge);
	m->edge = NULL;
	m->cap = 0;
	if (m->room)
		account(m, was);
	m->first = m->count = 0;
}

void mmu_done(struct mmu *m)
{
	mmu_release(m);
}

/* The time stopped until `ns`, which is not before an edge and not behind the next one. */
static double stopped_at(const struct mmu_edge *e, uint64_t ns)
{
	return e->stopped_ns + e->share * (double)(ns - e->ns);
}

static void consider(double stopped_ns, double *most_ns, bool *any)
{
	if (!*any || stopped_ns > *most_ns)
		*most_ns = stopped_ns;
	*any = true;
}

/* The windows of one length that time finds whole when it comes to `ns`: those that begin at edges,
 * and the one that ends at `ns`. Returns the first edge that is not passed. */
static uint32_t visit(const struct mmu *m, uint64_t length, uint64_t ns, uint32_t at,
		      double *most_ns, bool *any)
{
	const struct mmu_edge *last = &m->edge[m->count - 1];
	for (; at < m->count && ns - m->edge[at].ns >= length; at++) {
		const struct mmu_edge *e = &m->edge[at];
		consider(stopped_at(last, e->ns + length) - e->stopped_ns, most_ns, any);
	}
	if (at > m->first)
		consider(stopped_at(last, ns) - stopped_at(&m->edge[at - 1], ns - length), most_ns,
			 any);
	return at;
}

void mmu_until(struct mmu *m, uint64_t ns)
{
	if (!m->count || ns <= m->now_ns)
		return;
	m->now_ns = ns;
	for (unsigned i = 0; i < MMU_WINDOWS; i++)
		m->at[i] = visit(m, mmu_window_ns[i], ns, m->at[i], &m->most_ns[i], &m->any[i]);
	/* The edge before the first one that the longest window has not passed is needed for the
	 * begins of later windows. */
	uint32_t needed = m->at[MMU_WINDOWS - 1];
	if (needed && needed - 1 > m->first)
		m->first = needed - 1;
}

/* Moves what is needed to the begin of the array. */
static void move(struct mmu *m)
{
	memmove(m->edge, m->edge + m->first, (m->count - m->first) * sizeof(*m->edge));
	for (unsigned i = 0; i < MMU_WINDOWS; i++)
		m->at[i] -= m->first;
	m->count -= m->first;
	m->first = 0;
}

/* Drops every second edge of the older half, but for the first one. */
static void thin(struct mmu *m)
{
	uint32_t half = m->count / 2, to = 0;
	for (uint32_t from = 0; from < m->count; from++) {
		bool kept = from >= half || from % 2 == 0;
		for (unsigned i = 0; i < MMU_WINDOWS; i++)
			if (m->at[i] == from)
				m->at[i] = to;
		if (kept)
			m->edge[to++] = m->edge[from];
	}
	for (unsigned i = 0; i < MMU_WINDOWS; i++)
		if (m->at[i] >= m->count)
			m->at[i] = to;
	m->count = to;
	for (uint32_t i = 0; i + 1 < m->count && i < half; i++) {
		struct mmu_edge *e = &m->edge[i];
		double ns = (double)(e[1].ns - e->ns);
		e->share = (e[1].stopped_ns - e->stopped_ns) / ns;
	}
}

/* Room for one more edge. 0 or -ENOMEM. */
static int reserve(struct mmu *m)
{
	if (m->count < m->cap)
		return 0;
	if (m->first > m->cap / 2) {
		move(m);
		return 0;
	}
	/* What array_reserve() would make of it. */
	size_t was = m->cap, more = was / 2 + 4;
	bool fits = was + more <= MMU_EDGES_MIN ||
		    (was + more <= MMU_EDGES &&
		     m->room->bytes + more * sizeof(*m->edge) <= MMU_ROOM_BYTES);
	if (!fits) {
		move(m);
		thin(m);
		return 0;
	}
	if (!array_reserve(m->edge, m->cap, m->count))
		return -ENOMEM;
	account(m, (uint32_t)was);
	return 0;
}

static int append(struct mmu *m, struct mmu_edge e)
{
	int err = reserve(m);
	if (!err)
		m->edge[m->count++] = e;
	return err;
}

void mmu_end(struct mmu *m)
{
	m->first = m->count = 0;
}

int mmu_begin(struct mmu *m, uint64_t ns)
{
	mmu_end(m);
	memset(m->at, 0, sizeof(m->at));
	m->now_ns = ns;
	return append(m, (struct mmu_edge){.ns = ns});
}

int mmu_set(struct mmu *m, uint64_t ns, double share)
{
	struct mmu_edge *last = &m->edge[m->count - 1];
	if (share == last->share)
		return 0;
	ns = ns > m->now_ns ? ns : m->now_ns;
	if (ns == last->ns) {
		last->share = share;
		return 0;
	}
	struct mmu_edge e = {ns, stopped_at(last, ns), share};
	mmu_until(m, ns);
	return append(m, e);
}

void mmu_settle(struct mmu *m, uint64_t ns)
{
	for (unsigned i = 0; i < MMU_WINDOWS; i++) {
		double most_ns = m->most_ns[i], length = (double)mmu_window_ns[i];
		bool any = m->any[i];
		if (m->count && ns > m->now_ns)
			visit(m, mmu_window_ns[i], ns, m->at[i], &most_ns, &any);
		double least = 1 - most_ns / length;
		m->least[i] = !any ? NAN : least < 0 ? 0 : least > 1 ? 1 : least;
	}
}
