/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/mem.h"

#include <errno.h>

void mem_model_init(struct mem_model *m, const struct session *s)
{
	*m = (struct mem_model){.session = s};
}

void mem_model_done(struct mem_model *m)
{
	for (struct mem_process *p = m->first, *next; p; p = next) {
		next = p->next;
		mem_process_done(p, m->session);
		free(p);
	}
	ptrarray_done(&m->by_index);
}

static struct mem_process *add_process(struct mem_model *m, uint32_t process)
{
	bool is_new;
	struct mem_process *p = ptrarray_make(&m->by_index, process, &is_new);
	if (!p)
		return NULL;
	mem_process_init(p, m->session, process);
	*(m->last ? &m->last->next : &m->first) = p;
	m->last = p;
	return p;
}

static inline int count_alloc(struct mem_model *m, const struct ebt_event *ev)
{
	struct mem_process *p = ptrarray_get(&m->by_index, ev->process);
	if (!p)
		p = add_process(m, ev->process);
	uint32_t row = p ? mem_process_row(p, m->session, ev->stack) : 0;
	if (!row)
		return -ENOMEM;
	int64_t samples = (int64_t)ev->pos;
	uint32_t source = ev->id < MEM_SOURCES ? ev->id : EBT_ALLOC_EXTERNAL;
	mem_count_add(&p->row[row].alloc[source], 1, samples > 0 ? (uint64_t)samples : 0);
	return 0;
}

int mem_model_events(struct mem_model *m, const struct ebt_event *ev, size_t n)
{
	if (!n)
		return 0;
	if (!m->begin.known)
		m->begin = moment_at(ev[0].ts);
	m->end = moment_at(ev[n - 1].ts);
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		if (ev[i].kind == EBT_ALLOC)
			err = count_alloc(m, &ev[i]);
	return err;
}

void mem_model_forget(struct mem_model *m, uint32_t process)
{
	struct mem_process *p = ptrarray_remove(&m->by_index, process);
	if (!p)
		return;
	mem_process_know(p, m->session);
	p->process = PROCESS_UNKNOWN;
}

void mem_model_end(struct mem_model *m)
{
	size_t at = 0;
	for (struct mem_process *p; (p = ptrarray_next(&m->by_index, &at));)
		mem_process_know(p, m->session);
	for (const struct mem_process *p = m->first; p; p = p->next)
		for (uint32_t i = 1; i <= p->rows; i++) {
			struct mem_count c = mem_row_alloc(&p->row[i]);
			mem_count_add(&m->alloc, c.objects, c.samples);
		}
}

uint64_t mem_model_elapsed_ns(const struct mem_model *m)
{
	const struct session *s = m->session;
	struct moment begin = s->run_begin.known ? s->run_begin
			      : s->start.known	 ? s->start
						 : m->begin;
	struct moment end = s->run_end.known ? s->run_end : m->end;
	return begin.known && end.ns > begin.ns ? end.ns - begin.ns : 0;
}
