/* SPDX-License-Identifier: BSD-2-Clause */
#include "slot.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "barrier.h"

__thread struct ebt_thread ebt_self;
struct ebt_slot ebt_slots[EBT_RING_MAX_DOMAINS];
uint64_t ebt_visitors;

static uint16_t first_records[EBT_RING_MAX_DOMAINS][EBT_RING_BLOCKS];
static uint32_t slots_freed; /* when it changes, a thread without a ring may try again */

static bool claim(struct ebt_slot *s, uint32_t from, uint32_t tid)
{
	return __atomic_compare_exchange_n(&s->owner, &from, tid, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/*
 * The lowest free slot, else one whose thread ended without releasing it: by a bare system call, or
 * with a last probe after the last round of thread destructors.
 */
static struct ebt_slot *find_free(uint32_t max_domains, uint32_t tid)
{
	for (uint32_t i = 0; i < max_domains; i++) {
		struct ebt_slot *s = &ebt_slots[i];
		if (!__atomic_load_n(&s->owner, __ATOMIC_RELAXED) && claim(s, 0, tid)) {
			s->index = i;
			return s;
		}
	}
	pid_t pid = getpid();
	for (uint32_t i = 0; i < max_domains; i++) {
		struct ebt_slot *s = &ebt_slots[i];
		uint32_t owner = __atomic_load_n(&s->owner, __ATOMIC_RELAXED);
		if (owner && syscall(SYS_tgkill, pid, owner, 0) < 0 && errno == ESRCH &&
		    claim(s, owner, tid)) {
			__atomic_store_n(&s->busy, 0, __ATOMIC_RELAXED);
			return s;
		}
	}
	return NULL;
}

/* A ring that was used before continues at its positions and ordinals, which never repeat. */
static void open_ring(struct ebt_slot *s, const struct ebt_file *file, uint32_t tid)
{
	struct ebt_ring_header *h = &file->headers[s->index];
	ebt_ring_open(&s->ring, h, file->data + file->elements * s->index, file->elements,
		      file->elements / EBT_RING_BLOCKS, first_records[s->index]);
	memset(&s->clock, 0, sizeof(s->clock));
	s->domain = (uint32_t)file->ext->first_domain + s->index;
	ebt_ring_store(&h->generation, h->generation + 1);
	ebt_ring_store(&h->last_tid, tid);
	ebt_ring_store(&h->owner_tid, tid);
}

static bool assign(const struct ebt_file *file, uint32_t state)
{
	struct ebt_thread *t = &ebt_self;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct ebt_slot *s = t->slot;
	if (!s)
		s = find_free(file->max_domains, tid);
	/* A ring that had an owner is allocated. */
	if (s && !file->headers[s->index].generation &&
	    ebt_file_reserve(file, file->data + file->elements * s->index,
			     file->elements * sizeof(uint64_t))) {
		t->slot = NULL;
		__atomic_store_n(&s->owner, 0, __ATOMIC_RELEASE);
		s = NULL;
	}
	if (!s)
		return false;
	open_ring(s, file, tid);
	t->slot = s;
	ebt_compiler_barrier();
	s->state = state;
	return true;
}

bool ebt_slot_assign(const struct ebt_file *file, uint32_t state)
{
	uint32_t freed = __atomic_load_n(&slots_freed, __ATOMIC_ACQUIRE);
	bool assigned = assign(file, state);
	if (!assigned) {
		ebt_self.refused = freed + 1;
		ebt_self.refused_state = state;
	}
	return assigned;
}

bool ebt_slot_refused(uint32_t state)
{
	return ebt_self.refused == __atomic_load_n(&slots_freed, __ATOMIC_ACQUIRE) + 1 &&
	       ebt_self.refused_state == state;
}

void ebt_slot_free(struct ebt_slot *s)
{
	__atomic_store_n(&s->owner, 0, __ATOMIC_RELEASE);
	__atomic_add_fetch(&slots_freed, 1, __ATOMIC_RELEASE);
}

void ebt_slots_forget(void)
{
	struct ebt_slot *kept = ebt_self.slot && ebt_self.slot->busy ? ebt_self.slot : NULL;
	for (uint32_t i = 0; i < EBT_RING_MAX_DOMAINS; i++) {
		/* Reading first does not touch the pages of unused slots. */
		if (ebt_slots[i].owner && &ebt_slots[i] != kept)
			memset(&ebt_slots[i], 0, sizeof(ebt_slots[i]));
	}
	memset(ebt_self.buckets, 0, sizeof(ebt_self.buckets)); /* the parent will flush them */
	ebt_visitors = ((ebt_visitors >> 32) + 1) << 32;
	ebt_self.slot = kept;
	ebt_self.refused = 0;
}

static bool somebody_is_busy(void)
{
	if ((uint32_t)__atomic_load_n(&ebt_visitors, __ATOMIC_SEQ_CST))
		return true;
	for (uint32_t i = 0; i < EBT_RING_MAX_DOMAINS; i++) {
		struct ebt_slot *s = &ebt_slots[i];
		if (__atomic_load_n(&s->owner, __ATOMIC_RELAXED) && s != ebt_self.slot &&
		    __atomic_load_n(&s->busy, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

bool ebt_slots_wait(uint64_t limit_ns)
{
	/*
	 * The partner of the compiler barrier between a probe's store to `busy` and its load of the
	 * state: after this, a probe either has seen the closed gate or is seen to be busy.
	 */
	ebt_barrier_all();
	uint64_t until = ebt_clock_monotonic() + limit_ns;
	while (somebody_is_busy()) {
		if (ebt_clock_monotonic() > until)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	}
	/* A signal handler that interrupted our own probe may have called this. */
	return !ebt_self.slot || !ebt_self.slot->busy;
}
