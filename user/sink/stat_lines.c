/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/stat_lines.h"

/* Moments are differences modulo 2^64: a sum of lanes that live is `part + live * now`. */
static void put(struct stat_sums *s, const struct stat_lane *l)
{
	s->live += l->live;
	s->elapsed_ns += l->elapsed_ns - (l->live ? l->since_ns : 0);
	s->stopping += l->stopping != 0;
	s->gc_ns += l->gc_ns - (l->stopping ? l->pause_ns : 0);
}

static void take(struct stat_sums *s, const struct stat_lane *l)
{
	s->live -= l->live;
	s->elapsed_ns -= l->elapsed_ns - (l->live ? l->since_ns : 0);
	s->stopping -= l->stopping != 0;
	s->gc_ns -= l->gc_ns - (l->stopping ? l->pause_ns : 0);
}

void stat_lines_change(struct stat_model *m, struct stat_lane *l)
{
	if (!m->interval)
		return;
	if (l->kept)
		take(&m->sums, l);
	l->kept = false;
	if (!l->is_changed) {
		l->is_changed = true;
		l->next_changed = m->changed;
		m->changed = l;
	}
	struct stat_process *p = l->process;
	if (!p->is_changed) {
		p->is_changed = true;
		p->next_changed = m->changed_processes;
		m->changed_processes = p;
	}
}

void stat_lines_keep(struct stat_model *m, struct stat_lane *l)
{
	if (!m->interval || l->kept)
		return;
	l->kept = true;
	put(&m->sums, l);
}

void stat_lines_open(struct stat_model *m, uint32_t lanes, uint64_t ns)
{
	m->sums.live += lanes;
	m->sums.elapsed_ns -= lanes * ns;
}

void stat_lines_close(struct stat_model *m, uint32_t lanes, uint64_t ns)
{
	m->sums.live -= lanes;
	m->sums.elapsed_ns += lanes * ns;
}

static void keep_process(struct stat_sums *s, struct stat_process *p)
{
	struct stat_words words = stat_minor_words(p);
	struct stat_counted now = {stat_minors(p), stat_majors(p), words.words};
	s->counted.minors += now.minors - p->counted.minors;
	s->counted.majors += now.majors - p->counted.majors;
	s->counted.words += now.words - p->counted.words;
	s->has_words |= words.seen;
	p->counted = now;
}

struct stat_marks stat_lines_marks(struct stat_model *m, uint64_t now_ns)
{
	struct stat_sums *s = &m->sums;
	for (struct stat_lane *l; (l = m->changed);) {
		m->changed = l->next_changed;
		l->is_changed = false;
		stat_lines_keep(m, l);
	}
	for (struct stat_process *p; (p = m->changed_processes);) {
		m->changed_processes = p->next_changed;
		p->is_changed = false;
		keep_process(s, p);
	}
	return (struct stat_marks){
		.elapsed_ns = s->elapsed_ns + s->live * now_ns,
		.gc_ns = s->gc_ns + s->stopping * now_ns,
		.minors = s->counted.minors,
		.majors = s->counted.majors,
		.words = s->counted.words,
		.has_words = s->has_words,
	};
}
