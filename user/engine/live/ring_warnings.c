/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/ring_warnings.h"

#include <sys/stat.h>

#include "session/language.h"

/* The first that is the same file as one before it; n: none is. */
static int find_same(const struct ringfile *found, int n)
{
	struct stat st[RINGFILE_MAX];
	for (int i = 0; i < n; i++) {
		if (fstat(found[i].fd, &st[i]))
			st[i] = (struct stat){0};
		for (int j = 0; j < i; j++)
			if (st[i].st_ino && st[i].st_ino == st[j].st_ino &&
			    st[i].st_dev == st[j].st_dev)
				return i;
	}
	return n;
}

void ring_warnings_report(const struct report *r, struct followed *p, const struct ringfile *found,
			  int n)
{
	/* OCaml names its file by the pid alone: each runtime of a process opens, and clears, it. */
	int same = p->told_mixed ? n : find_same(found, n);
	if (same < n)
		report_at(r, LOG_NORMAL,
			  "process %d: several runtimes in it write to one ring file, '%s': each "
			  "that starts clears it, and their events are mixed up",
			  p->pid, found[same].path);
	p->told_mixed |= same < n;
	if (n == RINGFILE_MAX && !p->told_many)
		report_at(r, LOG_NORMAL,
			  "process %d has %d rings: others that it may have are not read", p->pid,
			  n);
	p->told_many |= n == RINGFILE_MAX;
}

void ring_warnings_unexplained(const struct engine *e, struct followed *p)
{
	const struct engine_options *o = e->options;
	const struct traits_language *language = language_traits(p->release).language;
	if (p->told_unexplained || !(o->blame || o->stacks) ||
	    !(e->session->origins & ORIGIN_BPF) || !language || language->has_markers)
		return;
	report_at(
		&e->report, LOG_NORMAL,
		"process %d: its ring is on, and is read: %s%s%s%s; see --mode probes", p->pid,
		o->blame ? "while it has several threads, what its pauses were made of is not known"
			 : "",
		o->faults ? ", page faults are not timed" : "", o->blame && o->stacks ? ", " : "",
		o->stacks ? "its events have no stacks" : "");
	p->told_unexplained = true;
}
