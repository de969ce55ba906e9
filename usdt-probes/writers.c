// SPDX-License-Identifier: BSD-2-Clause
#include "writers.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HOLD_YIELDS	    50
#define HOLD_SLEEPS	    10000
#define HOLD_SLEEP_NS	    100000
#define KEYS_WITHOUT_MALLOC 32 /* glibc keeps the values of the first keys in the thread itself */

void ebt_writers_init(struct ebt_writers *ws, void (*thread_ends)(void *unused))
{
	ws->process = 1;
	*ws->forked = 1;
	ws->have_key = !pthread_key_create(&ws->key, thread_ends);
}

void ebt_writers_done(struct ebt_writers *ws)
{
	if (ws->have_key)
		pthread_key_delete(ws->key);
	ws->have_key = false;
}

void ebt_writers_renew(struct ebt_writers *ws)
{
	if (*ws->forked)
		return;
	*ws->forked = 1;
	ws->process++;
	for (unsigned int i = 0; i < ws->count; i++) {
		struct ebt_writer *w = ebt_writers_at(ws, i);
		/* Reading first does not touch the pages of unused ones. */
		if (w->owner || w->held || w->trace)
			w->owner = w->held = w->trace = 0;
	}
}

bool ebt_writer_enter(struct ebt_writer_thread *self)
{
	bool inside = self->inside;
	self->inside = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return inside;
}

void ebt_writer_leave(struct ebt_writer_thread *self)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->inside = false;
}

static bool claim(struct ebt_writer *w, uint32_t from, uint32_t tid)
{
	return __atomic_compare_exchange_n(&w->owner, &from, tid, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static bool has_ended(uint32_t tid)
{
	return tid && syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH;
}

/* The lowest free writer, else one whose thread ended without releasing it; NULL. What a thread was
 * writing when it ended is not whole, and is left. */
static struct ebt_writer *claim_any(const struct ebt_writers *ws, uint32_t tid)
{
	for (unsigned int i = 0; i < ws->count; i++) {
		struct ebt_writer *w = ebt_writers_at(ws, i);
		if (!__atomic_load_n(&w->owner, __ATOMIC_RELAXED) && claim(w, 0, tid))
			return w;
	}
	for (unsigned int i = 0; i < ws->count; i++) {
		struct ebt_writer *w = ebt_writers_at(ws, i);
		uint32_t owner = __atomic_load_n(&w->owner, __ATOMIC_RELAXED);
		if (!__atomic_load_n(&w->held, __ATOMIC_RELAXED) && has_ended(owner) &&
		    claim(w, owner, tid))
			return w;
	}
	return NULL;
}

struct ebt_writer *ebt_writer_own(struct ebt_writers *ws, struct ebt_writer_thread *self)
{
	if (self->process == ws->process)
		return self->writer;
	struct ebt_writer *w = claim_any(ws, (uint32_t)syscall(SYS_gettid));
	self->writer = w;
	self->process = ws->process;
	/* Otherwise it would need malloc(), and the search for a free writer detects its end. */
	if (w && ws->have_key && ws->key < KEYS_WITHOUT_MALLOC)
		pthread_setspecific(ws->key, w);
	return w;
}

struct ebt_writer *ebt_writer_release(struct ebt_writers *ws, struct ebt_writer_thread *self)
{
	struct ebt_writer *w = self->process == ws->process ? self->writer : NULL;
	self->writer = NULL;
	self->process = 0;
	if (ws->have_key && ws->key < KEYS_WITHOUT_MALLOC)
		pthread_setspecific(ws->key, NULL);
	return w;
}

void ebt_writer_free(struct ebt_writer *w)
{
	__atomic_store_n(&w->owner, 0, __ATOMIC_RELEASE);
}

bool ebt_writer_try_hold(struct ebt_writer *w)
{
	return !__atomic_exchange_n(&w->held, 1, __ATOMIC_ACQUIRE);
}

bool ebt_writer_hold(struct ebt_writer_thread *self, struct ebt_writer *w)
{
	if (self->holds == w)
		return false;
	for (int i = 0; !ebt_writer_try_hold(w); i++) {
		if (i == HOLD_YIELDS + HOLD_SLEEPS ||
		    (i == HOLD_YIELDS && has_ended(__atomic_load_n(&w->owner, __ATOMIC_RELAXED))))
			return false;
		if (i < HOLD_YIELDS)
			sched_yield();
		else
			nanosleep(&(struct timespec){.tv_nsec = HOLD_SLEEP_NS}, NULL);
	}
	self->holds = w;
	return true;
}

void ebt_writer_unhold(struct ebt_writer_thread *self, struct ebt_writer *w)
{
	if (self->holds == w)
		self->holds = NULL;
	/* Publishes what the holder wrote; pairs with the acquire in ebt_writer_try_hold(). */
	__atomic_store_n(&w->held, 0, __ATOMIC_RELEASE);
}
