/* SPDX-License-Identifier: BSD-2-Clause */
/* A memtrace file read whole, for tests of what writes one. */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ebtrace/memtrace.h>

#define TRACE_FRAMES 16

struct trace_event {
	struct ebt_memtrace_event e;
	int64_t frame[TRACE_FRAMES]; /* of the whole backtrace, the first ones */
	uint64_t frames;
};

struct trace_file {
	struct trace_event *event;
	size_t events;
	double rate;
	uint64_t pid;
	char context[64];
	struct ebt_memtrace_counts counts;
	struct ebt_memtrace_reader *reader;
	/* The last backtrace of each domain. */
	struct trace_event *last;
};

static inline void trace_add(struct trace_file *t, const struct ebt_memtrace_event *e)
{
	if (!(t->events & (t->events + 1)))
		t->event = realloc(t->event, sizeof(*t->event) * 2 * (t->events + 1));
	struct trace_event *to = &t->event[t->events++], *last = &t->last[e->domain];
	memset(to, 0, sizeof(*to));
	to->e = *e;
	if (e->what != EBT_MEMTRACE_ALLOC)
		return;
	to->frames = e->common + e->frames;
	for (uint64_t i = 0; i < to->frames && i < TRACE_FRAMES; i++)
		to->frame[i] = i < e->common ? last->frame[i] : e->frame[i - e->common];
	*last = *to;
}

/* 0, or the reader's error, or -errno. trace_done() frees it in any case. */
static inline int trace_read(struct trace_file *t, const char *path)
{
	struct ebt_memtrace_event ev[64];
	FILE *f = fopen(path, "r");
	memset(t, 0, sizeof(*t));
	if (!f || ebt_memtrace_reader_new(0, &t->reader))
		return f ? fclose(f) - ENOMEM : -errno;
	t->last = calloc(65536, sizeof(*t->last));
	ssize_t n;
	while ((n = ebt_memtrace_read(t->reader, ev, 64)) > 0 || n == -EAGAIN) {
		for (ssize_t i = 0; i < n; i++)
			trace_add(t, &ev[i]);
		if (n > 0)
			continue;
		size_t room;
		void *to = ebt_memtrace_room(t->reader, &room);
		size_t got = fread(to, 1, room, f);
		if (got)
			ebt_memtrace_put(t->reader, got);
		else
			ebt_memtrace_finish(t->reader);
	}
	fclose(f);
	t->counts = ebt_memtrace_counts(t->reader);
	const struct ebt_memtrace_info *info = ebt_memtrace_info(t->reader);
	if (info) {
		t->rate = info->sample_rate;
		t->pid = info->pid;
		snprintf(t->context, sizeof(t->context), "%s", info->context);
	}
	return (int)n;
}

static inline void trace_done(struct trace_file *t)
{
	ebt_memtrace_reader_free(t->reader);
	free(t->event);
	free(t->last);
}

#endif
