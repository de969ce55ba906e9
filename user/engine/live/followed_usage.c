/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/followed_usage.h"

#include <string.h>

#include "base/clock.h"
#include "proc/process.h"
#include "proc/usage.h"

static bool read_comm(pid_t pid, char *ret)
{
	if (process_read_text(pid, "comm", ret, FOLLOWED_COMM_BYTES) <= 0)
		return false;
	ret[strcspn(ret, "\n")] = 0;
	return true;
}

/* Before exec() a child is called as its parent: no name is better than that of another program. */
static bool is_called_like_parent(const struct followed_usage *a)
{
	char comm[FOLLOWED_COMM_BYTES];
	pid_t parent = process_parent(a->pid);
	return parent && read_comm(parent, comm) && !strcmp(comm, a->comm);
}

static void begin(struct followed_usage *a, const struct session *s, const struct usage *u)
{
	a->user_ns = a->system_ns = 0;
	*a->comm = 0;
	followed_usage_name(a);
	if (is_called_like_parent(a))
		*a->comm = 0;
	if (!u || u->start_boot_ns > s->timebase.at[TIMEBASE_BOOTTIME].ns)
		return; /* all that it will have used is of this run */
	a->user_ns = u->user_ns;
	a->system_ns = u->system_ns;
}

int followed_usage_begin(struct followed_usage *a, struct session *s, pid_t pid)
{
	struct usage u;
	bool has_usage = !usage_read(pid, &u);
	struct process_start start = {.boot_ns = has_usage ? u.start_boot_ns : 0,
				      .known = has_usage};
	*a = (struct followed_usage){.pid = pid};
	begin(a, s, has_usage ? &u : NULL);
	/* The kernel may have reported its exit already: then it is not the next with its pid. */
	int err = has_usage ? processes_begin(&s->processes, (uint32_t)pid, &start, &a->process)
			    : processes_lived(&s->processes, (uint32_t)pid,
					      clock_ns(CLOCK_BOOTTIME), &a->process);
	if (err)
		return err;
	processes_ref(&s->processes, a->process);
	return 0;
}

void followed_usage_restart(struct followed_usage *a, const struct session *s)
{
	struct usage u;
	begin(a, s, usage_read(a->pid, &u) ? NULL : &u);
}

void followed_usage_name(struct followed_usage *a)
{
	char comm[FOLLOWED_COMM_BYTES];
	if (read_comm(a->pid, comm))
		memcpy(a->comm, comm, sizeof(a->comm));
}

uint64_t followed_usage_began_ns(const struct followed_usage *a, const struct session *s)
{
	const struct process_start *start = &processes_at(&s->processes, a->process)->start;
	uint64_t now = now_ns(), suspended = clock_ns(CLOCK_BOOTTIME) - now;
	return start->known && start->boot_ns > suspended ? start->boot_ns - suspended : now;
}

static void note_usage(struct followed_usage *a, const struct usage *u, struct process *p)
{
	p->usage.known = true;
	/* How they divide is a guess that changes. */
	p->usage.user_ns = u->user_ns > a->user_ns ? u->user_ns - a->user_ns : 0;
	p->usage.system_ns = u->system_ns > a->system_ns ? u->system_ns - a->system_ns : 0;
	if (u->has_peak_rss)
		a->peak_rss_bytes = u->peak_rss_bytes;
}

static void note(struct followed_usage *a, struct process *p)
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

void followed_usage_note(struct followed_usage *a, struct session *s)
{
	struct process *p = processes_at(&s->processes, a->process);
	if (p->announced)
		note(a, p);
}

void followed_usage_end(struct followed_usage *a, struct session *s)
{
	struct process *p = processes_at(&s->processes, a->process);
	note(a, p); /* of a zombie the memory is gone, the CPU time is not */
	p->end = moment_at(now_ns());
	processes_ended(&s->processes, a->process, clock_ns(CLOCK_BOOTTIME));
	processes_unref(&s->processes, a->process);
}
