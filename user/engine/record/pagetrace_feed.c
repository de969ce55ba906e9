/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/record/pagetrace_feed.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/regular.h"
#include "engine/signals.h"

#define BATCH	    4096
#define BATCHES	    4u /* that are read ahead */
#define WAIT_NS	    100000000
#define SLICE_PAGES (1u << 23)

struct batch {
	struct ebt_pagetrace_event ev[BATCH];
	ssize_t n;			    /* as of ebt_pagetrace_read_all() */
	struct ebt_pagetrace_counts counts; /* behind it */
};

struct run {
	struct engine *engine;
	struct pagetrace_feed *feed;
	struct ebt_pagetrace_file *file; /* the reading thread's, while there is one */
	struct signals signals;
	atomic_bool ends;    /* nothing more is to be read */
	struct batch *batch; /* BATCHES, in turn */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t read, taken; /* batches; under the lock */
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

static bool look_for_signals(struct run *r)
{
	signals_read(&r->signals, 0);
	if (r->signals.ends)
		atomic_store(&r->ends, true);
	return r->signals.ends;
}

static ssize_t read_at(void *ctx, void *to, size_t bytes, uint64_t offset)
{
	struct run *r = ctx;
	if (!r->batch) /* no thread yet */
		look_for_signals(r);
	return atomic_load(&r->ends) ? -EINTR : file_read_at(r->feed->fd, to, bytes, offset);
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

/* Reading takes a third of the time that it takes to follow what is read: both at once. */
static void *read_ahead(void *arg)
{
	struct run *r = arg;
	for (ssize_t n = 1; n > 0;) {
		pthread_mutex_lock(&r->lock);
		while (r->read - r->taken == BATCHES && !atomic_load(&r->ends))
			pthread_cond_wait(&r->changed, &r->lock);
		struct batch *b = &r->batch[r->read % BATCHES];
		pthread_mutex_unlock(&r->lock);
		if (atomic_load(&r->ends))
			break;
		b->n = n = ebt_pagetrace_read_all(r->file, b->ev, BATCH);
		b->counts = ebt_pagetrace_file_counts(r->file);
		pthread_mutex_lock(&r->lock);
		r->read++;
		pthread_cond_signal(&r->changed);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

/* The next batch; NULL: a signal came first. */
static const struct batch *next_batch(struct run *r)
{
	bool cut = look_for_signals(r);
	pthread_mutex_lock(&r->lock);
	while (r->read == r->taken && !cut) {
		struct timespec until;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += WAIT_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&r->changed, &r->lock, &until))
			cut = look_for_signals(r);
	}
	pthread_mutex_unlock(&r->lock);
	return cut ? NULL : &r->batch[r->taken % BATCHES];
}

static void give_back(struct run *r)
{
	pthread_mutex_lock(&r->lock);
	r->taken++;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

/* Few events can be of many pages: a signal is not kept waiting for more than SLICE_PAGES. */
static int move_batch(struct run *r, const struct batch *b)
{
	size_t n = (size_t)b->n;
	int err = 0;
	for (size_t from = 0, to = 0; from < n && !err; from = to) {
		for (uint64_t pages = 0; to < n && pages < SLICE_PAGES; to++)
			pages += b->ev[to].pages < SLICE_PAGES ? b->ev[to].pages : SLICE_PAGES;
		if (from && look_for_signals(r))
			return -EINTR;
		err = r->feed->events(r->feed->ctx, b->ev + from, to - from);
	}
	return err;
}

static int move_read(struct run *r)
{
	struct totals *totals = &r->engine->session->totals;
	for (;;) {
		const struct batch *b = next_batch(r);
		if (!b || b->n <= 0)
			return b ? (int)b->n : -EINTR;
		count_events(totals, b->ev, (size_t)b->n, &b->counts);
		int err = move_batch(r, b);
		if (err)
			return err;
		give_back(r);
	}
}

static int start_thread(struct run *r, pthread_t *ret)
{
	/* Signals are the main thread's. */
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(ret, NULL, read_ahead, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static void end_thread(struct run *r, pthread_t thread)
{
	pthread_mutex_lock(&r->lock);
	atomic_store(&r->ends, true);
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(thread, NULL);
}

static int move(struct run *r)
{
	pthread_t thread;
	pthread_condattr_t monotonic;
	r->batch = malloc(BATCHES * sizeof(*r->batch));
	if (!r->batch)
		return -ENOMEM;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->changed, &monotonic);
	pthread_mutex_init(&r->lock, NULL);
	int err = start_thread(r, &thread);
	if (!err) {
		err = move_read(r);
		end_thread(r, thread);
	}
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	pthread_condattr_destroy(&monotonic);
	free(r->batch);
	return err;
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
	const struct messages *to = &r->engine->session->messages;
	const char *name = r->feed->name;
	const char *damage = r->file ? ebt_pagetrace_file_reason(r->file) : "";
	if (*damage && (!err || err == -EINTR))
		messages_error(to, "page trace '%s': damaged %s", name, damage);
	if (err == -EINTR)
		messages_error(to, "ended by a signal before the end of the input");
	else if (err == -EBADMSG)
		messages_error(to, "'%s' %s", name, reason);
	else if (err)
		messages_error(to, "cannot read '%s': %s", name, strerror(-err));
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
	signals_finish(&r.signals, false);
	if (r.signals.fd >= 0)
		close(r.signals.fd);
	return end;
}
