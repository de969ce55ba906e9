/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/account.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "proc/process.h"
#include "proc/usage.h"

static bool read_comm(pid_t pid, char *ret)
{
	if (process_read_text(pid, "comm", ret, ACCOUNT_COMM_BYTES) <= 0)
		return false;
	ret[strcspn(ret, "\n")] = 0;
	return true;
}

/* Before exec() a child is called as its parent: no name is better than that of another program. */
static bool is_called_like_parent(const struct account *a)
{
	char stat[512], parent[ACCOUNT_COMM_BYTES];
	int ppid;
	if (process_read_text(a->pid, "stat", stat, sizeof(stat)) <= 0)
		return false;
	const char *end = strrchr(stat, ')');
	return end && sscanf(end + 1, " %*c %d", &ppid) == 1 && read_comm(ppid, parent) &&
	       !strcmp(parent, a->comm);
}

void account_begin(struct account *a, const struct session *s, pid_t pid)
{
	struct usage u;
	*a = (struct account){.pid = pid};
	account_name(a);
	if (is_called_like_parent(a))
		*a->comm = 0;
	if (usage_read(pid, &u) || u.start_boot_ns > s->timebase.at[TIMEBASE_BOOTTIME].ns)
		return; /* all that it will have used is of this run */
	a->user_ns = u.user_ns;
	a->system_ns = u.system_ns;
}

void account_name(struct account *a)
{
	char comm[ACCOUNT_COMM_BYTES];
	if (read_comm(a->pid, comm))
		memcpy(a->comm, comm, sizeof(a->comm));
}

void account_note(const struct account *a, struct session *s)
{
	struct session_process *p = session_find_process(s, (uint32_t)a->pid);
	struct usage u;
	if (!p)
		return;
	if (!*p->comm)
		memcpy(p->comm, a->comm, sizeof(p->comm));
	if (usage_read(a->pid, &u))
		return;
	p->usage.known = true;
	/* How they divide is a guess that changes. */
	p->usage.user_ns = u.user_ns > a->user_ns ? u.user_ns - a->user_ns : 0;
	p->usage.system_ns = u.system_ns > a->system_ns ? u.system_ns - a->system_ns : 0;
	if (u.peak_rss_bytes)
		p->usage.peak_rss_bytes = u.peak_rss_bytes;
}

void account_end(const struct account *a, struct session *s)
{
	struct session_process *p = session_find_process(s, (uint32_t)a->pid);
	account_note(a, s); /* of a zombie the memory is gone, the CPU time is not */
	if (p)
		p->end_ns = now_ns();
}
