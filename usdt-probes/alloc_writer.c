// SPDX-License-Identifier: BSD-2-Clause
#include "alloc_writer.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fork_mark.h"
#include "pages.h"

#define HOLD_YIELDS	    50
#define HOLD_SLEEPS	    10000
#define HOLD_SLEEP_NS	    100000
#define KEYS_WITHOUT_MALLOC 32 /* glibc keeps the values of the first keys in the thread itself */

struct ebt_alloc_writer ebt_alloc_writers[EBT_ALLOC_DOMAINS];

static __thread struct {
	struct ebt_alloc_writer *writer;
	uint32_t process; /* in which `writer` is valid */
	bool own;
	bool inside;
	struct ebt_alloc_writer *holds;
} self;

static pthread_key_t key;
static bool have_key;
static void (*thread_ends_fn)(void);
static uint32_t process = 1; /* counts forks that have a trace of their own */

static void thread_ends(void *unused)
{
	(void)unused;
	thread_ends_fn();
}

void ebt_alloc_writers_init(void (*fn)(void))
{
	thread_ends_fn = fn;
	have_key = !pthread_key_create(&key, thread_ends);
}

void ebt_alloc_writers_done(void)
{
	if (have_key)
		pthread_key_delete(key);
	have_key = false;
}

void ebt_alloc_writers_renew(void)
{
	if (ebt_fork_page[EBT_FORK_TRACE_WRITERS])
		return;
	ebt_fork_page[EBT_FORK_TRACE_WRITERS] = 1;
	process++;
	for (int i = 0; i < EBT_ALLOC_DOMAINS; i++) {
		struct ebt_alloc_writer *w = &ebt_alloc_writers[i];
		if (w->owner)
			w->owner = w->held = w->trace = w->dirty = 0;
	}
}

bool ebt_alloc_thread_enter(void)
{
	bool inside = self.inside;
	self.inside = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return inside;
}

void ebt_alloc_thread_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self.inside = false;
}

static bool claim(struct ebt_alloc_writer *w, uint32_t from, uint32_t tid)
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
static struct ebt_alloc_writer *claim_any(uint32_t tid)
{
	for (int i = 0; i < EBT_ALLOC_DOMAINS; i++) {
		struct ebt_alloc_writer *w = &ebt_alloc_writers[i];
		if (!__atomic_load_n(&w->owner, __ATOMIC_RELAXED) && claim(w, 0, tid))
			return w;
	}
	for (int i = 0; i < EBT_ALLOC_DOMAINS; i++) {
		struct ebt_alloc_writer *w = &ebt_alloc_writers[i];
		uint32_t owner = __atomic_load_n(&w->owner, __ATOMIC_RELAXED);
		if (!__atomic_load_n(&w->held, __ATOMIC_RELAXED) && has_ended(owner) &&
		    claim(w, owner, tid))
			return w;
	}
	return NULL;
}

struct ebt_alloc_writer *ebt_alloc_thread_writer(void)
{
	if (self.writer && self.process == process)
		return self.writer;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct ebt_alloc_writer *w = claim_any(tid);
	self.own = w;
	self.process = process;
	self.writer = w ? w : &ebt_alloc_writers[tid % EBT_ALLOC_DOMAINS];
	/* Otherwise it would need malloc(), and the search for a free writer detects its end. */
	if (w && have_key && key < KEYS_WITHOUT_MALLOC)
		pthread_setspecific(key, w);
	return self.writer;
}

struct ebt_alloc_writer *ebt_alloc_thread_release(void)
{
	struct ebt_alloc_writer *w = self.process == process && self.own ? self.writer : NULL;
	self.writer = NULL;
	self.own = false;
	if (have_key && key < KEYS_WITHOUT_MALLOC)
		pthread_setspecific(key, NULL);
	return w;
}

bool ebt_alloc_try_hold(struct ebt_alloc_writer *w)
{
	return !__atomic_exchange_n(&w->held, 1, __ATOMIC_ACQUIRE);
}

bool ebt_alloc_hold(struct ebt_alloc_writer *w)
{
	if (self.holds == w)
		return false;
	for (int i = 0; !ebt_alloc_try_hold(w); i++) {
		if (i == HOLD_YIELDS + HOLD_SLEEPS ||
		    (i == HOLD_YIELDS && has_ended(__atomic_load_n(&w->owner, __ATOMIC_RELAXED))))
			return false;
		if (i < HOLD_YIELDS)
			sched_yield();
		else
			nanosleep(&(struct timespec){.tv_nsec = HOLD_SLEEP_NS}, NULL);
	}
	self.holds = w;
	return true;
}

void ebt_alloc_unhold(struct ebt_alloc_writer *w)
{
	if (self.holds == w)
		self.holds = NULL;
	/* Publishes what the holder wrote; pairs with the acquire in ebt_alloc_try_hold(). */
	__atomic_store_n(&w->held, 0, __ATOMIC_RELEASE);
}

bool ebt_alloc_writer_clear(struct ebt_alloc_writer *w)
{
	size_t bytes = ebt_trace_stream_bytes(EBT_ALLOC_FRAMES);
	if (w->memory) {
		memset(w->memory, 0, ebt_trace_stream_bytes(0));
		return true;
	}
	char *memory = ebt_pages_get(bytes + EBT_ALLOC_FRAMES * sizeof(*w->next));
	if (!memory)
		return false;
	w->next = (void *)(memory + bytes);
	__atomic_store_n(&w->memory, memory, __ATOMIC_RELEASE);
	return true;
}
