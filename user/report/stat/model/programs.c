/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/programs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stat_programs_done(struct stat_programs *ps)
{
	for (struct stat_program *g = ps->first, *next; g; g = next) {
		next = g->next;
		stat_numbers_done(&g->numbers);
		free(g);
	}
	ptrmap_done(&ps->by_hash);
}

/* The program of a name, made if it is new. NULL: no memory. */
static struct stat_program *make_program(struct stat_programs *ps, const char *comm)
{
	uint64_t hash = hash_string(hash_start(), comm);
	struct stat_program *head = ptrmap_get(&ps->by_hash, hash), *g = head;
	while (g && strcmp(g->comm, comm))
		g = g->same_hash;
	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g || ptrmap_set(&ps->by_hash, hash, g)) {
		free(g);
		return NULL;
	}
	g->same_hash = head;
	snprintf(g->comm, sizeof(g->comm), "%s", comm);
	*(ps->last ? &ps->last->next : &ps->first) = g;
	ps->last = g;
	ps->count++;
	return g;
}

static int add(struct stat_programs *ps, const struct stat_program *part)
{
	struct stat_program *g = make_program(ps, part->comm);
	if (!g)
		return -ENOMEM;
	uint64_t end = g->begin_ns + g->wall_ns, part_end = part->begin_ns + part->wall_ns;
	if (!g->processes) {
		memcpy(g->producer, part->producer, sizeof(g->producer));
		g->begin_ns = part->begin_ns;
		end = part_end;
	}
	if (part->begin_ns < g->begin_ns)
		g->begin_ns = part->begin_ns;
	g->wall_ns = (end > part_end ? end : part_end) - g->begin_ns;
	g->processes += part->processes;
	return stat_numbers_add(&g->numbers, &part->numbers);
}

int stat_programs_add(struct stat_programs *ps, const struct stat_process *p)
{
	struct stat_program part = {.processes = 1,
				    .begin_ns = p->begin_ns,
				    .wall_ns = p->wall_ns,
				    .numbers = p->numbers};
	memcpy(part.comm, p->comm, sizeof(part.comm));
	memcpy(part.producer, p->producer, sizeof(part.producer));
	return add(ps, &part);
}

int stat_programs_merge(struct stat_programs *ps, const struct stat_programs *more)
{
	int err = 0;
	for (const struct stat_program *g = more->first; g && !err; g = g->next)
		err = add(ps, g);
	return err;
}
