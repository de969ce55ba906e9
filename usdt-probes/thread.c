/* SPDX-License-Identifier: BSD-2-Clause */
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "alloc_trace.h"
#include "page_trace.h"
#include "record.h"
#include "shared/fork_mark.h"
#include "signals.h"
#include "slot.h"

/* glibc keeps the values of the first keys in the thread itself, of the others on the heap. */
#define KEYS_WITHOUT_MALLOC 32

static pthread_key_t key;
static bool have_key;

static void release(void)
{
	struct ebt_thread *t = &ebt_self;
	struct ebt_slot *s = t->slot;
	if (!s || s->busy || ebt_forked())
		return;
	int saved_errno = errno;
	t->busy = 1; /* a handler's probe finds no slot and is dropped */
	uint64_t visit = ebt_visit();
	uint32_t state = ebt_state_ordered();
	if (s->state == (state & ~EBT_STATE_PAUSED)) {
		if (s->state == state)
			ebt_record_put(EBT_LIFECYCLE_domain_terminate, getpid(), state);
		ebt_ring_store(&s->ring.h->owner_tid, 0);
	}
	t->slot = NULL;
	s->state = 0;
	ebt_leave(visit);
	ebt_slot_free(s);
	if (have_key && key < KEYS_WITHOUT_MALLOC)
		pthread_setspecific(key, NULL);
	ebt_compiler_barrier();
	t->busy = 0;
	errno = saved_errno;
}

static void thread_ends(void *unused)
{
	(void)unused;
	release();
}

void ebt_thread_end(void)
{
	release();
	ebt_alloc_trace_thread_end();
	ebt_page_trace_thread_end();
}

void ebt_threads_init(void)
{
	have_key = !pthread_key_create(&key, thread_ends);
}

void ebt_threads_done(void)
{
	if (have_key)
		pthread_key_delete(key);
	have_key = false;
}

/* In a program with many keys ours would need malloc(): then the search for a free slot detects
 * that the thread has ended. */
static void remember_end(void)
{
	if (have_key && key < KEYS_WITHOUT_MALLOC)
		pthread_setspecific(key, &ebt_self);
}

bool ebt_thread_bind(const struct ebt_file *file, uint32_t state, bool spawn)
{
	struct ebt_thread *t = &ebt_self;
	if (t->slot && (t->slot->state == state || t->slot->busy))
		return t->slot->state == state;
	if (ebt_slot_refused(state))
		return false;
	/* A signal handler must neither probe nor fork while a slot is half assigned. */
	sigset_t mask;
	ebt_signals_block(&mask);
	bool born = !t->slot;
	bool bound = ebt_slot_assign(file, state);
	if (bound && born) {
		remember_end();
		if (spawn)
			ebt_record_put(EBT_LIFECYCLE_domain_spawn, getpid(), state);
	}
	ebt_signals_restore(&mask);
	return bound;
}
