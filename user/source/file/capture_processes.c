/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/capture_processes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

/* The limit: for each byte of the file, and beside that. */
#define KEPT_RATE  16
#define KEPT_LEAST (4u << 20)
#define ITEM_BYTES 96 /* about the size of an entry in the session's tables */

void capture_processes_done(struct capture_processes *c)
{
	for (struct capture_incarnate *in = c->first_leaving, *next; in; in = next) {
		next = in->next_leaving;
		free(in);
	}
	ptrmap_free(&c->incarnations);
	ptrmap_done(&c->current);
}

/* The entries that the registry has released since count no more. */
static void settle_leaving(struct capture_processes *c)
{
	const struct processes *ps = &c->session->processes;
	struct capture_incarnate *in;
	while ((in = c->first_leaving)) {
		const struct process *p = processes_at(ps, in->process);
		if (p && p->number == in->age)
			return;
		c->kept_bytes -= in->kept_bytes;
		c->first_leaving = in->next_leaving;
		free(in);
	}
}

static bool may_keep(struct capture_processes *c, uint64_t bytes, uint64_t *counted)
{
	uint64_t limit = KEPT_LEAST + KEPT_RATE * c->stats->file_bytes;
	bytes += ITEM_BYTES;
	settle_leaving(c);
	bool may = c->kept_bytes + bytes <= limit;
	c->kept_bytes += may ? bytes : 0;
	*counted += may ? bytes : 0;
	if (!may && !c->reported_many)
		log_at(LOG_NORMAL,
		       "capture '%s' has more names and processes than a file of its size can be "
		       "about: those that follow are left out",
		       c->name);
	c->reported_many |= !may;
	return may;
}

bool capture_processes_may_keep(struct capture_processes *c, uint64_t bytes)
{
	struct capture_incarnate *in = c->last ? c->last : &c->unknown;
	return may_keep(c, bytes, &in->kept_bytes);
}

static int enter_process(struct capture_processes *c, const struct capture_incarnation *i,
			 uint32_t *ret)
{
	struct processes *ps = &c->session->processes;
	struct process_start start = {i->start_boot_ns, i->start_known};
	if (!i->number)
		return processes_of(ps, i->pid, ret);
	if (ptrmap_get(&c->current, i->pid)) /* the incarnation before has ended */
		processes_end(ps, processes_find(ps, i->pid));
	return processes_begin(ps, i->pid, &start, ret);
}

/* NULL in *ret: beyond the limit. 0 or -ENOMEM. */
static int enter(struct capture_processes *c, const struct capture_incarnation *i, uint64_t key,
		 struct capture_incarnate **ret)
{
	struct processes *ps = &c->session->processes;
	uint64_t bytes = 0;
	bool is_new;
	*ret = NULL;
	if (!i->pid || !may_keep(c, sizeof(struct process), &bytes))
		return 0;
	uint32_t process;
	int err = enter_process(c, i, &process);
	struct capture_incarnate *in = err ? NULL : ptrmap_make(&c->incarnations, key, &is_new);
	if (!in)
		return -ENOMEM;
	*in = (struct capture_incarnate){.process = process,
					 .number = i->number,
					 .age = processes_at(ps, process)->number,
					 .kept_bytes = bytes};
	processes_ref(ps, process);
	*ret = in;
	return 0;
}

int capture_processes_mean(struct capture_processes *c, const struct capture_incarnation *i)
{
	uint64_t key = (uint64_t)i->pid << 32 | i->number;
	struct capture_incarnate *in = ptrmap_get(&c->incarnations, key);
	int err = in ? 0 : enter(c, i, key, &in);
	/* Beyond the limit the pid stands for no process. */
	if (!err && (in || ptrmap_get(&c->current, i->pid)))
		err = ptrmap_set(&c->current, i->pid, in ? in : &c->unknown);
	c->last_pid = i->pid;
	c->last = in;
	return err;
}

int capture_processes_find(struct capture_processes *c, uint32_t pid, uint32_t *ret)
{
	int err = 0;
	if (pid != c->last_pid) {
		c->last_pid = pid;
		c->last = ptrmap_get(&c->current, pid);
		if (!c->last)
			err = capture_processes_mean(c, &(struct capture_incarnation){.pid = pid});
	}
	*ret = c->last ? c->last->process : PROCESS_UNKNOWN;
	return err;
}

uint32_t capture_processes_known(const struct capture_processes *c, uint32_t pid)
{
	const struct capture_incarnate *in = ptrmap_get(&c->current, pid);
	return in ? in->process : processes_find(&c->session->processes, pid);
}

bool capture_processes_may_go(const struct capture_processes *c, uint32_t pid)
{
	const struct capture_incarnate *in = ptrmap_get(&c->current, pid);
	return !c->keeps && in && in->process;
}

void capture_processes_gone(struct capture_processes *c, uint32_t pid)
{
	if (!capture_processes_may_go(c, pid))
		return;
	struct processes *ps = &c->session->processes;
	struct capture_incarnate *in = ptrmap_remove(&c->current, pid);
	ptrmap_remove(&c->incarnations, (uint64_t)pid << 32 | in->number);
	c->last_pid = 0;
	c->last = NULL;
	in->next_leaving = NULL;
	*(c->first_leaving ? &c->last_leaving->next_leaving : &c->first_leaving) = in;
	c->last_leaving = in;
	processes_end(ps, in->process);
	processes_unref(ps, in->process);
}
