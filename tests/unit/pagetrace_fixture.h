/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Page traces of the tests: in memory, read there by both readers, and the events that they give.
 */
#ifndef TESTS_PAGETRACE_FIXTURE_H
#define TESTS_PAGETRACE_FIXTURE_H

#include <ebtrace/pagetrace.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pt_bytes {
	uint8_t *data;
	size_t len, cap;
};

struct pt_events {
	struct ebt_pagetrace_event *at; /* all but DAMAGE, which has its own */
	size_t n, cap;
	struct ebt_pagetrace_event damage[64];
	size_t damaged;
	struct ebt_pagetrace_counts counts;
	char reason[EBT_PAGETRACE_REASON_BYTES];
	ssize_t end; /* what the last read returned, or opening */
};

static inline void pt_append(struct pt_bytes *b, const void *data, size_t n)
{
	if (b->cap - b->len < n) {
		b->cap = 2 * (b->cap + n);
		b->data = realloc(b->data, b->cap);
		if (!b->data)
			abort();
	}
	if (n)
		memcpy(b->data + b->len, data, n);
	b->len += n;
}

/* A file of tests/data/pagetrace, unpacked; with a NUL behind. */
static inline struct pt_bytes pt_unpack(const char *name, const char *suffix)
{
	struct pt_bytes b = {0};
	char command[512], part[65536];
	snprintf(command, sizeof(command), "xz -dc tests/data/pagetrace/%s%s", name, suffix);
	FILE *f = popen(command, "r");
	if (!f)
		abort();
	for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
		pt_append(&b, part, n);
	if (pclose(f))
		abort();
	pt_append(&b, "", 1);
	b.len--;
	return b;
}

static inline void pt_keep(struct pt_events *e, const struct ebt_pagetrace_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ev[i].what == EBT_PAGETRACE_DAMAGE) {
			if (e->damaged < 64)
				e->damage[e->damaged] = ev[i];
			e->damaged++;
			continue;
		}
		if (e->n == e->cap) {
			e->cap = 2 * e->cap + 1024;
			e->at = realloc(e->at, e->cap * sizeof(*e->at));
			if (!e->at)
				abort();
		}
		e->at[e->n++] = ev[i];
	}
}

/* The trace as the reader in the order of the file has it, in pieces of `piece` bytes. */
static inline struct pt_events pt_read(const struct pt_bytes *b, size_t piece, size_t batch)
{
	struct ebt_pagetrace_reader *r;
	struct ebt_pagetrace_event *ev = calloc(batch, sizeof(*ev));
	struct pt_events e = {0};
	size_t at = 0;
	if (!ev || ebt_pagetrace_reader_new(&r))
		abort();
	while ((e.end = ebt_pagetrace_read(r, ev, batch))) {
		if (e.end > 0)
			pt_keep(&e, ev, (size_t)e.end);
		else if (e.end != -EAGAIN)
			break;
		else if (at == b->len)
			ebt_pagetrace_finish(r);
		else {
			size_t room, n = b->len - at < piece ? b->len - at : piece;
			void *to = ebt_pagetrace_room(r, &room);
			if (room < EBT_PAGETRACE_BLOCK_BYTES)
				abort();
			n = n < room ? n : room;
			memcpy(to, b->data + at, n);
			ebt_pagetrace_put(r, n);
			at += n;
		}
	}
	e.counts = ebt_pagetrace_counts(r);
	snprintf(e.reason, sizeof(e.reason), "%s", ebt_pagetrace_reason(r));
	ebt_pagetrace_reader_free(r);
	free(ev);
	return e;
}

static inline ssize_t pt_pread(void *ctx, void *to, size_t bytes, uint64_t offset)
{
	const struct pt_bytes *b = ctx;
	if (offset >= b->len)
		return 0;
	size_t n = b->len - offset < bytes ? b->len - offset : bytes;
	memcpy(to, b->data + offset, n);
	return (ssize_t)n;
}

/* The trace in the order of time. */
static inline struct pt_events pt_read_all(struct pt_bytes *b, size_t batch)
{
	struct ebt_pagetrace_file *f = NULL;
	struct ebt_pagetrace_event *ev = calloc(batch, sizeof(*ev));
	struct pt_events e = {0};
	if (!ev)
		abort();
	e.end = ebt_pagetrace_open(pt_pread, b, &f, e.reason);
	if (!e.end) {
		while ((e.end = ebt_pagetrace_read_all(f, ev, batch)) > 0)
			pt_keep(&e, ev, (size_t)e.end);
		e.counts = ebt_pagetrace_file_counts(f);
		snprintf(e.reason, sizeof(e.reason), "%s", ebt_pagetrace_file_reason(f));
	}
	ebt_pagetrace_close(f);
	free(ev);
	return e;
}

static inline bool pt_same_event(const struct ebt_pagetrace_event *a,
				 const struct ebt_pagetrace_event *b)
{
	return a->time_ns == b->time_ns && a->addr == b->addr && a->pages == b->pages &&
	       a->p == b->p && a->what == b->what;
}

static inline bool pt_same(const struct pt_events *a, const struct pt_events *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!pt_same_event(&a->at[i], &b->at[i]))
			return false;
	return true;
}

static inline bool pt_same_counts(const struct ebt_pagetrace_counts *a,
				  const struct ebt_pagetrace_counts *b)
{
	return a->blocks == b->blocks && a->events == b->events && a->syncs == b->syncs &&
	       a->large == b->large && a->raised == b->raised && a->damaged == b->damaged &&
	       a->damaged_bytes == b->damaged_bytes && a->has_boot == b->has_boot;
}

/* Each byte of a trace is of a P, a time, an event or damage. */
static inline bool pt_is_whole(const struct ebt_pagetrace_counts *c, size_t bytes)
{
	return 8 * (c->blocks + c->syncs + c->events + c->large) + c->damaged_bytes == bytes;
}

static inline void pt_free(struct pt_events *e)
{
	free(e->at);
	e->at = NULL;
}

/* Sorts by time and P; what is equal keeps its order. */
static inline void pt_sort(struct pt_events *e)
{
	struct ebt_pagetrace_event *from = e->at, *to = calloc(e->n + 1, sizeof(*to));
	if (!to)
		abort();
	for (size_t width = 1; width < e->n; width *= 2) {
		for (size_t begin = 0; begin < e->n; begin += 2 * width) {
			size_t mid = begin + width < e->n ? begin + width : e->n;
			size_t end = mid + width < e->n ? mid + width : e->n;
			size_t a = begin, b = mid, k = begin;
			while (a < mid || b < end) {
				bool second =
					a == mid ||
					(b < end && (from[b].time_ns != from[a].time_ns
							     ? from[b].time_ns < from[a].time_ns
							     : from[b].p < from[a].p));
				to[k++] = second ? from[b++] : from[a++];
			}
		}
		struct ebt_pagetrace_event *swap = from;
		from = to;
		to = swap;
	}
	e->at = from;
	e->cap = e->n + 1;
	free(to);
}

/* What an independent decoder printed: time, P, kind, address, pages; a line an event. */
static inline struct pt_events pt_truth(const char *name)
{
	struct pt_bytes text = pt_unpack(name, ".merged.txt.xz");
	struct pt_events e = {0};
	for (char *at = (char *)text.data; *at; at++) {
		struct ebt_pagetrace_event ev = {.time_ns = strtoull(at, &at, 10)};
		ev.p = (int32_t)strtol(at, &at, 10);
		ev.what = at[1] == 'A'	 ? EBT_PAGETRACE_ALLOC
			  : at[1] == 'F' ? EBT_PAGETRACE_FREE
					 : EBT_PAGETRACE_SCAVENGE;
		at = strchr(at + 1, '\t');
		ev.addr = strtoull(at, &at, 16);
		ev.pages = strtoull(at, &at, 10);
		if (*at != '\n')
			abort();
		pt_keep(&e, &ev, 1);
	}
	free(text.data);
	return e;
}

#endif
