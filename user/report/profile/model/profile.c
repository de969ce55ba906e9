/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/model/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "session/marker_values.h"

int profile_model_init(struct profile_model *m, const struct session *s, enum profile_by by)
{
	*m = (struct profile_model){.session = s, .by = by};
	return by == PROFILE_BY_SPAN ? profile_spans_new(s, &m->spans) : 0;
}

void profile_model_done(struct profile_model *m)
{
	for (uint32_t i = 0; i < m->rows; i++)
		stacks_drop(m->session->stacks, m->row[i].stack);
	free(m->process);
	free(m->context);
	free(m->row);
	profile_spans_free(m->spans);
	places_done(&m->places);
	waits_done(&m->waits);
	map_done(&m->process_of);
	map_done(&m->context_of);
	map_done(&m->row_of);
	*m = (struct profile_model){0};
}

/* NULL: no memory. */
static struct profile_process *find_process(struct profile_model *m, uint32_t index)
{
	uint64_t *at = map_put(&m->process_of, index);
	if (!at || *at)
		return at ? &m->process[*at - 1] : NULL;
	if (!array_reserve(m->process, m->process_room, m->processes)) {
		map_delete(&m->process_of, index);
		return NULL;
	}
	m->process[m->processes++] = (struct profile_process){
		.index = index, .pid = processes_pid(&m->session->processes, index)};
	*at = m->processes;
	return &m->process[m->processes - 1];
}

/* 0 or -ENOMEM. */
static int section_key(const struct profile_model *m, const struct ebt_event *ev, uint16_t domain,
		       uint32_t *ret)
{
	*ret = m->by == PROFILE_BY_THREAD ? ev->tid : m->by == PROFILE_BY_DOMAIN ? domain : 0;
	return m->spans ? profile_spans_find(m->spans, ev, domain, ret) : 0;
}

/* Exact: no two contexts have one key. Its number in *ret. 0 or -ENOMEM. */
static int find_context(struct profile_model *m, const struct profile_context *c, uint32_t *ret)
{
	uint64_t key = (uint64_t)c->process << 44 | (uint64_t)c->part << 40 |
		       (uint64_t)c->place << 32 | c->key;
	uint64_t *at = map_put(&m->context_of, key);
	if (!at)
		return -ENOMEM;
	if (!*at) {
		if (!array_reserve(m->context, m->context_room, m->contexts)) {
			map_delete(&m->context_of, key);
			return -ENOMEM;
		}
		m->context[m->contexts++] = *c;
		*at = m->contexts;
	}
	*ret = (uint32_t)(*at - 1);
	return 0;
}

static int count_row(struct profile_model *m, uint32_t stack, uint32_t context, uint64_t weight)
{
	uint64_t *at = map_put(&m->row_of, (uint64_t)stack << 32 | context);
	if (!at)
		return -ENOMEM;
	if (!*at) {
		if (!array_reserve(m->row, m->row_room, m->rows)) {
			map_delete(&m->row_of, (uint64_t)stack << 32 | context);
			return -ENOMEM;
		}
		m->row[m->rows++] = (struct profile_row){.stack = stack, .context = context};
		stacks_hold(m->session->stacks, stack);
		*at = m->rows;
	}
	m->row[*at - 1].samples += weight;
	m->weight += weight;
	return 0;
}

_Static_assert(PLACES < 256, "a place is one byte");
_Static_assert(BLAME_PARTS <= 16, "a part has 4 bits");
#define MAX_PROCESSES (1u << 20) /* of a context's key; later ones count as the last */

static int count_stack(struct profile_model *m, const struct ebt_event *ev, enum blame_part part,
		       uint64_t weight)
{
	unsigned place;
	struct profile_context c = {0};
	struct profile_process *p = find_process(m, ev->process);
	if (!p)
		return -ENOMEM;
	uint16_t domain = places_find(&m->places, ev, &place);
	p->has_domains |= domain != EBT_NO_DOMAIN;
	c.process = (uint32_t)(p - m->process);
	if (c.process >= MAX_PROCESSES)
		c.process = MAX_PROCESSES - 1;
	c.place = (uint8_t)place;
	c.part = (uint8_t)part;
	uint32_t context;
	int err = section_key(m, ev, domain, &c.key);
	if (!err)
		err = find_context(m, &c, &context);
	return err ? err : count_row(m, ev->stack, context, weight);
}

static int count_sample(struct profile_model *m, const struct ebt_event *ev)
{
	int err = count_stack(m, ev, BLAME_CPU, m->time == PROFILE_WALL ? ev->pos : 1);
	if (err)
		return err;
	m->samples++;
	m->kernel += ev->arg[0] != 0;
	m->time_ns += ev->pos;
	m->period_ns = ev->pos;
	m->ends[ev->id < KINDS_SAMPLE_ENDS ? ev->id : KINDS_SAMPLE_ENDS]++;
	return 0;
}

/* The place is that where the block ends, as its thread has not run since it began. */
static int count_block(struct profile_model *m, const struct ebt_event *ev)
{
	struct offcpu o;
	uint64_t wait_ns;
	offcpu_get(m->session, ev, &o);
	enum blame_part part = waits_part(&o, &wait_ns);
	uint64_t ns = o.end_ns - o.begin_ns, blocked_ns = ns - wait_ns;
	if (ns < m->min_ns)
		return 0;
	int err = blocked_ns ? count_stack(m, ev, part, blocked_ns) : 0;
	if (!err && wait_ns)
		err = count_stack(m, ev, BLAME_WAIT, wait_ns);
	return err ? err : waits_add(&m->waits, &o, ev->stack != 0);
}

static int count_event(struct profile_model *m, const struct ebt_event *ev)
{
	if (ev->kind == EBT_SAMPLE)
		return m->time == PROFILE_OFF_CPU ? 0 : count_sample(m, ev);
	if (m->time != PROFILE_ON_CPU)
		return count_block(m, ev);
	m->unasked++;
	return 0;
}

static int note_event(struct profile_model *m, const struct ebt_event *ev)
{
	int err = m->spans ? profile_spans_event(m->spans, ev) : 0;
	if (err)
		return err;
	bool is_of_runtime = kinds_is_of_lane(ev->kind) && !marker_id_is(ev->id);
	if (!is_of_runtime && ev->kind != EBT_LOST)
		return 0;
	if (ev->kind != EBT_LOST) {
		struct profile_process *p = find_process(m, ev->process);
		if (!p)
			return -ENOMEM;
		p->has_events = true;
		p->has_domains |= ev->domain != EBT_NO_DOMAIN;
	}
	return places_event(&m->places, ev);
}

int profile_model_events(struct profile_model *m, const struct ebt_event *ev, size_t n)
{
	int err = 0;
	for (size_t i = 0; i < n && !err; i++) {
		if (!m->first_ns)
			m->first_ns = ev[i].ts;
		m->last_ns = ev[i].ts;
		bool counts = ev[i].kind == EBT_SAMPLE || ev[i].kind == EBT_OFFCPU;
		err = counts ? count_event(m, &ev[i]) : note_event(m, &ev[i]);
	}
	return err;
}

static void keep_process(struct profile_model *m, struct profile_process *p)
{
	const struct process *of = processes_at(&m->session->processes, p->index);
	snprintf(p->comm, sizeof(p->comm), "%s", of->comm);
	p->has_cpu = of->usage.known;
	p->cpu_ns = of->usage.user_ns + of->usage.system_ns;
}

int profile_model_forget(struct profile_model *m, uint32_t process)
{
	const uint64_t *at = map_get(&m->process_of, process);
	int err = m->spans ? profile_spans_forget(m->spans, process, m->last_ns) : 0;
	places_forget(&m->places, process);
	if (!at)
		return err;
	struct profile_process *p = &m->process[*at - 1];
	keep_process(m, p);
	p->index = PROCESS_UNKNOWN;
	map_delete(&m->process_of, process);
	return err;
}

void profile_model_end(struct profile_model *m)
{
	for (uint32_t i = 0; i < m->processes; i++)
		if (m->process[i].index != PROCESS_UNKNOWN)
			keep_process(m, &m->process[i]);
	waits_sort(&m->waits);
}

/* The frame that a part is, held. 0: no memory. */
static uint32_t make_mark(const struct session *s, enum blame_part part)
{
	char name[64];
	snprintf(name, sizeof(name), "[%s]", blame_part_text(part));
	struct frame_position at = {.function = strings_put(s->strings, name, strlen(name))};
	struct frame f = {.count = 1, .position = &at};
	uint32_t frame = at.function ? frames_put(s->frames, &f) : 0;
	strings_drop(s->strings, at.function);
	return frame;
}

int profile_model_mark(struct profile_model *m)
{
	uint32_t mark[BLAME_PARTS] = {0};
	struct stacks *stacks = m->session->stacks;
	int err = 0;
	for (uint32_t i = 0; i < m->rows && !err; i++) {
		unsigned part = m->context[m->row[i].context].part;
		if (part == BLAME_CPU)
			continue;
		mark[part] = mark[part] ? mark[part] : make_mark(m->session, part);
		uint32_t stack = mark[part] ? stacks_push(stacks, m->row[i].stack, mark[part]) : 0;
		err = stack ? 0 : -ENOMEM;
		stacks_hold(stacks, stack);
		stacks_drop(stacks, m->row[i].stack);
		m->row[i].stack = stack;
	}
	for (unsigned i = 0; i < BLAME_PARTS; i++)
		frames_drop(m->session->frames, mark[i]);
	return err;
}

unsigned profile_place(const struct profile_model *m, const struct profile_context *c)
{
	const struct profile_process *p = &m->process[c->process];
	if (c->place == PLACE_SILENT && p->has_events)
		return PLACE_MUTATOR;
	return c->place == PLACE_OUTSIDE && !p->has_domains ? PLACE_THREADS : c->place;
}

bool profile_cpu_ns(const struct profile_model *m, uint64_t *ret)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < m->processes; i++) {
		if (!m->process[i].has_cpu)
			return false;
		sum += m->process[i].cpu_ns;
	}
	*ret = sum;
	return m->processes;
}
