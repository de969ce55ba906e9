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

/* Makes one of two changes that are closer to each other than to `ns`, else of the oldest two. */
static void merge_changes(struct mmu_most *w, uint64_t ns)
{
	struct mmu_change *c = w->change;
	unsigned i = 0;
	while (i + 2 < w->changes && c[i + 1].to_ns - c[i].from_ns > ns - c[i + 1].to_ns)
		i++;
	if (i + 2 == w->changes)
		i = 0;
	c[i].to_ns = c[i + 1].to_ns;
	w->changes--;
	memmove(&c[i + 1], &c[i + 2], (w->changes - i - 1) * sizeof(*c));
}

/* A window that ends at end_ns, which is not before the end of the one considered before. */
static void consider(struct mmu_most *w, double stopped_ns, uint64_t end_ns)
{
	if (w->any && stopped_ns <= w->ns)
		return;
	if (!w->changes || w->change[w->changes - 1].to_ns != end_ns) {
		if (w->changes == MMU_CHANGES)
			merge_changes(w, end_ns);
		w->change[w->changes++] = (struct mmu_change){end_ns, end_ns, w->any ? w->ns : -1};
	}
	w->ns = stopped_ns;
	w->any = true;
}

/* The windows of one length that time finds whole when it comes to `ns`: those that begin at edges,
 * and the one that ends at `ns`. Returns the first edge that is not passed. */
static uint32_t visit(const struct mmu *m, uint64_t length, uint64_t ns, uint32_t at,
		      struct mmu_most *w)
{
	const struct mmu_edge *last = &m->edge[m->count - 1];
	for (; at < m->count && ns - m->edge[at].ns >= length; at++) {
		const struct mmu_edge *e = &m->edge[at];
		consider(w, stopped_at(last, e->ns + length) - e->stopped_ns, e->ns + length);
	}
	if (at > m->first)
		consider(w, stopped_at(last, ns) - stopped_at(&m->edge[at - 1], ns - length), ns);
	return at;
}

void mmu_until(struct mmu *m, uint64_t ns)
{
	if (!m->count || ns <= m->now_ns)
		return;
	m->now_ns = ns;
	for (unsigned i = 0; i < MMU_WINDOWS; i++)
		m->at[i] = visit(m, mmu_window_ns[i], ns, m->at[i], &m->most[i]);
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

/* The segment of an edge reaches to the next one that is kept. */
static void join_segments(struct mmu *m, struct mmu_edge *e, const struct mmu_edge *next)
{
	uint64_t ns = next->ns - e->ns;
	e->share = (next->stopped_ns - e->stopped_ns) / (double)ns;
	if (ns > m->gap_ns)
		m->gap_ns = ns;
}

/* Drops at least half of the edges: three that follow one another, of those that are left, last
 * longer than 4 times the mean. */
static void thin(struct mmu *m)
{
	const struct mmu_edge *e = m->edge;
	uint64_t longest_ns = (e[m->count - 1].ns - e->ns) / m->count * 4;
	uint32_t to = 0;
	bool dropped = false;
	for (uint32_t from = 0; from < m->count; from++) {
		bool ends = !from || from + 1 == m->count;
		bool kept = ends || e[from + 1].ns - e[to - 1].ns > longest_ns;
		for (unsigned i = 0; i < MMU_WINDOWS; i++)
			if (m->at[i] == from)
				m->at[i] = to;
		if (kept && dropped)
			join_segments(m, &m->edge[to - 1], &e[from]);
		if (kept)
			m->edge[to++] = e[from];
		dropped = !kept;
	}
	for (unsigned i = 0; i < MMU_WINDOWS; i++)
		if (m->at[i] >= m->count)
			m->at[i] = to;
	m->count = to;
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

/* The first edge whose window ends behind `ns` or in the segment of the last edge. */
static uint32_t go_back(const struct mmu *m, uint64_t length, uint32_t at)
{
	at = at < m->count ? at : m->count;
	while (at > m->first && m->edge[at - 1].ns + length >= m->edge[m->count - 1].ns)
		at--;
	return at;
}

void mmu_end_at(struct mmu *m, uint64_t ns)
{
	bool shorter = m->count && ns < m->now_ns;
	while (shorter && m->count > m->first && m->edge[m->count - 1].ns > ns)
		m->count--;
	bool known = shorter && m->count > m->first;
	for (unsigned i = 0; i < MMU_WINDOWS; i++) {
		struct mmu_most *w = &m->most[i];
		bool changed = false;
		for (; w->changes && w->change[w->changes - 1].to_ns > ns; changed = true) {
			double was_ns = w->change[--w->changes].was_ns;
			w->any = was_ns >= 0;
			w->ns = w->any ? was_ns : 0;
		}
		if (changed && known)
			visit(m, mmu_window_ns[i], ns, go_back(m, mmu_window_ns[i], m->at[i]), w);
	}
	mmu_end(m);
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
		struct mmu_most w = m->most[i];
		if (m->count && ns > m->now_ns)
			visit(m, mmu_window_ns[i], ns, m->at[i], &w);
		double least = 1 - w.ns / (double)mmu_window_ns[i];
		m->least[i] = !w.any ? NAN : least < 0 ? 0 : least > 1 ? 1 : least;
	}
}
