/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/tallies.h"

#include <errno.h>

void stat_tallies_done(struct stat_tallies *ts)
{
	for (struct tally *t; (t = ts->first);) {
		ts->first = t->next;
		tally_free(t);
	}
}

void stat_tallies_add(struct stat_tallies *ts, struct tally *t)
{
	bool is_last = ts->first && ts->last && ts->last->at_ns <= t->at_ns;
	struct tally **at = is_last ? &ts->last->next : &ts->first;
	while (*at && (*at)->at_ns <= t->at_ns)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
	if (!t->next)
		ts->last = t;
	ts->any = true;
}

size_t stat_tallies_before(const struct stat_tallies *ts, const struct ebt_event *ev, size_t n)
{
	size_t i = 0;
	if (!ts->first)
		return n;
	while (i < n && ev[i].ts < ts->first->at_ns)
		i++;
	return i;
}

static struct stat_lane *lane_of(struct stat_model *m, const struct tally *t)
{
	struct ebt_event ev = {.ts = t->last_ns,
			       .pos = EBT_NO_POS,
			       .process = t->process,
			       .domain = t->domain,
			       .tid = t->tid,
			       .kind = EBT_COUNTER};
	uint32_t lane = processes_lane_of(&m->stream.session->processes, &ev);
	struct stat_lane *l = ptrarray_get(&m->stream.lanes, lane);
	struct stat_process *p = l ? l->process : stat_processes_make(&m->processes, &ev);
	return l || !p ? l : stat_lane_make(&m->stream, p, &ev);
}

static void add_phases(struct stat_lane *l, const struct tally *t)
{
	struct stat_numbers *n = &l->process->numbers;
	for (unsigned i = 0; i < PHASE_ROWS; i++) {
		const struct tally_phase *from = &t->phase[i];
		struct stat_phase *ph = &n->phases[i];
		ph->begun += from->begun;
		ph->count += from->ended;
		ph->cut += from->cut;
		ph->total_ns += from->total_ns;
		ph->self_ns += from->self_ns;
		if (from->max_ns > ph->max_ns)
			ph->max_ns = from->max_ns;
		if (from->begun && phases_at(i)->roles & TRAITS_MINOR)
			l->minors += from->begun;
	}
	if (l->minors > n->lane_minors)
		n->lane_minors = l->minors;
	n->majors += t->majors;
	n->compactions += t->compactions;
	n->unmatched += t->unmatched;
}

/* As end_unseen() of the events. */
static void add_orphan(struct stat_lane *l, const struct tally_orphan *o)
{
	struct stat_pauses *pauses = &l->process->numbers.pauses;
	struct stat_phase *ph = &l->process->numbers.phases[o->row];
	uint64_t since = o->since_ns ? o->since_ns : l->unsure_first_ns;
	uint64_t ns = o->ts > since ? o->ts - since : 0;
	uint64_t inner = o->inner_ns + (o->earlier_ns > since ? o->earlier_ns - since : 0);
	uint64_t known = o->earlier_pause_ns > since ? o->earlier_pause_ns - since : 0;
	ph->cut++;
	ph->total_ns += ns;
	ph->self_ns += ns > inner ? ns - inner : 0;
	if (!phases_stop(o->row))
		return;
	l->pauses.clock.gc_ns += ns - known;
	pauses->cut[o->is_loss ? STAT_CUT_LOSS : STAT_CUT_START] += o->is_first;
	if (ns > pauses->cut_max_ns)
		pauses->cut_max_ns = ns;
}

static int add_pauses(const struct stat_stream *s, struct stat_lane *l, const struct tally *t)
{
	struct stat_pauses *pauses = &l->process->numbers.pauses;
	l->pauses.clock.gc_ns += (uint64_t)t->gc_ns;
	l->pauses.count += t->pauses.count;
	pauses->cut[STAT_CUT_LOSS] += t->cut_by_loss;
	pauses->cut[STAT_CUT_END] += t->cut_by_end;
	if (t->cut_max_ns > pauses->cut_max_ns)
		pauses->cut_max_ns = t->cut_max_ns;
	for (unsigned i = 0; i < t->orphans; i++)
		add_orphan(l, &t->orphan[i]);
	int err = s->interval ? histogram_merge(s->interval, &t->seen) : 0;
	return err ? err : histogram_merge(&pauses->whole, &t->pauses);
}

static void add_counters(struct stat_process *p, const struct tally *t)
{
	struct stat_numbers *n = &p->numbers;
	struct stat_words *words[TALLY_COUNTERS] = {
		[TALLY_MINOR_BYTES] = &n->minor_bytes,
		[TALLY_MINOR_WORDS] = &n->minor_words,
		[TALLY_PROMOTED_BYTES] = &n->promoted_bytes,
		[TALLY_PROMOTED_WORDS] = &n->promoted_words,
		[TALLY_MAJOR_WORDS] = &n->major_words,
	};
	for (unsigned i = 0; i < TALLY_COUNTERS; i++) {
		words[i]->seen |= t->counter_seen[i];
		words[i]->words += t->counter[i];
	}
	const struct tally_heap *h = &t->heap;
	if (!h->ts)
		return;
	if (h->ts >= p->heap_ns)
		n->heap = (struct stat_words){true, p->heap_is_by_domain ? h->sum : h->words};
	p->heap_ns = stat_stream_later(p->heap_ns, h->ts);
	uint64_t most = p->heap_is_by_domain ? h->max_sum : h->max;
	if (!n->heap_max.seen || most > n->heap_max.words)
		n->heap_max = (struct stat_words){true, most};
}

static int apply(struct stat_model *m, struct tally *t)
{
	const struct stat_stream *s = &m->stream;
	struct stat_lane *l = lane_of(m, t);
	if (!l || stat_sets_use(&m->sets, l, l->in_ring))
		return -ENOMEM;
	add_phases(l, t);
	add_counters(l->process, t);
	uint64_t last = stat_stream_clip(s, t->last_ns);
	l->last_ns = stat_stream_later(l->last_ns, last);
	l->process->last_ns = stat_stream_later(l->process->last_ns, last);
	int err = stat_lane_hold_tallied(l, &t->held);
	return err ? err : add_pauses(s, l, t);
}

int stat_tallies_apply(struct stat_tallies *ts, struct stat_model *m, uint64_t now_ns)
{
	int err = 0;
	for (struct tally *t; !err && (t = ts->first) && t->at_ns <= now_ns;) {
		err = apply(m, t);
		ts->first = t->next;
		tally_free(t);
	}
	return err;
}

int stat_tallies_forget(struct stat_tallies *ts, struct stat_model *m, uint32_t process)
{
	int err = 0;
	for (struct tally **at = &ts->first, *t; !err && (t = *at);) {
		if (t->process != process) {
			at = &t->next;
			continue;
		}
		err = apply(m, t);
		*at = t->next;
		tally_free(t);
		ts->last = NULL;
	}
	return err;
}
