/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/pages/model/apply.h"

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
