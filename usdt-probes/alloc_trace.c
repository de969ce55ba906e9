// SPDX-License-Identifier: BSD-2-Clause
#include "alloc_trace.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "output_file.h"
#include "shared/fork_mark.h"
#include "trace_lock.h"

#define FLUSH_US 1000000

#define STATE (&ebt_fork_page[EBT_FORK_ALLOC_STATE])
#define LOCK  (&ebt_fork_page[EBT_FORK_ALLOC_LOCK])

static struct ebt_output_file file = {.state = STATE, .fd = -1};
static struct ebt_writers writers = {.first = ebt_alloc_writers,
				     .bytes = sizeof(*ebt_alloc_writers),
				     .count = EBT_ALLOC_DOMAINS,
				     .forked = &ebt_fork_page[EBT_FORK_ALLOC_WRITERS]};
static __thread struct ebt_writer_thread self;

/* Written by start, under the lock, while no writer is held. */
static struct ebt_memtrace_trace trace = {.next_id = 1};
static uint64_t first_obj;   /* of this trace */
static uint64_t realtime_us; /* of CLOCK_REALTIME minus CLOCK_MONOTONIC, at the start */
static double trace_rate;
static uint32_t traces; /* 0: no trace yet; else the number of the last one */

static uint64_t lost;
static uint64_t swept_us;

bool ebt_alloc_tracing(void)
{
	return __atomic_load_n(STATE, __ATOMIC_ACQUIRE) == EBT_TRACE_ON;
}

double ebt_alloc_trace_rate(void)
{
	return ebt_alloc_tracing() ? trace_rate : 0;
}

static int write_packet(void *ctx, const void *packet, size_t bytes)
{
	(void)ctx;
	return ebt_output_file_write(&file, packet, bytes);
}

static size_t no_locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	(void)ctx;
	(void)code;
	(void)ret;
	return 0;
}

/* The held writer's time, which never goes back. */
static uint64_t read_clock(struct ebt_alloc_writer *w)
{
	uint64_t us = realtime_us + ebt_clock_now(&w->clock) / 1000;
	if (us > w->last_us)
		w->last_us = us;
	return w->last_us;
}

static void flush_held(struct ebt_alloc_writer *w)
{
	if (!w->dirty || w->base.trace != traces)
		return;
	w->dirty = false;
	w->flushed_us = read_clock(w);
	ebt_memtrace_write_flush(w->stream.codec, w->flushed_us);
}

/* Threads that have no more events do not flush theirs. */
static void sweep(uint64_t now_us)
{
	uint64_t last = __atomic_load_n(&swept_us, __ATOMIC_RELAXED);
	if (now_us - last < FLUSH_US ||
	    !__atomic_compare_exchange_n(&swept_us, &last, now_us, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < EBT_ALLOC_DOMAINS; i++) {
		struct ebt_alloc_writer *w = &ebt_alloc_writers[i];
		if (!ebt_alloc_writer_is_mapped(w) || !ebt_writer_try_hold(&w->base))
			continue;
		if (now_us > w->flushed_us + FLUSH_US)
			flush_held(w);
		ebt_writer_unhold(&self, &w->base);
	}
}

void ebt_alloc_trace_thread_end(void)
{
	int saved_errno = errno;
	if (ebt_writer_enter(&self))
		return;
	struct ebt_alloc_writer *w = (struct ebt_alloc_writer *)ebt_writer_release(&writers, &self);
	if (w && ebt_writer_hold(&self, &w->base)) {
		if (ebt_alloc_tracing())
			flush_held(w);
		ebt_writer_unhold(&self, &w->base);
	}
	if (w)
		ebt_writer_free(&w->base);
	ebt_writer_leave(&self);
	errno = saved_errno;
}

static void thread_ends(void *unused)
{
	(void)unused;
	ebt_alloc_trace_thread_end();
}

/* Of kernels that do not zero the page, and for the descriptor. */
static void child_begins(void)
{
	int saved_errno = errno;
	*STATE = 0;
	*LOCK = 0;
	*writers.forked = 0;
	ebt_output_file_forget(&file);
	errno = saved_errno;
}

void ebt_alloc_trace_init(void)
{
	ebt_writers_init(&writers, thread_ends);
	pthread_atfork(NULL, NULL, child_begins);
}

void ebt_alloc_trace_done(void)
{
	ebt_writers_done(&writers);
}

static int start_locked(const struct ebt_alloc_config *config)
{
	int err = ebt_output_file_open(&file, config->path);
	if (err)
		return err;
	trace.write = write_packet;
	trace.locations = config->locations ? config->locations : no_locations;
	trace.ctx = config->ctx;
	err = ebt_trace_begin(&trace, 8 * sizeof(void *), config->rate,
			      config->context ? config->context : "");
	if (err) {
		ebt_output_file_close(&file);
		return err;
	}
	first_obj = __atomic_load_n(&trace.next_id, __ATOMIC_RELAXED);
	realtime_us = trace.start_us - ebt_trace_clock_us(CLOCK_MONOTONIC);
	swept_us = trace.start_us;
	trace_rate = config->rate;
	traces++;
	/* Publishes all this; pairs with the acquire in ebt_alloc_tracing(). */
	__atomic_store_n(STATE, EBT_TRACE_ON, __ATOMIC_RELEASE);
	return 0;
}

int ebt_alloc_trace_start(const struct ebt_alloc_config *config)
{
	sigset_t mask;
	int err = ebt_trace_lock(LOCK, &mask);
	if (err)
		return err;
	ebt_writers_renew(&writers);
	err = start_locked(config);
	ebt_trace_unlock(LOCK, &mask);
	return err;
}

/* A writer that its holder keeps for more than a second stays unflushed. */
static void flush_all(void)
{
	for (int i = 0; i < EBT_ALLOC_DOMAINS; i++) {
		struct ebt_alloc_writer *w = &ebt_alloc_writers[i];
		if (!ebt_alloc_writer_is_mapped(w) || !ebt_writer_hold(&self, &w->base))
			continue;
		flush_held(w);
		ebt_writer_unhold(&self, &w->base);
	}
}

int ebt_alloc_trace_stop(void)
{
	sigset_t mask;
	int err = ebt_alloc_tracing() ? ebt_trace_lock(LOCK, &mask) : -EINVAL;
	if (err)
		return err;
	err = -EINVAL;
	if (ebt_alloc_tracing()) {
		/* Who holds a writer ends its event; who gets one later finds no trace. */
		__atomic_store_n(STATE, EBT_TRACE_OPEN, __ATOMIC_RELEASE);
		flush_all();
		err = ebt_output_file_close(&file);
	}
	ebt_trace_unlock(LOCK, &mask);
	return err;
}

void ebt_alloc_trace_flush(void)
{
	int saved_errno = errno;
	if (ebt_alloc_tracing())
		flush_all();
	errno = saved_errno;
}

uint64_t ebt_alloc_trace_lost(void)
{
	return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}

uint64_t ebt_alloc_number(void)
{
	return __atomic_fetch_add(&trace.next_id, 1, __ATOMIC_RELAXED);
}

/* Makes a held writer one of this trace. */
static bool prepare(struct ebt_alloc_writer *w)
{
	if (w->base.trace == traces)
		return true;
	if (!ebt_alloc_writer_clear(w))
		return false;
	w->last_us = trace.start_us;
	w->flushed_us = read_clock(w);
	ebt_trace_stream_init(&w->stream, w->memory, &trace, ebt_alloc_writer_domain(w),
			      w->flushed_us);
	w->dirty = false;
	w->base.trace = traces;
	return true;
}

/* Its own, else one that it shares. */
static struct ebt_alloc_writer *thread_writer(void)
{
	static __thread struct ebt_alloc_writer *shared;
	struct ebt_writer *own = ebt_writer_own(&writers, &self);
	if (own)
		return (struct ebt_alloc_writer *)own;
	if (!shared)
		shared = &ebt_alloc_writers[(uint32_t)syscall(SYS_gettid) % EBT_ALLOC_DOMAINS];
	return shared;
}

struct ebt_alloc_writer *ebt_alloc_enter(void)
{
	if (!ebt_alloc_tracing())
		return NULL;
	int saved_errno = errno;
	if (!ebt_writer_enter(&self)) {
		struct ebt_alloc_writer *w = thread_writer();
		if (ebt_writer_hold(&self, &w->base)) {
			if (ebt_alloc_tracing() && prepare(w)) {
				w->saved_errno = saved_errno;
				return w;
			}
			ebt_writer_unhold(&self, &w->base);
		}
		ebt_writer_leave(&self);
	}
	if (ebt_alloc_tracing())
		__atomic_add_fetch(&lost, 1, __ATOMIC_RELAXED);
	errno = saved_errno;
	return NULL;
}

void ebt_alloc_leave(struct ebt_alloc_writer *w)
{
	int saved_errno = w->saved_errno;
	uint64_t now_us = w->last_us;
	ebt_writer_unhold(&self, &w->base);
	sweep(now_us);
	ebt_writer_leave(&self);
	errno = saved_errno;
}

int64_t *ebt_alloc_frames(struct ebt_alloc_writer *w)
{
	return w->next;
}

uint64_t ebt_alloc_write(struct ebt_alloc_writer *w, uint64_t words, uint64_t samples,
			 enum ebt_alloc_source source, size_t frames)
{
	struct ebt_memtrace_event e = {
		.time_us = read_clock(w),
		.obj = EBT_MEMTRACE_NEW_OBJ,
		.what = EBT_MEMTRACE_ALLOC,
		.source = (uint8_t)source,
		.frames = (uint32_t)frames,
		.frame = w->next,
		.words = (int64_t)words,
		.samples = (int64_t)samples,
	};
	ebt_trace_stream_write(&w->stream, &e);
	w->dirty = true;
	return e.obj;
}

void ebt_alloc_write_change(struct ebt_alloc_writer *w, enum ebt_memtrace_what what, uint64_t obj)
{
	struct ebt_memtrace_event e = {.time_us = read_clock(w), .obj = obj, .what = (uint8_t)what};
	if (obj < first_obj)
		return;
	ebt_trace_stream_write(&w->stream, &e);
	w->dirty = true;
}
