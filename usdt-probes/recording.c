/* SPDX-License-Identifier: BSD-2-Clause */
#include "recording.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gate.h"
#include "lock.h"
#include "names.h"
#include "record.h"
#include "settings.h"
#include "shared/fork_mark.h"
#include "signals.h"
#include "slot.h"
#include "thread.h"

#define STOP_WAIT_NS	 1000000000
#define EXIT_WAIT_NS	 100000000
#define REQUEST_RETRY_NS 1000000000

/* All below is written under the lock. */
static struct ebt_config config;
static struct ebt_file file;
static uint32_t epoch;
static uint64_t request_after_ns; /* no new attempt before this time */
static bool exiting;
static bool requested; /* a tracer asked for the ring, not the program */

void ebt_recording_lock(void)
{
	sigset_t mask;
	ebt_signals_block(&mask);
	/* Otherwise the lock could belong to a thread of the parent. */
	if (ebt_forked())
		ebt_recording_forked(ebt_inside_probe());
	ebt_lock(&mask);
}
struct ebt_file *ebt_current_file(void)
{
	return &file;
}

EBT_ONE_SITE static void marker_ring_start(const char *path, struct ebt_tail tail)
{
	EBT_FIRE("ring_start", EBT_SEMAPHORE_NONE, EBT_ARG_NAME " " EBT_ARG_TS, 0, path, 0, 0,
		 tail);
}
EBT_ONE_SITE static void marker_ring_stop(const char *path, struct ebt_tail tail)
{
	EBT_FIRE("ring_stop", EBT_SEMAPHORE_NONE, EBT_ARG_NAME " " EBT_ARG_TS, 0, path, 0, 0, tail);
}
EBT_ONE_SITE static void marker_ring_request(struct ebt_tail tail)
{
	EBT_FIRE("ring_request", EBT_SEMAPHORE_REQUEST, "", 0, NULL, 0, 0, tail);
}

/* ring_start is the first event of the file: it is written before the gate opens. */
static int start_locked(void)
{
	bool forked = ebt_state() & EBT_STATE_FORKED;
	if (file.base)
		return 0;
	if (exiting)
		return -EAGAIN;
	if (!config.max_domains)
		ebt_settings_read(&config); /* called by a constructor before ours */
	int err = ebt_file_create(&file, &config, ebt_names_bytes(), ebt_names_copy);
	if (err)
		return err;
	uint32_t state = ++epoch << EBT_STATE_EPOCH_SHIFT | EBT_STATE_ON;
	ebt_thread_bind(&file, state, false);
	ebt_record_put(EBT_LIFECYCLE_ring_start, getpid(), state);
	if (forked)
		ebt_record_put(EBT_LIFECYCLE_fork_child, 0, state);
	ebt_state_set(state);
	struct ebt_tail tail = ebt_tail_without_ring();
	marker_ring_start(file.path, tail);
	return 0;
}

/* Starts the recording of a child whose parent recorded. On failure it runs without. */
static void start_if_forked(void)
{
	if ((ebt_state() & EBT_STATE_FORKED) && start_locked() < 0)
		ebt_state_set(0);
}

/*
 * Closes the gate, waits for the probes under way, then writes ring_stop as the last event. A
 * thread that does not leave its probe keeps the mapping: a leak is better than a crash.
 */
static void stop_locked(uint64_t wait_ns)
{
	if (ebt_state() & EBT_STATE_FORKED)
		ebt_state_set(0);
	if (!file.base)
		return;
	uint32_t state = (ebt_state() | EBT_STATE_ON) & ~EBT_STATE_PAUSED;
	ebt_thread_bind(&file, state, true);
	ebt_state_set(0);
	bool quiet = ebt_slots_wait(wait_ns);
	ebt_record_put(EBT_LIFECYCLE_ring_stop, 0, state);
	struct ebt_tail tail = ebt_tail_without_ring();
	marker_ring_stop(file.path, tail);
	if (!config.preserve)
		ebt_file_remove(&file);
	if (quiet)
		ebt_file_unmap(&file);
	file.base = NULL;
	__atomic_store_n(&request_after_ns, tail.ts + REQUEST_RETRY_NS, __ATOMIC_RELAXED);
}

void ebt_recording_init(void)
{
	ebt_settings_read(&config);
}

int ebt_start(void)
{
	ebt_recording_lock();
	if (!file.base)
		requested = false;
	int err = start_locked();
	ebt_unlock();
	return err;
}

void ebt_recording_child_probes(void)
{
	ebt_recording_lock();
	start_if_forked();
	ebt_unlock();
}

int ebt_stop(void)
{
	ebt_recording_lock();
	stop_locked(STOP_WAIT_NS);
	ebt_unlock();
	return 0;
}

int ebt_pause(void)
{
	ebt_recording_lock();
	start_if_forked();
	uint32_t state = ebt_state();
	int err = file.base ? 0 : -EAGAIN;
	if (!err && !(state & EBT_STATE_PAUSED)) {
		ebt_thread_bind(&file, state, true);
		ebt_record_put(EBT_LIFECYCLE_ring_pause, 0, state);
		ebt_state_set(state | EBT_STATE_PAUSED);
	}
	ebt_unlock();
	return err;
}

int ebt_resume(void)
{
	ebt_recording_lock();
	start_if_forked();
	uint32_t state = ebt_state() & ~EBT_STATE_PAUSED;
	int err = file.base ? 0 : -EAGAIN;
	if (!err && state != ebt_state()) {
		ebt_thread_bind(&file, state, true);
		ebt_record_put(EBT_LIFECYCLE_ring_resume, 0, state);
		ebt_state_set(state);
	}
	ebt_unlock();
	return err;
}

const char *ebt_ring_path(void)
{
	return __atomic_load_n(&file.base, __ATOMIC_ACQUIRE) ? file.path : NULL;
}

void ebt_runtime_name(const char *name)
{
	ebt_recording_lock();
	memset(config.runtime, 0, sizeof(config.runtime));
	strncpy(config.runtime, name ? name : "", sizeof(config.runtime) - 1);
	/* With EBTRACE_START=1 the file exists before the program can set a name. */
	if (file.base)
		memcpy(file.ext->runtime, config.runtime, sizeof(file.ext->runtime));
	ebt_unlock();
}

const char *ebt_probes_version(void)
{
	return EBT_VERSION;
}

/*
 * The holder of the lock is either starting the ring or waiting for probes to end: do not wait.
 * After a failed attempt, probes make no system call until the next one.
 */
void ebt_recording_requested(void)
{
	uint64_t now = ebt_clock_monotonic();
	if (__atomic_load_n(&exiting, __ATOMIC_RELAXED) ||
	    now < __atomic_load_n(&request_after_ns, __ATOMIC_RELAXED) || !ebt_trylock())
		return;
	if (!file.base && !exiting && now >= request_after_ns) {
		requested = true;
		if (start_locked() < 0)
			__atomic_store_n(&request_after_ns, now + REQUEST_RETRY_NS,
					 __ATOMIC_RELAXED);
		struct ebt_tail tail = ebt_tail_without_ring();
		if (file.base)
			marker_ring_request(tail);
	}
	ebt_unlock();
}

void ebt_recording_forked(bool inside)
{
	ebt_lock_renew();
	bool recorded = file.base || (ebt_state() & EBT_STATE_FORKED);
	ebt_fork_mark_renew();
	if (inside)
		ebt_file_detach(&file);
	else
		ebt_file_unmap(&file);
	ebt_slots_forget();
	request_after_ns = 0;
	ebt_state_set(recorded ? EBT_STATE_FORKED : 0);
}

/*
 * At its end a program may be in a sandbox that kills it for any system call that it does not need
 * itself, and finding out needs one. So if there is no ring, or a tracer asked for it and removes
 * it, the end consists of stores to memory only. The slot keeps the file mapped for ring_stop as
 * for any probe, a visit does so for the note.
 */
static void end_without_system_calls(uint32_t state)
{
	struct ebt_slot *s = ebt_self.slot;
	struct ebt_tail tail = ebt_tail_without_ring();
	if (!(state & EBT_STATE_ON))
		return;
	struct ebt_probe p;
	if (s && s->state == state && !s->busy && ebt_record_ready(&p, s))
		ebt_record_lifecycle(&p, EBT_LIFECYCLE_ring_stop, 0);
	uint64_t visit = ebt_visit();
	if (ebt_state_ordered() == state) {
		ebt_state_set(0);
		marker_ring_stop(file.path, tail);
		file.ext->left_over = !config.preserve;
	}
	ebt_leave(visit);
}

static void end_with_removal(void)
{
	/* exit() may be called by the handler of a fault of the lock's holder. */
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	if (!ebt_lock_until(&until))
		return;
	stop_locked(EXIT_WAIT_NS);
	ebt_unlock();
}

void ebt_recording_exit(void)
{
	uint32_t state = ebt_state();
	__atomic_store_n(&exiting, true, __ATOMIC_RELAXED);
	/* In a child that has not noticed its fork, the ring is its parent's. */
	if (ebt_forked())
		return;
	if ((state & EBT_STATE_ON) && !requested && !config.preserve)
		end_with_removal();
	else
		end_without_system_calls(state);
}
