/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *comm_of(const struct stat_section *s)
{
	if (s->program)
		return s->program->comm;
	return s->process->comm;
}

/* A program comes behind the processes of its name. */
static int by_comm(const void *a, const void *b)
{
	const struct stat_section *x = a, *y = b;
	int order = strcmp(comm_of(x), comm_of(y));
	const struct stat_process *p = x->process, *q = y->process;
	if (order || !p || !q)
		return order ? order : !p - !q;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	return (p->number > q->number) - (p->number < q->number);
}

static int by_gc_time(const void *a, const void *b)
{
	const struct stat_numbers *p = ((const struct stat_section *)a)->numbers;
	const struct stat_numbers *q = ((const struct stat_section *)b)->numbers;
	if (p->gc_ns != q->gc_ns)
		return p->gc_ns < q->gc_ns ? 1 : -1;
	return by_comm(a, b);
}

static void add_programs(struct stat_sections *s, const struct stat_programs *programs)
{
	for (const struct stat_program *g = programs->first; g; g = g->next)
		s->section[s->count++] = (struct stat_section){
			.numbers = &g->numbers, .program = g, .wall_ns = g->wall_ns};
}

/* From one section a process to one a program. */
static int put_together(struct stat_sections *s, const struct stat_programs *folded)
{
	int err = stat_programs_merge(&s->sums, folded);
	qsort(s->section, s->count, sizeof(*s->section), by_comm);
	for (uint32_t i = 0; i < s->count && !err; i++)
		err = stat_programs_add(&s->sums, s->section[i].process);
	s->count = 0;
	if (!err)
		add_programs(s, &s->sums);
	return err;
}

int stat_sections_make(const struct stat_snapshot *m, enum stat_by by, uint32_t top,
		       struct stat_sections *ret)
{
	/* No more programs than processes, and those that are folded. */
	size_t most = (size_t)m->listed + m->programs->count + 1;
	*ret = (struct stat_sections){.section = calloc(most, sizeof(*ret->section))};
	if (!ret->section)
		return -ENOMEM;
	for (const struct stat_process *p = m->first; p; p = p->next)
		ret->section[ret->count++] = (struct stat_section){
			.numbers = &p->numbers, .process = p, .wall_ns = p->wall_ns};
	ret->programs = by == STAT_BY_PROGRAM || (by == STAT_BY_DEFAULT && m->count > STAT_MANY);
	int err = 0;
	if (ret->programs)
		err = put_together(ret, m->programs);
	else
		add_programs(ret, m->programs);
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
