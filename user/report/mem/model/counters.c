/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/counters.h"

#include "report/mem/model/objects.h"
#include "report/mem/model/process.h"
#include <errno.h>

struct mem_counted {
	uint32_t process;
	struct mem_objects live;
	uint64_t live_samples, promoted_samples;
	uint64_t changed_ns, due_ns; /* when a value is due again */
	bool has_change;	     /* that no value has yet */
	bool has_generations;	     /* as that of struct mem_process */
};

static void free_counted(struct mem_counted *p)
{
	if (p)
		mem_objects_done(&p->live);
	free(p);
}

void mem_counters_done(struct mem_counters *c)
{
	size_t at = 0;
	for (struct mem_counted *p; (p = ptrarray_next(&c->processes, &at));)
		free_counted(p);
	ptrarray_done(&c->processes);
}

static uint64_t bytes_of(uint64_t samples, const struct mem_scale *scale)
{
	double bytes = mem_scale_bytes(scale, samples);
	return bytes < 0x1p63 ? (uint64_t)bytes : INT64_MAX;
}

static void value_of(const struct mem_counters *c, const struct mem_counted *p,
		     struct mem_counters_value *ret)
{
	const struct process *about = processes_at(&c->session->processes, p->process);
	const struct strings *strings = c->session->strings;
	struct mem_scale scale = mem_process_scale(about, strings, 0);
	*ret = (struct mem_counters_value){
		.ts = p->changed_ns,
		.process = p->process,
		.live_bytes = bytes_of(p->live_samples, &scale),
		.promoted_bytes = bytes_of(p->promoted_samples, &scale),
		.has_generations = p->has_generations ||
				   alloc_trace_samples_header(&about->alloc_trace, strings),
	};
}

/* Numbers of samples come from a file. */
static uint64_t add(uint64_t sum, uint64_t samples)
{
	return samples < UINT64_MAX - sum ? sum + samples : UINT64_MAX;
}

static int allocate(struct mem_counted *p, const struct ebt_event *ev)
{
	int64_t samples = (int64_t)ev->pos;
	struct mem_object *o = mem_objects_put(&p->live, ev->arg[0]);
	if (!o)
		return -ENOMEM;
	/* An id that comes again belongs to another object. */
	if (o->row)
		p->live_samples -= o->samples < p->live_samples ? o->samples : p->live_samples;
	o->row = 1; /* it is in use */
	o->samples = samples > 0 ? (uint64_t)samples : 0;
	p->live_samples = add(p->live_samples, o->samples);
	return 0;
}

static int count(struct mem_counted *p, const struct ebt_event *ev)
{
	p->has_generations |=
		ev->kind == EBT_ALLOC ? ev->id == EBT_ALLOC_MINOR : ev->kind == EBT_PROMOTE;
	if (ev->kind == EBT_ALLOC)
		return allocate(p, ev);
	struct mem_object *o = mem_objects_get(&p->live, ev->arg[0]);
	if (!o)
		return 0;
	if (ev->kind == EBT_PROMOTE) {
		p->promoted_samples = add(p->promoted_samples, o->samples);
		return 0;
	}
	p->live_samples -= o->samples < p->live_samples ? o->samples : p->live_samples;
	mem_objects_delete(&p->live, o);
	return 0;
}

int mem_counters_event(struct mem_counters *c, const struct ebt_event *ev,
		       struct mem_counters_value *ret)
{
	bool is_new;
	struct mem_counted *p = ptrarray_make(&c->processes, ev->process, &is_new);
	if (!p)
		return -ENOMEM;
	p->process = ev->process;
	bool due = p->has_change && ev->ts > p->changed_ns && ev->ts >= p->due_ns;
	if (due) {
		value_of(c, p, ret);
		p->due_ns = p->changed_ns + MEM_COUNTERS_NS;
	}
	p->has_change = true;
	p->changed_ns = ev->ts;
	int err = count(p, ev);
	return err ? err : due;
}

bool mem_counters_forget(struct mem_counters *c, uint32_t process, struct mem_counters_value *ret)
{
	struct mem_counted *p = ptrarray_get(&c->processes, process);
	bool due = p && p->has_change;
	if (due)
		value_of(c, p, ret);
	free_counted(ptrarray_remove(&c->processes, process));
	return due;
}

bool mem_counters_end(struct mem_counters *c, struct mem_counters_value *ret)
{
	size_t at = 0;
	for (struct mem_counted *p; (p = ptrarray_next(&c->processes, &at));)
		if (mem_counters_forget(c, p->process, ret))
			return true;
	return false;
}
