/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more entry. */
static bool has_room(struct processes *ps)
{
	if (ps->count < ps->cap)
		return true;
	uint32_t cap = ps->cap ? 2 * ps->cap : 16;
	struct process **entry = realloc(ps->entry, cap * sizeof(struct process *));
	if (!entry)
		return false;
	ps->entry = entry;
	uint32_t *pid = realloc(ps->pid, cap * sizeof(*pid));
	if (!pid)
		return false;
	ps->pid = pid;
	ps->cap = cap;
	return true;
}

/* A new entry, not yet found by its pid. NULL: no memory. */
static struct process *add(struct processes *ps, uint32_t pid)
{
	struct process *p = has_room(ps) ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	p->index = ps->count++;
	p->pid = pid;
	ps->entry[p->index] = p;
	ps->pid[p->index] = pid;
	return p;
}

int processes_init(struct processes *ps)
{
	*ps = (struct processes){0};
	if (add(ps, 0))
		return 0;
	processes_done(ps);
	return -ENOMEM;
}

static void free_process(struct process *p)
{
	ptrmap_free(&p->user_names);
	free(p);
}

void processes_done(struct processes *ps)
{
	for (uint32_t i = 0; i < ps->count; i++)
		free_process(ps->entry[i]);
	free(ps->entry);
	free(ps->pid);
	map_done(&ps->by_pid);
	*ps = (struct processes){0};
}

uint32_t processes_find(const struct processes *ps, uint32_t pid)
{
	const uint64_t *index = pid ? map_get(&ps->by_pid, pid) : NULL;
	return index ? (uint32_t)*index : PROCESS_UNKNOWN;
}

/* The pid's next incarnation. */
static int add_incarnation(struct processes *ps, uint32_t pid, uint32_t *ret_index)
{
	uint64_t *newest = map_put(&ps->by_pid, pid);
	struct process *p = newest ? add(ps, pid) : NULL;
	if (!p) {
		if (newest && !*newest)
			map_delete(&ps->by_pid, pid);
		return -ENOMEM;
	}
	p->older = (uint32_t)*newest;
	if (p->older)
		p->ordinal = ps->entry[p->older]->ordinal + 1;
	*newest = *ret_index = p->index;
	return 0;
}

/* Two known starts decide; else a process that has ended is not the one that lives. */
static bool is_same(const struct process *p, const struct process_start *start)
{
	if (start->known && p->start.known)
		return p->start.boot_ns == start->boot_ns;
	return !p->ended;
}

int processes_begin(struct processes *ps, uint32_t pid, const struct process_start *start,
		    uint32_t *ret_index)
{
	static const struct process_start not_known = {.known = false};
	uint32_t index = processes_find(ps, pid);
	if (!start)
		start = &not_known;
	if (pid && (!index || !is_same(ps->entry[index], start))) {
		uint32_t before = index;
		int err = add_incarnation(ps, pid, &index);
		if (err)
			return err;
		if (before)
			processes_end(ps, before);
	}
	if (pid && start->known)
		ps->entry[index]->start = *start;
	*ret_index = index;
	return 0;
}

int processes_of(struct processes *ps, uint32_t pid, uint32_t *ret_index)
{
	uint32_t index = processes_find(ps, pid);
	int err = pid && !index ? add_incarnation(ps, pid, &index) : 0;
	if (!err)
		*ret_index = index;
	return err;
}

void processes_end(struct processes *ps, uint32_t index)
{
	if (index)
		ps->entry[index]->ended = true;
}

struct process *processes_announce(struct processes *ps, uint32_t index)
{
	struct process *p = ps->entry[index];
	if (p->announced)
		return p;
	p->announced = true;
	*(ps->last_announced ? &ps->last_announced->next_announced : &ps->first_announced) = p;
	ps->last_announced = p;
	return p;
}

const struct process *processes_next(const struct processes *ps, const struct process *p)
{
	return p ? p->next_announced : ps->first_announced;
}

int processes_set_user_name(struct processes *ps, uint32_t index, uint32_t id, const char *name)
{
	char *old = ptrmap_get(&ps->entry[index]->user_names, id);
	if (old && !strcmp(old, name))
		return 0;
	char *copy = strdup(name);
	if (!copy || ptrmap_set(&ps->entry[index]->user_names, id, copy)) {
		free(copy);
		return -ENOMEM;
	}
	free(old);
	ps->renames++;
	return 0;
}

const char *processes_user_name(const struct processes *ps, uint32_t index, uint32_t id)
{
	return ptrmap_get(&ps->entry[index]->user_names, id);
}

uint32_t processes_raw_phase(const struct processes *ps, uint32_t index, uint32_t id)
{
	if (id & EBT_UNKNOWN_ID)
		return id & ~EBT_UNKNOWN_ID;
	const struct traits *t = &ps->entry[index]->traits;
	return t->raw_phase && id < t->raw_phases ? t->raw_phase[id] : id;
}
