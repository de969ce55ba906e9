/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/pagetrace_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/signals.h"
#include "proc/regular.h"

#define BATCH 1024

struct run {
	struct engine *engine;
	struct pagetrace_feed *feed;
	struct ebt_pagetrace_file *file;
	struct signals signals;
};

bool pagetrace_feed_open(const struct engine_options *o, struct pagetrace_feed *ret)
{
	uint8_t head[EBT_PAGETRACE_HEAD_BYTES];
	if (o->file_count != 1 || !strcmp(o->files[0], "-"))
		return false;
	int fd = regular_open(o->files[0], 0, 0);
	if (fd < 0)
		return false;
	ssize_t n = pread(fd, head, sizeof(head), 0);
	if (n && (n < 0 || !ebt_pagetrace_is(head, (size_t)n))) {
		close(fd);
		return false;
	}
	ret->fd = fd;
	ret->name = o->files[0];
	return true;
}

void pagetrace_feed_close(struct pagetrace_feed *f)
{
	close(f->fd);
	f->fd = -1;
}

static bool is_cut(struct run *r)
{
	signals_read(&r->signals, 0);
	return r->signals.ends;
}

static ssize_t read_at(void *ctx, void *to, size_t bytes, uint64_t offset)
{
	struct run *r = ctx;
	return is_cut(r) ? -EINTR : file_read_at(r->feed->fd, to, bytes, offset);
}

static void count_events(struct totals *t, const struct ebt_pagetrace_event *ev, size_t n,
			 const struct ebt_pagetrace_counts *counts)
{
	if (!t->timed)
		t->first_ns = ev[0].time_ns;
	t->last_ns = ev[n - 1].time_ns;
	t->timed = t->events = counts->events;
	t->damaged = counts->damaged;
}

static int move(struct run *r)
{
	struct ebt_pagetrace_event ev[BATCH];
	struct totals *totals = &r->engine->session->totals;
	for (;;) {
		ssize_t n = ebt_pagetrace_read_all(r->file, ev, BATCH);
		if (n <= 0)
			return (int)n;
		struct ebt_pagetrace_counts counts = ebt_pagetrace_file_counts(r->file);
		count_events(totals, ev, (size_t)n, &counts);
		int err = r->feed->events(r->feed->ctx, ev, (size_t)n);
		if (!err && is_cut(r))
			err = -EINTR;
		if (err)
			return err;
	}
}

static int by_p(const void *x, const void *y)
{
	const struct ebt_pagetrace_lane *a = x, *b = y;
	return (a->p > b->p) - (a->p < b->p);
}

/* 0 or -ENOMEM. */
static int count_backwards(struct run *r)
{
	const struct ebt_pagetrace_lane *lanes;
	size_t n = ebt_pagetrace_lanes(r->file, &lanes);
	struct ebt_pagetrace_lane *sorted = calloc(n + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	if (n)
		memcpy(sorted, lanes, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_p);
	for (size_t i = 1; i < n; i++)
		r->feed->backwards += sorted[i].p == sorted[i - 1].p;
	free(sorted);
	return 0;
}

static int read_trace(struct run *r, char *reason)
{
	struct stat st;
	if (fstat(r->feed->fd, &st))
		return -errno;
	r->feed->bytes = (uint64_t)st.st_size;
	int err = ebt_pagetrace_open(read_at, r, &r->file, reason);
	if (err)
		return err;
	err = count_backwards(r);
	if (!err)
		err = move(r);
	r->feed->counts = ebt_pagetrace_file_counts(r->file);
	return err;
}

static enum engine_end report(struct run *r, int err, const char *reason)
{
	const struct report *to = &r->engine->report;
	const char *name = r->feed->name;
	const char *damage = r->file ? ebt_pagetrace_file_reason(r->file) : "";
	if (*damage && (!err || err == -EINTR))
		report_error(to, "page trace '%s': damaged %s", name, damage);
	if (err == -EINTR)
		report_error(to, "ended by a signal before the end of the input");
	else if (err == -EBADMSG)
		report_error(to, "'%s' %s", name, reason);
	else if (err)
		report_error(to, "cannot read '%s': %s", name, strerror(-err));
	return err ? ENGINE_FAILED : ENGINE_OK;
}

enum engine_end pagetrace_feed_run(struct engine *e, struct pagetrace_feed *f)
{
	struct run r = {.engine = e, .feed = f, .signals.fd = -1};
	char reason[160] = "";
	int err = signals_catch(&r.signals, false);
	if (!err)
		err = read_trace(&r, reason);
	enum engine_end end = report(&r, err, reason);
	ebt_pagetrace_close(r.file);
	signals_release(&r.signals, 0);
	signals_finish(&r.signals);
	if (r.signals.fd >= 0)
		close(r.signals.fd);
	return end;
}
