/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/mem.h"

#include <errno.h>

#include "report/mem/model/bands.h"
#include "stream/loss.h"

/* Objects count when their lifetimes are known. */
static bool waits_for_lifetime(const struct mem_model *m)
{
	bool is_known = m->opt.choice && !(m->opt.needs & MEM_CHOICE);
	return m->opt.filter && m->opt.filter->by_lifetime && !is_known;
}

int mem_model_init(struct mem_model *m, const struct session *s, const struct mem_options *o)
{
	*m = (struct mem_model){.session = s, .opt = *o, .limit_ns = UINT64_MAX};
	m->has_objects = o->needs || waits_for_lifetime(m);
	if (!(o->needs & MEM_TIMELINE) || waits_for_lifetime(m))
		return 0;
	m->timeline = calloc(1, sizeof(*m->timeline));
	if (o->needs & MEM_BANDS)
		m->bands = mem_bands_new(s, &o->wrappers);
	return !m->timeline || (o->needs & MEM_BANDS && !m->bands) ? -ENOMEM : 0;
}

void mem_model_done(struct mem_model *m)
{
	for (struct mem_process *p = m->first, *next; p; p = next) {
		next = p->next;
		mem_process_done(p, m->session);
		free(p);
	}
	ptrarray_done(&m->by_index);
	free(m->timeline);
	mem_bands_free(m->bands);
}

static struct mem_process *add_process(struct mem_model *m, uint32_t process)
{
	bool is_new;
	struct mem_process *p = ptrarray_make(&m->by_index, process, &is_new);
	if (!p)
		return NULL;
	mem_process_init(p, m->session, process, m->opt.rate);
	p->has_fates = m->opt.needs & MEM_FATES;
	*(m->last ? &m->last->next : &m->first) = p;
	m->last = p;
	return p;
}

enum change { ALLOCATED, COLLECTED };

/* 0 or -ENOMEM. */
static int change_live(struct mem_model *m, const struct mem_process *p, uint64_t ns,
		       const struct mem_object *o, enum change what)
{
	double bytes = mem_process_bytes(p, o->samples);
	if (!m->timeline)
		return 0;
	if (what == ALLOCATED)
		mem_timeline_allocate(m->timeline, ns, bytes);
	else
		mem_timeline_collect(m->timeline, ns, bytes);
	if (!m->bands)
		return 0;
	struct mem_row *row = &p->row[o->row];
	if (!row->band)
		row->band = mem_bands_of(m->bands, row->stack);
	if (!row->band)
		return -ENOMEM;
	return mem_bands_change(m->bands, row->band, m->timeline,
				what == ALLOCATED ? bytes : -bytes);
}

/* Counts an object that the filter selects, which is alive. */
static void count_object(struct mem_process *p, const struct mem_object *o)
{
	mem_count_add(&p->row[o->row].alloc[o->source], mem_object_count(o));
	if (!p->fate)
		return;
	struct mem_fate *f = &p->fate[o->row];
	mem_count_add(&f->live, mem_object_count(o));
	if (o->promoted)
		mem_count_add(&f->promoted, mem_object_count(o));
}

/* Counts an object, or adds it to the choice: its lifetime is known, and selected. 0 or -ENOMEM. */
static int select_object(struct mem_model *m, struct mem_process *p, const struct mem_object *o)
{
	if (m->opt.needs & MEM_CHOICE)
		return mem_choice_add(m->opt.choice, o->number);
	count_object(p, o);
	return 0;
}

static int keep_object(struct mem_model *m, struct mem_process *p, const struct ebt_event *ev,
		       const struct mem_object *made)
{
	struct mem_object *o = mem_objects_put(&p->objects, ev->arg[0]);
	if (!o)
		return -ENOMEM;
	bool waits = waits_for_lifetime(m);
	/* An id that comes again: the collection of the object before it was not seen. */
	if (o->row && p->fate && !waits)
		mem_count_sub(&p->fate[o->row].live, mem_object_count(o));
	int err = o->row ? change_live(m, p, ev->ts, o, COLLECTED) : 0;
	*o = *made;
	if (!waits)
		count_object(p, o);
	return err ? err : change_live(m, p, ev->ts, o, ALLOCATED);
}

static inline struct mem_process *process_of(struct mem_model *m, uint32_t process)
{
	struct mem_process *p = ptrarray_get(&m->by_index, process);
	return p ? p : add_process(m, process);
}

static inline uint64_t samples_of(const struct ebt_event *ev)
{
	return (int64_t)ev->pos > 0 ? ev->pos : 0;
}

static inline uint8_t source_of(const struct ebt_event *ev)
{
	return ev->id < MEM_SOURCES ? (uint8_t)ev->id : EBT_ALLOC_EXTERNAL;
}

/* Whether the samples of an event are words that were counted. An event of size 0 has the sum of
 * the words that no sampled object represents; a large object may represent only itself. */
static inline bool is_exact(const struct mem_process *p, const struct ebt_event *ev)
{
	return p->periodic && p->scale.weighted &&
	       (!ev->arg[1] || (ev->id == EBT_ALLOC_MAJOR && ev->pos == ev->arg[1] + 1));
}

static inline struct mem_count count_of(const struct mem_process *p, const struct ebt_event *ev)
{
	uint64_t samples = samples_of(ev);
	bool exact = is_exact(p, ev);
	return (struct mem_count){
		.objects = 1,
		.samples = samples,
		.shares = mem_process_share(p, samples, ev->sarg[1], ev->id),
		.exact = exact ? samples : 0,
		.exact_objects = exact,
	};
}

static inline void add_alloc(struct mem_process *p, uint32_t row, const struct ebt_event *ev,
			     struct mem_count one)
{
	mem_count_add(&p->row[row].alloc[source_of(ev)], one);
	p->has_generations |= ev->id == EBT_ALLOC_MINOR;
	if (p->periodic && ev->id == EBT_ALLOC_MINOR && ev->arg[1]) {
		p->small_samples += (double)one.samples;
		p->small_squares += (double)one.samples * (double)one.samples;
	}
}

static int count_alloc(struct mem_model *m, const struct ebt_event *ev)
{
	const struct mem_filter *f = m->opt.filter;
	bool makes_choice = m->opt.needs & MEM_CHOICE;
	uint64_t number = m->allocations++;
	struct mem_process *p = process_of(m, ev->process);
	uint32_t row = p ? mem_process_row(p, m->session, f, ev->stack) : 0;
	if (!row)
		return -ENOMEM;
	p->has_generations |= ev->id == EBT_ALLOC_MINOR;
	if (f && (!p->row[row].selected || !mem_filter_alloc(f, ev, p->scale.word_bytes)))
		return 0;
	if (m->opt.choice && !makes_choice && !mem_choice_has(m->opt.choice, number))
		return 0;
	struct mem_count one = count_of(p, ev);
	struct mem_object made = {.id = ev->arg[0],
				  .ns = EBT_OWN_TS(ev),
				  .samples = one.samples,
				  .share = one.shares,
				  .row = row,
				  .source = source_of(ev)};
	if (makes_choice)
		made.number = number;
	if (m->has_objects && !p->periodic)
		return keep_object(m, p, ev, &made);
	if (m->timeline)
		mem_timeline_at(m->timeline, ev->ts)->allocated +=
			mem_process_bytes(p, one.samples);
	add_alloc(p, row, ev, one);
	return 0;
}

/* A loss or damage; what was lost before tracing began is not part of the recording. */
static void count_loss(struct mem_model *m, const struct ebt_event *ev)
{
	struct mem_process *p = ptrarray_get(&m->by_index, ev->process);
	bool is_loss = ev->kind == EBT_DAMAGE || ev->kind == EBT_LOST;
	if (!is_loss || (ev->flags & EBT_F_HISTORY && !loss_is_unwatched(ev)))
		return;
	if (p && !(ev->kind == EBT_LOST && EBT_LOST_ANYWHERE(ev)))
		mem_process_doubt(p);
	else
		m->is_partial = true;
}

/* Without a filter and a table of objects, which is why it is fast. */
static int count_allocs(struct mem_model *m, const struct ebt_event *ev, size_t n)
{
	struct mem_process *p = NULL;
	for (size_t i = 0; i < n; i++) {
		if (ev[i].kind != EBT_ALLOC) {
			count_loss(m, &ev[i]);
			continue;
		}
		if (!p || ev[i].process != p->process)
			p = process_of(m, ev[i].process);
		uint32_t row = p ? mem_process_row(p, m->session, NULL, ev[i].stack) : 0;
		if (!row)
			return -ENOMEM;
		add_alloc(p, row, &ev[i], count_of(p, &ev[i]));
	}
	return 0;
}

static void count_promote(struct mem_model *m, struct mem_process *p, struct mem_object *o,
			  uint64_t ns)
{
	if (m->timeline && !o->promoted)
		mem_timeline_promote(m->timeline, ns, mem_process_bytes(p, o->samples));
	if (p->fate && !o->promoted && !waits_for_lifetime(m))
		mem_count_add(&p->fate[o->row].promoted, mem_object_count(o));
	o->promoted = true;
}

static int count_collect(struct mem_model *m, struct mem_process *p, struct mem_object *o,
			 const struct ebt_event *ev)
{
	/* Clocks of domains may differ. */
	uint64_t now = EBT_OWN_TS(ev), lifetime = now > o->ns ? now - o->ns : 0;
	int err = change_live(m, p, ev->ts, o, COLLECTED);
	bool selected = !waits_for_lifetime(m) ||
			mem_range_has(&m->opt.filter->lifetime_ns, (double)lifetime);
	if (!err && selected && waits_for_lifetime(m))
		err = select_object(m, p, o);
	if (!err && selected && p->fate) {
		mem_count_sub(&p->fate[o->row].live, mem_object_count(o));
		m->has_ns |= lifetime % 1000 != 0;
		err = mem_fate_collect(&p->fate[o->row], o, lifetime);
	}
	mem_objects_delete(&p->objects, o);
	return err;
}

static int change_object(struct mem_model *m, const struct ebt_event *ev)
{
	struct mem_process *p = ptrarray_get(&m->by_index, ev->process);
	struct mem_object *o = p ? mem_objects_get(&p->objects, ev->arg[0]) : NULL;
	if (!o) {
		m->unknown++;
		return 0;
	}
	if (ev->kind == EBT_COLLECT)
		return count_collect(m, p, o, ev);
	p->has_generations = true;
	count_promote(m, p, o, ev->ts);
	return 0;
}

static void begin(struct mem_model *m, uint64_t ts)
{
	m->begin = moment_at(ts);
	uint64_t from = mem_model_begin_ns(m);
	if (m->timeline)
		mem_timeline_begin(m->timeline, from < ts ? from : ts);
	if (m->opt.until.known && m->opt.until.ns < UINT64_MAX - from)
		m->limit_ns = from + m->opt.until.ns;
}

int mem_model_events(struct mem_model *m, const struct ebt_event *ev, size_t n)
{
	if (n && !m->begin.known)
		begin(m, ev[0].ts);
	if (n)
		m->end = moment_at(ev[n - 1].ts < m->limit_ns ? ev[n - 1].ts : m->limit_ns);
	while (n && ev[n - 1].ts > m->limit_ns)
		n--;
	if (!m->has_objects && !m->opt.filter)
		return count_allocs(m, ev, n);
	int err = 0;
	for (size_t i = 0; i < n && !err; i++) {
		if (ev[i].kind == EBT_ALLOC)
			err = count_alloc(m, &ev[i]);
		else if (m->has_objects && (ev[i].kind == EBT_PROMOTE || ev[i].kind == EBT_COLLECT))
			err = change_object(m, &ev[i]);
		else
			count_loss(m, &ev[i]);
	}
	return err;
}

/* Counts or selects the objects that are alive at the end. 0 or -ENOMEM. */
static int end_objects(struct mem_model *m, struct mem_process *p, uint64_t now)
{
	size_t at = 0;
	for (struct mem_object *o; (o = mem_objects_next(&p->objects, &at));) {
		double age = now > o->ns ? (double)(now - o->ns) : 0;
		if (waits_for_lifetime(m)) {
			if (!mem_range_has(&m->opt.filter->lifetime_ns, age))
				continue;
			int err = select_object(m, p, o);
			if (err)
				return err;
		}
		struct mem_fate *f = p->fate ? &p->fate[o->row] : NULL;
		if (f && (!f->oldest_ns || o->ns < f->oldest_ns))
			f->oldest_ns = o->ns;
	}
	return 0;
}

/* Adds a process that ended to a sum of such, or makes it one. 0 or -ENOMEM. */
static int add_ended(struct mem_model *m, struct mem_process *p)
{
	struct mem_process *sum = NULL, *before = NULL;
	for (struct mem_process *q = m->first; q; q = q->next) {
		if (!sum && q->is_sum && mem_process_alike(q, p))
			sum = q;
		if (q->next == p)
			before = q;
	}
	p->is_sum = !sum;
	int err = sum ? mem_process_add(sum, p, m->session) : 0;
	if (!sum || err)
		return err;
	/* The first process names the recording, and stays. */
	before->next = p->next;
	if (m->last == p)
		m->last = before;
	mem_process_done(p, m->session);
	free(p);
	return 0;
}

int mem_model_forget(struct mem_model *m, uint32_t process)
{
	struct mem_process *p = ptrarray_remove(&m->by_index, process);
	if (!p)
		return 0;
	mem_process_know(p, m->session);
	p->process = PROCESS_UNKNOWN;
	int err = end_objects(m, p, m->end.ns);
	mem_process_end(p);
	if (err || p == m->first || m->ended++ < MEM_ENDED_APART)
		return err;
	return add_ended(m, p);
}

bool mem_model_goes_on(const struct mem_model *m)
{
	return !m->bands && !waits_for_lifetime(m);
}

/* What the settling before has found of objects that were alive then. */
static void forget_ages(struct mem_process *p)
{
	for (uint32_t i = 1; i <= p->rows && p->fate; i++)
		p->fate[i].oldest_ns = 0;
}

int mem_model_settle(struct mem_model *m, struct moment now)
{
	m->at = now;
	uint64_t now_ns = mem_model_begin_ns(m) + mem_model_elapsed_ns(m);
	size_t at = 0;
	int err = 0;
	m->alloc = (struct mem_count){0};
	for (struct mem_process *p; (p = ptrarray_next(&m->by_index, &at));) {
		mem_process_know(p, m->session);
		forget_ages(p);
	}
	if (m->bands)
		mem_bands_end(m->bands, m->timeline);
	m->is_periodic = m->has_words = m->first;
	for (struct mem_process *p = m->first; p && !err; p = p->next) {
		m->is_periodic &= p->periodic != NULL;
		m->has_words &= p->scale.weighted;
		m->has_generations |= p->has_generations;
		if (m->is_partial)
			mem_process_doubt(p);
		mem_process_settle(p);
		err = end_objects(m, p, now_ns);
		for (uint32_t i = 1; i <= p->rows; i++) {
			mem_count_add(&m->alloc, mem_row_alloc(&p->row[i]));
		}
	}
	return err;
}

uint64_t mem_model_begin_ns(const struct mem_model *m)
{
	const struct session *s = m->session;
	return s->run_begin.known ? s->run_begin.ns : s->start.known ? s->start.ns : m->begin.ns;
}

uint64_t mem_model_elapsed_ns(const struct mem_model *m)
{
	const struct session *s = m->session;
	uint64_t begin_ns = mem_model_begin_ns(m);
	uint64_t end_ns = m->at.known ? m->at.ns : s->run_end.known ? s->run_end.ns : m->end.ns;
	uint64_t ns = m->begin.known && end_ns > begin_ns ? end_ns - begin_ns : 0;
	return m->opt.until.known && ns > m->opt.until.ns ? m->opt.until.ns : ns;
}

int mem_model_sites(struct mem_sites *t, const struct mem_model *m, mem_pick *pick)
{
	*t = (struct mem_sites){.session = m->session, .wrappers = m->opt.wrappers};
	/* Nothing was recorded, which is not nothing. */
	const struct mem_scale none = {.rate = 1, .word_bytes = 8, .doubt = MEM_AT_LEAST};
	if (m->is_partial && !m->first)
		mem_sum_add(&t->all.sum, &none, 0);
	return mem_sites_make(t, m->first, pick);
}
