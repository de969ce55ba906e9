/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/stat_sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *comm_of(const struct stat_process *p)
{
	return p->about ? p->about->comm : "";
}

static int by_comm(const void *a, const void *b)
{
	const struct stat_section *p = a, *q = b;
	int order = strcmp(comm_of(p->numbers), comm_of(q->numbers));
	if (order)
		return order;
	if (p->numbers->pid != q->numbers->pid)
		return p->numbers->pid < q->numbers->pid ? -1 : 1;
	return (p->numbers->process > q->numbers->process) -
	       (p->numbers->process < q->numbers->process);
}

static int by_gc_time(const void *a, const void *b)
{
	const struct stat_process *p = ((const struct stat_section *)a)->numbers;
	const struct stat_process *q = ((const struct stat_section *)b)->numbers;
	if (p->gc_ns != q->gc_ns)
		return p->gc_ns < q->gc_ns ? 1 : -1;
	return by_comm(a, b);
}

/* Adds a process to the sum of its program, which then lasts from the first begin to the last end. */
static int add_process(struct stat_process *sum, struct stat_section *to,
		       const struct stat_process *p)
{
	uint64_t end = sum->begin_ns + to->wall_ns, p_end = p->begin_ns + p->wall_ns;
	if (!to->processes || p->begin_ns < sum->begin_ns)
		sum->begin_ns = p->begin_ns;
	end = to->processes && end > p_end ? end : p_end;
	to->wall_ns = end - sum->begin_ns;
	to->processes++;
	return stat_model_add(sum, p);
}

/* From one section a process to one a program, in the same places. */
static int put_together(struct stat_sections *s)
{
	uint32_t programs = 0;
	qsort(s->section, s->count, sizeof(*s->section), by_comm);
	for (uint32_t i = 0; i < s->count; i++)
		programs += !i || strcmp(comm_of(s->section[i].numbers),
					 comm_of(s->section[i - 1].numbers));
	s->sums = calloc(programs, sizeof(*s->sums));
	if (!s->sums)
		return -ENOMEM;
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct stat_process *p = s->section[i].numbers;
		if (!n || strcmp(s->section[n - 1].comm, comm_of(p))) {
			s->section[n] = (struct stat_section){&s->sums[n], comm_of(p), 0, 0};
			s->sums[n++].about = p->about;
		}
		int err = add_process(&s->sums[n - 1], &s->section[n - 1], p);
		if (err)
			return err;
	}
	s->count = n;
	return 0;
}

int stat_sections_make(const struct stat_model *m, enum stat_by by, uint32_t top,
		       struct stat_sections *ret)
{
	*ret = (struct stat_sections){0};
	ret->section = calloc(m->process_count + 1, sizeof(*ret->section));
	if (!ret->section)
		return -ENOMEM;
	for (const struct stat_process *p = m->processes; p; p = p->next)
		ret->section[ret->count++] = (struct stat_section){p, NULL, 1, p->wall_ns};
	bool programs =
		by == STAT_BY_PROGRAM || (by == STAT_BY_DEFAULT && m->process_count > STAT_MANY);
	int err = programs && ret->count ? put_together(ret) : 0;
	if (programs || top)
		qsort(ret->section, ret->count, sizeof(*ret->section), by_gc_time);
	ret->shown = top && top < ret->count ? top : ret->count;
	return err;
}

void stat_sections_done(struct stat_sections *s)
{
	for (uint32_t i = 0; s->sums && i < s->count; i++)
		histogram_done(&s->sums[i].pauses.whole);
	free(s->sums);
	free(s->section);
	*s = (struct stat_sections){0};
}
