/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/record/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* Nothing if the recorder had no time to make one. */
static void read_state(int dir_fd, unsigned n, struct ebt_recorder_state *ret)
{
	char name[32];
	snprintf(name, sizeof(name), "%u.state", n);
	*ret = (struct ebt_recorder_state){0};
	int fd = file_open(dir_fd, name, O_NOFOLLOW);
	if (fd < 0)
		return;
	if (file_read(fd, ret, sizeof(*ret)) != sizeof(*ret))
		*ret = (struct ebt_recorder_state){0};
	close(fd);
}

static bool has_trace(int dir_fd, unsigned n)
{
	char name[32];
	struct stat st;
	snprintf(name, sizeof(name), "%u.ctf", n);
	return !fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW);
}

/* The process of a trace: a number is used again, but not by one that began at the same time. */
static unsigned find_process(struct mem_programs *p, unsigned n)
{
	const struct ebt_recorder_state *s = &p->state[n];
	if (!s->is_child)
		return 0;
	for (unsigned i = 0; i < n; i++)
		if (p->state[i].is_child && p->state[i].pid == s->pid &&
		    p->state[i].start == s->start)
			return p->process[i];
	return p->processes++;
}

static void count_lost(struct mem_programs *p, bool has_exited)
{
	uint64_t own = 0, own_run = 1, others = 0, others_run = 0;
	const struct ebt_recorder_state *last = NULL;
	for (unsigned n = 0; n < p->count; n++) {
		const struct ebt_recorder_state *s = &p->state[n];
		if (p->process[n]) {
			others++;
			others_run += s->execs;
		} else {
			own++;
			own_run += s->execs;
			last = s;
		}
		others_run += s->children;
	}
	p->lost_execs = own && own_run > own ? (unsigned)(own_run - own) : 0;
	p->lost_children = others_run > others ? (unsigned)(others_run - others) : 0;
	p->cut = has_exited && last && !last->ended && !last->own_malloc && !p->lost_execs;
}

void mem_programs_read(int dir_fd, bool has_exited, struct mem_programs *ret)
{
	ret->count = 0;
	ret->processes = 1;
	for (unsigned n = 0; n < EBT_RECORDER_PROGRAMS && has_trace(dir_fd, n); n++) {
		read_state(dir_fd, n, &ret->state[n]);
		ret->process[n] = find_process(ret, n);
		ret->count++;
	}
	count_lost(ret, has_exited);
}

unsigned mem_programs_pid(const struct mem_programs *p, unsigned process)
{
	for (unsigned n = 0; n < p->count; n++)
		if (p->process[n] == process)
			return p->state[n].pid;
	return 0;
}
