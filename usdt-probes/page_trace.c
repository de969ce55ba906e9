// SPDX-License-Identifier: BSD-2-Clause
#include "page_trace.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "barrier.h"
#include "clock.h"
#include "gate.h"
#include "output_file.h"
#include "record.h"
#include "shared/fork_mark.h"
#include "shared/pages.h"
#include "trace_lock.h"
#include "writers.h"

#define STATE (&ebt_fork_page[EBT_FORK_PAGE_STATE])
#define LOCK  (&ebt_fork_page[EBT_FORK_PAGE_LOCK])

#define BUSY_SLEEPS   10000
#define BUSY_SLEEP_NS 100000

/* The trace of a writer is the state word while that trace is on, or this: another thread
 * flushes. */
#define CLOSED UINT32_MAX

struct page_writer {
	struct ebt_writer base;
	uint32_t busy;
	struct ebt_clock clock;
	struct ebt_pagetrace_writer *codec; /* mapped at its first use */
} __attribute__((aligned(128)));

/* The last one is that of P -1. */
static struct page_writer page_writers[EBT_PAGE_DOMAINS + 1];
#define NO_P (&page_writers[EBT_PAGE_DOMAINS])

static struct ebt_output_file file = {.state = STATE, .fd = -1};
static struct ebt_writers writers = {.first = page_writers,
				     .bytes = sizeof(*page_writers),
				     .count = EBT_PAGE_DOMAINS,
				     .forked = &ebt_fork_page[EBT_FORK_PAGE_WRITERS]};
static uint32_t traces; /* the state word is this + EBT_TRACE_ON; written under the lock */
static uint64_t lost;
static int load_error; /* why there is no trace */

static __thread struct {
	struct ebt_writer_thread base;
	struct page_writer *fast; /* its own, while the thread is in none of the slow parts below */
} self;

/* 0: none is on. */
static uint32_t current_trace(void)
{
	uint32_t state = __atomic_load_n(STATE, __ATOMIC_ACQUIRE);
	return state >= EBT_TRACE_ON ? state : 0;
}

void ebt_page_trace_lose(void)
{
	__atomic_add_fetch(&lost, 1, __ATOMIC_RELAXED);
}

uint64_t ebt_page_lost(void)
{
	return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}

static int write_block(void *ctx, const void *block, size_t bytes)
{
	int saved_errno = errno;
	(void)ctx;
	int err = ebt_output_file_write(&file, block, bytes);
	/* After an error nothing is written: the probes are idle again. */
	if (err)
		__atomic_store_n(&ebt_page_gate_own.trace, 0, __ATOMIC_RELAXED);
	errno = saved_errno;
	return err;
}

/* False: the calling thread is inside an event, or in another slow part. */
static bool enter(void)
{
	if ((self.fast && self.fast->busy) || ebt_writer_enter(&self.base))
		return false;
	self.fast = NULL;
	return true;
}

/* Makes a held writer one of this trace. */
static bool prepare(struct page_writer *w, uint32_t trace)
{
	if (w->base.trace == trace)
		return true;
	if (!w->codec)
		w->codec = ebt_pages_get(sizeof(*w->codec));
	if (!w->codec)
		return false;
	int32_t p = w == NO_P ? EBT_PAGETRACE_NO_P : (int32_t)(w - page_writers);
	ebt_pagetrace_writer_init(w->codec, p, write_block, NULL);
	w->busy = 0;
	__atomic_store_n(&w->base.trace, trace, __ATOMIC_RELEASE);
	return true;
}

/* The calling thread's own; NULL: it has none. One that a thread left in the middle of an event, at
 * its end, begins anew. */
static struct page_writer *own_writer(void)
{
	struct page_writer *w = (struct page_writer *)ebt_writer_own(&writers, &self.base);
	if (w && w->busy)
		w->base.trace = 0;
	return w;
}

/* Returns as ebt_page_trace_write(). */
static uint64_t write_held(struct page_writer *w, enum ebt_pagetrace_what what, uint64_t addr,
			   uint64_t pages)
{
	uint64_t now = 0;
	if (!ebt_writer_hold(&self.base, &w->base))
		return 0;
	uint32_t trace = current_trace();
	if (trace && prepare(w, trace)) {
		now = ebt_clock_now(&w->clock);
		if (ebt_pagetrace_write(w->codec, what, addr, pages, now))
			now = 0;
	}
	ebt_writer_unhold(&self.base, &w->base);
	return now;
}

static __attribute__((noinline, cold)) uint64_t write_slow(enum ebt_pagetrace_what what,
							   uint64_t addr, uint64_t pages)
{
	int saved_errno = errno;
	uint64_t now = 0;
	if (!current_trace() || file.err)
		return 0;
	if (enter()) {
		struct page_writer *own = own_writer();
		now = own ? write_held(own, what, addr, pages) : 0;
		if (now)
			self.fast = own;
		else
			now = write_held(NO_P, what, addr, pages);
		ebt_writer_leave(&self.base);
	}
	if (!now && !file.err)
		ebt_page_trace_lose();
	errno = saved_errno;
	return now;
}

uint64_t ebt_page_trace_write(enum ebt_pagetrace_what what, uint64_t addr, uint64_t pages)
{
	struct page_writer *w = self.fast;
	if (unlikely(!w || w->busy))
		return write_slow(what, addr, pages);
	w->busy = 1;
	/* Pairs with the barrier in close_writer(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&w->base.trace, __ATOMIC_RELAXED) !=
		     __atomic_load_n(STATE, __ATOMIC_RELAXED))) {
		__atomic_store_n(&w->busy, 0, __ATOMIC_RELEASE);
		return write_slow(what, addr, pages);
	}
	uint64_t now = ebt_clock_now(&w->clock);
	int err = ebt_pagetrace_write(w->codec, what, addr, pages, now);
	__atomic_store_n(&w->busy, 0, __ATOMIC_RELEASE);
	if (likely(!err))
		return now;
	if (err == -EINVAL)
		ebt_page_trace_lose();
	return 0;
}

/* Keeps the owner of a held writer from writing. False: it is in the middle of an event, and stays
 * there, as one that the caller's signal handler interrupted does. */
static bool close_writer(struct page_writer *w)
{
	__atomic_store_n(&w->base.trace, CLOSED, __ATOMIC_RELAXED);
	ebt_barrier_all();
	for (int i = 0; __atomic_load_n(&w->busy, __ATOMIC_ACQUIRE); i++) {
		if (i == BUSY_SLEEPS || w == self.fast)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = BUSY_SLEEP_NS}, NULL);
	}
	return true;
}

static void flush_writer(struct page_writer *w, uint32_t trace, bool end)
{
	if (!ebt_writer_hold(&self.base, &w->base))
		return;
	if (end)
		prepare(w, trace);
	if (w->base.trace == trace && close_writer(w)) {
		if (end)
			ebt_pagetrace_write_end(w->codec, ebt_clock_now(&w->clock));
		else
			ebt_pagetrace_write_flush(w->codec);
	}
	if (w->base.trace == CLOSED)
		__atomic_store_n(&w->base.trace, trace, __ATOMIC_RELEASE);
	ebt_writer_unhold(&self.base, &w->base);
}

/* P -1 comes last. */
static void flush_all(uint32_t trace, bool end)
{
	for (unsigned int i = 0; i < EBT_PAGE_DOMAINS; i++)
		if (__atomic_load_n(&page_writers[i].base.owner, __ATOMIC_RELAXED))
			flush_writer(&page_writers[i], trace, false);
	flush_writer(NO_P, trace, end);
}

void ebt_page_trace_thread_end(void)
{
	int saved_errno = errno;
	if (!enter())
		return;
	struct ebt_writer *w = ebt_writer_release(&writers, &self.base);
	if (w && ebt_writer_hold(&self.base, w)) {
		/* Also while another thread stops the trace. */
		if (w->trace == EBT_TRACE_ON + traces && ebt_output_file_is_open(&file))
			ebt_pagetrace_write_flush(((struct page_writer *)w)->codec);
		ebt_writer_unhold(&self.base, w);
	}
	if (w)
		ebt_writer_free(w);
	ebt_writer_leave(&self.base);
	errno = saved_errno;
}

static void thread_ends(void *unused)
{
	(void)unused;
	ebt_page_trace_thread_end();
}

/* Of kernels that do not zero the page, and for the descriptor. */
static void child_begins(void)
{
	int saved_errno = errno;
	__atomic_store_n(&ebt_page_gate_own.trace, 0, __ATOMIC_RELAXED);
	*STATE = 0;
	*LOCK = 0;
	load_error = 0;
	*writers.forked = 0;
	ebt_output_file_forget(&file);
	errno = saved_errno;
}

void ebt_page_trace_init(void)
{
	ebt_writers_init(&writers, thread_ends);
	pthread_atfork(NULL, NULL, child_begins);
}

void ebt_page_trace_done(void)
{
	ebt_writers_done(&writers);
}

static int start_locked(const char *path)
{
	uint32_t process = writers.process;
	ebt_writers_renew(&writers);
	if (writers.process != process)
		NO_P->base = (struct ebt_writer){0};
	int err = ebt_output_file_open(&file, path);
	if (err)
		return err;
	traces = (traces + 1) & INT32_MAX;
	/* Publishes all this; pairs with the acquire in current_trace(). */
	__atomic_store_n(STATE, EBT_TRACE_ON + traces, __ATOMIC_RELEASE);
	__atomic_store_n(&ebt_page_gate_own.trace, 1, __ATOMIC_RELEASE);
	return 0;
}

int ebt_page_trace_start(const char *path)
{
	sigset_t mask;
	int err = ebt_trace_lock(LOCK, &mask);
	if (err)
		return err;
	err = start_locked(path);
	if (!err)
		load_error = 0;
	ebt_trace_unlock(LOCK, &mask);
	return err;
}

void ebt_page_trace_failed(int err)
{
	load_error = err;
}

int ebt_page_trace_stop(void)
{
	sigset_t mask;
	int err = current_trace() ? ebt_trace_lock(LOCK, &mask) : load_error ? load_error : -EINVAL;
	if (err)
		return err;
	err = -EINVAL;
	uint32_t trace = current_trace();
	if (trace) {
		/* Whoever is in an event ends it; whoever begins one later finds no trace. */
		__atomic_store_n(&ebt_page_gate_own.trace, 0, __ATOMIC_RELEASE);
		__atomic_store_n(STATE, EBT_TRACE_OPEN, __ATOMIC_RELEASE);
		/* A thread that has seen the trace on is seen to own a writer: claim() orders
		 * it. */
		ebt_barrier_all();
		flush_all(trace, true);
		err = ebt_output_file_close(&file);
	}
	ebt_trace_unlock(LOCK, &mask);
	return err;
}

void ebt_page_trace_flush(void)
{
	int saved_errno = errno;
	uint32_t trace = current_trace();
	if (trace)
		flush_all(trace, false);
	errno = saved_errno;
}
