/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/stat_sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *comm_of(const struct stat_section *s)
{
	if (s->program)
		return s->program->comm;
	return s->process->about ? s->process->about->comm : "";
}

/* Two programs never have one name. */
static int by_comm(const void *a, const void *b)
{
	const struct stat_section *x = a, *y = b;
	int order = strcmp(comm_of(x), comm_of(y));
	if (order || !x->process || !y->process)
		return order;
	const struct stat_process *p = x->process, *q = y->process;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	return (p->process > q->process) - (p->process < q->process);
}

static int by_gc_time(const void *a, const void *b)
{
	const struct stat_numbers *p = ((const struct stat_section *)a)->numbers;
	const struct stat_numbers *q = ((const struct stat_section *)b)->numbers;
	if (p->gc_ns != q->gc_ns)
		return p->gc_ns < q->gc_ns ? 1 : -1;
	return by_comm(a, b);
}

/* From one section a process to one a program. */
static int put_together(struct stat_sections *s)
{
	int err = 0;
	qsort(s->section, s->count, sizeof(*s->section), by_comm);
	for (uint32_t i = 0; i < s->count && !err; i++)
		err = stat_programs_add(&s->sums, s->section[i].process);
	s->count = 0;
	for (const struct stat_program *g = s->sums.first; g; g = g->next)
		s->section[s->count++] = (struct stat_section){
			.numbers = &g->numbers, .program = g, .wall_ns = g->wall_ns};
	return err;
}

int stat_sections_make(const struct stat_model *m, enum stat_by by, uint32_t top,
		       struct stat_sections *ret)
{
	uint32_t processes = m->processes.count;
	*ret = (struct stat_sections){.section = calloc(processes + 1, sizeof(*ret->section))};
	if (!ret->section)
		return -ENOMEM;
	for (const struct stat_process *p = m->processes.first; p; p = p->next)
		ret->section[ret->count++] = (struct stat_section){
			.numbers = &p->numbers, .process = p, .wall_ns = p->wall_ns};
	ret->programs = by == STAT_BY_PROGRAM || (by == STAT_BY_DEFAULT && processes > STAT_MANY);
	int err = ret->programs ? put_together(ret) : 0;
	if (ret->programs || top)
		qsort(ret->section, ret->count, sizeof(*ret->section), by_gc_time);
	ret->shown = top && top < ret->count ? top : ret->count;
	return err;
}

void stat_sections_done(struct stat_sections *s)
{
	stat_programs_done(&s->sums);
	free(s->section);
	*s = (struct stat_sections){0};
}
