/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the process that affect a recording: load of the library, fork, unload, exit. Called
 * only by the loader and fork().
 */
#include <errno.h>
#include <pthread.h>

#include "alloc_trace.h"
#include "barrier.h"
#include "clock.h"
#include "entry.h"
#include "gate.h"
#include "lock.h"
#include "page_trace.h"
#include "procfs.h"
#include "recording.h"
#include "settings.h"
#include "shared/fork_mark.h"
#include "slot.h"
#include "thread.h"

static void before_fork(void)
{
	ebt_recording_lock();
}

static void after_fork_parent(void)
{
	struct ebt_probe p;
	ebt_unlock();
	uint32_t state = ebt_state();
	/* A child that forks again without a probe of its own needs no file. */
	if ((!state || (state & EBT_STATE_FORKED)) && !ebt_traced())
		return;
	int saved_errno = errno;
	pid_t child = ebt_proc_last_child();
	if (ebt_enter(&p))
		ebt_record_lifecycle(&p, EBT_LIFECYCLE_fork_parent, child);
	errno = saved_errno;
}

static void after_fork_child(void)
{
	int saved_errno = errno;
	ebt_recording_forked(ebt_inside_probe());
	ebt_lock_restore_signals();
	errno = saved_errno;
}

/* First constructor and last destructor, so that those of the program can probe. */
__attribute__((constructor(101))) static void library_loaded(void)
{
	ebt_recording_init();
	ebt_clock_choose(ebt_setting("EBTRACE_CLOCK", NULL));
	ebt_threads_init();
	ebt_barrier_init();
	ebt_fork_mark_init();
	ebt_alloc_trace_init();
	ebt_page_trace_init();
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	if (ebt_setting("EBTRACE_START", "OCAML_RUNTIME_EVENTS_START"))
		ebt_start();
}

__attribute__((destructor(101))) static void library_unloaded(void)
{
	ebt_recording_exit();
	ebt_threads_done();
	ebt_alloc_trace_stop();
	ebt_alloc_trace_done();
	ebt_page_trace_stop();
	ebt_page_trace_done();
}
