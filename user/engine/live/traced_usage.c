/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/traced_usage.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/process.h"
#include "proc/usage.h"

static void set_comm(struct traced_usage *a, const char *comm)
{
	snprintf(a->comm, sizeof(a->comm), "%s", comm);
}

/* Before exec() a child is called as its parent: no name is better than that of another program. */
static bool is_called_like_parent(const struct traced_usage *a, pid_t parent)
{
	struct process_stat p;
	return parent && !process_read_stat(parent, &p) && !strcmp(p.comm, a->comm);
}

/* stat: NULL: it is not known, or its use so far is of the run. */
static void begin(struct traced_usage *a, const struct session *s, const struct process_stat *stat)
{
	struct usage u;
	a->user_ns = a->system_ns = 0;
	if (!stat)
		return;
	set_comm(a, stat->comm);
	if (is_called_like_parent(a, stat->parent)) {
		if (stat->parent != getpid())
			memcpy(a->forked_as, a->comm, sizeof(a->forked_as));
		*a->comm = 0;
	}
	usage_of(a->pid, stat, &u);
	if (u.start_boot_ns > s->timebase.at[TIMEBASE_BOOTTIME].ns)
		return; /* all that it will have used is of this run */
	a->user_ns = u.user_ns;
	a->system_ns = u.system_ns;
}

/* A child before its exec. False: it was reported without a name, or its start is not known. */
static bool begin_reported(struct traced_usage *a, struct session *s,
			   const struct process_event *born)
{
	uint32_t index = processes_find(&s->processes, (uint32_t)a->pid);
	if (!born->comm || !processes_at(&s->processes, index)->start.known)
		return false;
	snprintf(a->forked_as, sizeof(a->forked_as), "%s", born->comm);
	a->process = index;
	processes_ref(&s->processes, a->process);
	return true;
}

int traced_usage_begin(struct traced_usage *a, struct session *s, const struct process_event *born)
{
	pid_t pid = born->pid;
	*a = (struct traced_usage){.pid = pid};
	if (begin_reported(a, s, born))
		return 0;
	struct process_stat stat;
	bool has_stat = !process_read_stat(pid, &stat);
	struct process_start start = {.boot_ns = has_stat ? usage_start_ns(&stat) : 0,
				      .known = has_stat};
	begin(a, s, has_stat ? &stat : NULL);
	/* The kernel may have reported its exit already: then it is not the next with its pid. */
	int err = has_stat ? processes_begin(&s->processes, (uint32_t)pid, &start, &a->process)
			   : processes_lived(&s->processes, (uint32_t)pid, clock_ns(CLOCK_BOOTTIME),
					     &a->process);
	if (err)
		return err;
	processes_ref(&s->processes, a->process);
	return 0;
}

void traced_usage_restart(struct traced_usage *a, const struct session *s)
{
	struct process_stat stat;
	begin(a, s, process_read_stat(a->pid, &stat) ? NULL : &stat);
}

void traced_usage_name(struct traced_usage *a, const char *comm)
{
	struct process_stat stat;
	*a->forked_as = 0;
	if (comm || !process_read_stat(a->pid, &stat))
		set_comm(a, comm ? comm : stat.comm);
}

/* The name of one that nothing has named: it has not called exec, or not since that is reported.
 * Its own may be gone with it. knows_execs: all that are called are reported. */
static void name_last(struct traced_usage *a, const struct process *p, bool knows_execs)
{
	char before[sizeof(a->forked_as)];
	if (*p->comm || *a->comm || *p->mappings.program)
		return;
	memcpy(before, a->forked_as, sizeof(before));
	traced_usage_name(a, NULL);
	if (!*a->comm && knows_execs)
		set_comm(a, before);
}

uint64_t traced_usage_began_ns(const struct traced_usage *a, const struct session *s)
{
	const struct process_start *start = &processes_at(&s->processes, a->process)->start;
	uint64_t now = now_ns(), suspended = clock_ns(CLOCK_BOOTTIME) - now;
	return start->known && start->boot_ns > suspended ? start->boot_ns - suspended : now;
}

static void note_usage(struct traced_usage *a, const struct usage *u, struct process *p)
{
	p->usage.known = true;
	/* How they divide is a guess that changes. */
	p->usage.user_ns = u->user_ns > a->user_ns ? u->user_ns - a->user_ns : 0;
	p->usage.system_ns = u->system_ns > a->system_ns ? u->system_ns - a->system_ns : 0;
	if (u->has_peak_rss)
		a->peak_rss_bytes = u->peak_rss_bytes;
}

static void note(struct traced_usage *a, struct process *p)
{
	struct usage u;
	if (!*p->comm)
		memcpy(p->comm, *a->comm ? a->comm : p->mappings.program, sizeof(p->comm));
	if (!usage_read(a->pid, &u))
		note_usage(a, &u, p);
	/* Its ring may have been measured since, also of one whose parent has waited for it. */
	if (a->peak_rss_bytes)
		process_set_peak_rss(p, a->peak_rss_bytes);
}

void traced_usage_note(struct traced_usage *a, struct session *s)
{
	struct process *p = processes_at(&s->processes, a->process);
	if (p->announced)
		note(a, p);
}

void traced_usage_last(struct traced_usage *a, struct session *s, bool knows_execs)
{
	name_last(a, processes_at(&s->processes, a->process), knows_execs);
	traced_usage_note(a, s);
}

void traced_usage_end(struct traced_usage *a, struct session *s, bool knows_execs)
{
	struct process *p = processes_at(&s->processes, a->process);
	name_last(a, p, knows_execs);
	note(a, p); /* of a zombie the memory is gone, the CPU time is not */
	p->end = moment_at(now_ns());
	processes_ended(&s->processes, a->process, clock_ns(CLOCK_BOOTTIME));
	processes_unref(&s->processes, a->process);
}
