/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "codec/eio/eio.h"

/*
 * The table of lanes: assigns dense ids, from 1, and keeps of each which process it belongs to and
 * which domain or thread it is. The lanes of a process form a list, so they are released together;
 * a released id is assigned again. Which domain or thread has which lane is the process's own
 * (session/processes.h), through which everybody else uses this table. Not thread-safe.
 */

static void process_lanes_done(struct process_lanes *t)
{
	free(t->at);
	*t = (struct process_lanes){0};
}

/* Adds a lane, a copy of *lane, before lane->next. Its id; 0: no memory. */
static uint32_t process_lanes_add(struct process_lanes *t, const struct process_lane *lane)
{
	uint32_t id = t->spare;
	if (id) {
		t->spare = t->at[id].next;
		t->at[id] = *lane;
		return id;
	}
	if (!array_reserve(t->at, t->cap, t->count + 1))
		return 0;
	t->at[++t->count] = *lane;
	return t->count;
}

/* Releases the lane and those behind it in its list. 0 does nothing. */
static void process_lanes_release(struct process_lanes *t, uint32_t first)
{
	if (!first)
		return;
	uint32_t last = first;
	while (t->at[last].next)
		last = t->at[last].next;
	t->at[last].next = t->spare;
	t->spare = first;
}

#define KINDS_KEPT 64 /* kinds of programs in a run; they are the traced programs' texts */

/* Room for one more entry. */
static bool has_room(struct processes *ps)
{
	if (ps->spares || ps->count < ps->cap)
		return true;
	uint32_t entries = ps->cap, pids = ps->cap, spares = ps->cap;
	if (!array_reserve(ps->entry, entries, ps->count) ||
	    !array_reserve(ps->pid, pids, ps->count) ||
	    !array_reserve(ps->spare, spares, ps->count))
		return false;
	ps->cap = entries;
	return true;
}

/* A new entry, not yet found by its pid. NULL: no memory. */
static struct process *add(struct processes *ps, uint32_t pid)
{
	struct process *p = has_room(ps) ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	p->index = ps->spares ? ps->spare[--ps->spares] : ps->count++;
	p->pid = pid;
	p->number = ps->numbers++;
	p->plain = !ps->released;
	ps->entry[p->index] = p;
	ps->pid[p->index] = pid;
	return p;
}

int processes_init(struct processes *ps, struct strings *strings)
{
	*ps = (struct processes){.strings = strings};
	ps->lanes = calloc(1, sizeof(*ps->lanes));
	if (ps->lanes && add(ps, 0))
		return 0;
	processes_done(ps);
	return -ENOMEM;
}

static void free_process(const struct processes *ps, struct process *p)
{
	if (!p)
		return;
	size_t at = 0;
	for (const struct map_slot *name; (name = map_next(&p->user_names, &at));)
		strings_drop(ps->strings, (uint32_t)name->value);
	map_done(&p->user_names);
	free(p->meanings);
	alloc_trace_done(&p->alloc_trace, ps->strings);
	mappings_done(&p->mappings);
	map_done(&p->thread_lanes);
	free(p->lane);
	free(p);
}

void processes_done(struct processes *ps)
{
	for (uint32_t i = 0; i < ps->count; i++)
		free_process(ps, ps->entry[i]);
	free(ps->entry);
	free(ps->pid);
	free(ps->spare);
	free(ps->gone);
	if (ps->lanes)
		process_lanes_done(ps->lanes);
	free(ps->lanes);
	free(ps->kind);
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
	p->plain &= !p->older;
	if (p->older)
		ps->entry[p->older]->newer = p->index;
	*newest = *ret_index = p->index;
	return 0;
}

/* True if this incarnation has the start. Decided by two known starts, or by a start and a moment
 * at which the incarnation lived; else an incarnation that has ended is another one. */
static bool is_same(const struct process *p, const struct process_start *start)
{
	if (start->known && p->start.known)
		return p->start.boot_ns == start->boot_ns;
	if (start->known && p->lived_boot_ns)
		return start->boot_ns <= p->lived_boot_ns;
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

/* An incarnation before another one. */
static int add_before(struct processes *ps, uint32_t pid, uint32_t newer, uint32_t *ret_index)
{
	if (!newer)
		return add_incarnation(ps, pid, ret_index);
	struct process *p = add(ps, pid);
	if (!p)
		return -ENOMEM;
	p->plain = false;
	p->newer = newer;
	p->older = ps->entry[newer]->older;
	if (p->older)
		ps->entry[p->older]->newer = p->index;
	ps->entry[newer]->older = *ret_index = p->index;
	return 0;
}

static bool began_later(const struct process *p, uint64_t boot_ns)
{
	return p->start.known && p->start.boot_ns > boot_ns;
}

static bool ended_before(const struct process *p, uint64_t boot_ns)
{
	return p->ended_boot_ns && p->ended_boot_ns + PROCESS_TICK_NS < boot_ns;
}

int processes_lived(struct processes *ps, uint32_t pid, uint64_t boot_ns, uint32_t *ret_index)
{
	uint32_t index = processes_find(ps, pid), newer = 0;
	for (; index && began_later(ps->entry[index], boot_ns); index = ps->entry[index]->older)
		newer = index;
	int err = pid && (!index || ended_before(ps->entry[index], boot_ns))
			  ? add_before(ps, pid, newer, &index)
			  : 0;
	if (err)
		return err;
	struct process *p = ps->entry[index];
	if (index && (!p->lived_boot_ns || boot_ns < p->lived_boot_ns))
		p->lived_boot_ns = boot_ns;
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

/* Queues a process that has ended and has no references. */
static void queue_gone(struct processes *ps, struct process *p)
{
	if (!p->ended || p->refs || p->queued || p == ps->first_announced)
		return;
	if (ps->gone_first && ps->gone_first + ps->gone_count == ps->gone_cap) {
		memmove(ps->gone, ps->gone + ps->gone_first, ps->gone_count * sizeof(*ps->gone));
		ps->gone_first = 0;
	}
	if (!array_reserve(ps->gone, ps->gone_cap, ps->gone_count))
		return; /* it stays */
	ps->gone[ps->gone_first + ps->gone_count++] = p->index;
	p->queued = true;
}

void processes_end(struct processes *ps, uint32_t index)
{
	if (!index)
		return;
	ps->entry[index]->ended = true;
	queue_gone(ps, ps->entry[index]);
}

void processes_ended(struct processes *ps, uint32_t index, uint64_t boot_ns)
{
	struct process *p = ps->entry[index];
	if (index && (!p->ended_boot_ns || boot_ns < p->ended_boot_ns))
		p->ended_boot_ns = boot_ns;
	processes_end(ps, index);
}

void processes_end_unused(struct processes *ps, uint32_t index)
{
	if (!ps->entry[index]->refs)
		processes_end(ps, index);
}

void processes_ref(const struct processes *ps, uint32_t index)
{
	ps->entry[index]->refs++;
}

void processes_unref(struct processes *ps, uint32_t index)
{
	ps->entry[index]->refs--;
	queue_gone(ps, ps->entry[index]);
}

uint32_t processes_take_gone(struct processes *ps)
{
	struct process *p = ps->entry[ps->gone[ps->gone_first++]];
	ps->gone_count--;
	p->queued = false;
	return p->refs || p == ps->first_announced ? PROCESS_UNKNOWN : p->index;
}

static uint32_t assign_lane(const struct processes *ps, struct process *p, uint16_t domain,
			    uint32_t tid)
{
	struct process_lane lane = {
		.process = p->index, .tid = tid, .next = p->first_lane, .domain = domain};
	uint32_t id = process_lanes_add(ps->lanes, &lane);
	if (id)
		p->first_lane = id;
	return id;
}

uint32_t processes_add_lane(const struct processes *ps, uint32_t index, uint16_t domain)
{
	struct process *p = ps->entry[index];
	uint16_t at = (uint16_t)(domain + 1);
	if (!array_room(p->lane, p->lanes, at))
		return 0;
	return p->lane[at] = assign_lane(ps, p, domain, 0);
}

uint32_t processes_thread_lane(const struct processes *ps, uint32_t index, uint32_t tid)
{
	struct process *p = ps->entry[index];
	if (!tid)
		return processes_lane(ps, index, EBT_NO_DOMAIN);
	uint64_t *lane = map_put(&p->thread_lanes, tid);
	if (!lane)
		return 0;
	if (!*lane)
		*lane = assign_lane(ps, p, EBT_NO_DOMAIN, tid);
	return (uint32_t)*lane;
}

static void keep_kind(struct processes *ps, const struct process *p)
{
	for (uint32_t i = 0; i < ps->kinds; i++)
		if (!strcmp(ps->kind[i].producer, p->producer))
			return;
	if (!*p->producer || ps->kinds == KINDS_KEPT)
		return;
	if (!array_more(ps->kind, ps->kinds))
		return;
	struct process_kind *kept = &ps->kind[ps->kinds++];
	*kept = (struct process_kind){.traits = p->traits};
	memcpy(kept->producer, p->producer, sizeof(kept->producer));
}

/* Takes it out of the chain of the incarnations of its pid. */
static void unchain(struct processes *ps, const struct process *p)
{
	if (p->newer)
		ps->entry[p->newer]->older = p->older;
	else if (p->older)
		*map_get(&ps->by_pid, p->pid) = p->older;
	else
		map_delete(&ps->by_pid, p->pid);
	if (p->older)
		ps->entry[p->older]->newer = p->newer;
}

void processes_release(struct processes *ps, uint32_t index)
{
	struct process *p = ps->entry[index];
	if (p->announced) {
		*(p->prev_announced ? &p->prev_announced->next_announced : &ps->first_announced) =
			p->next_announced;
		*(p->next_announced ? &p->next_announced->prev_announced : &ps->last_announced) =
			p->prev_announced;
		keep_kind(ps, p);
	}
	unchain(ps, p);
	process_lanes_release(ps->lanes, p->first_lane);
	ps->released++;
	ps->entry[index] = NULL;
	ps->pid[index] = 0;
	ps->spare[ps->spares++] = index;
	free_process(ps, p);
}

struct process *processes_announce(struct processes *ps, uint32_t index)
{
	struct process *p = ps->entry[index];
	if (p->announced)
		return p;
	p->announced = true;
	p->prev_announced = ps->last_announced;
	*(ps->last_announced ? &ps->last_announced->next_announced : &ps->first_announced) = p;
	ps->last_announced = p;
	return p;
}

const struct process *processes_next(const struct processes *ps, const struct process *p)
{
	return p ? p->next_announced : ps->first_announced;
}

bool processes_next_kind(const struct processes *ps, size_t *at, struct process_kind *ret)
{
	for (size_t i = *at; i < ps->kinds + ps->count; i++) {
		const struct process *p = i < ps->kinds ? NULL : ps->entry[i - ps->kinds];
		if (i >= ps->kinds && (!p || !p->announced))
			continue;
		*at = i + 1;
		*ret = p ? (struct process_kind){.traits = p->traits} : ps->kind[i];
		if (p)
			memcpy(ret->producer, p->producer, sizeof(ret->producer));
		return true;
	}
	return false;
}

static int set_meaning(struct process *p, uint32_t id, enum eio_event meaning)
{
	if (id >= PROCESS_USER_IDS || (!p->meanings && meaning == EIO_NONE))
		return 0;
	if (!p->meanings)
		p->meanings = calloc(PROCESS_USER_IDS, 1);
	if (!p->meanings)
		return -ENOMEM;
	p->meanings[id] = (uint8_t)meaning;
	return 0;
}

int processes_set_user_name(struct processes *ps, uint32_t index, uint32_t id, const char *name)
{
	uint32_t string = strings_put(ps->strings, name, strlen(name));
	uint64_t *kept = string ? map_put(&ps->entry[index]->user_names, id) : NULL;
	if (!kept) {
		strings_drop(ps->strings, string);
		return -ENOMEM;
	}
	strings_drop(ps->strings, (uint32_t)*kept);
	*kept = string;
	return set_meaning(ps->entry[index], id, eio_event_named(name));
}

uint32_t processes_user_string(const struct processes *ps, uint32_t index, uint32_t id)
{
	const uint64_t *string = map_get(&ps->entry[index]->user_names, id);
	return string ? (uint32_t)*string : 0;
}

const char *processes_user_name(const struct processes *ps, uint32_t index, uint32_t id)
{
	uint32_t string = processes_user_string(ps, index, id);
	return string ? strings_text(ps->strings, string) : NULL;
}

uint32_t processes_raw_phase(const struct processes *ps, uint32_t index, uint32_t id)
{
	if (id & EBT_UNKNOWN_ID)
		return id & ~EBT_UNKNOWN_ID;
	const struct traits *t = &ps->entry[index]->traits;
	return t->raw_phase && id < t->raw_phases ? t->raw_phase[id] : id;
}

void processes_lone(struct processes *ps, uint32_t index, uint64_t from_ns)
{
	struct process *p = ps->entry[index];
	p->lone_from_ns = from_ns;
	p->lone_until_ns = UINT64_MAX;
	ps->any_lone = true;
}

void processes_not_lone(struct processes *ps, uint32_t index, uint64_t from_ns)
{
	struct process *p = ps->entry[index];
	if (from_ns < p->lone_until_ns)
		p->lone_until_ns = from_ns;
}

void processes_none_lone(struct processes *ps, uint64_t from_ns)
{
	for (uint32_t i = 0; ps->any_lone && i < ps->count; i++)
		if (ps->entry[i])
			processes_not_lone(ps, i, from_ns);
}
