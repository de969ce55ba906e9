/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stops a process while probes are inserted into it: by ptrace (PTRACE_SEIZE and PTRACE_INTERRUPT),
 * which sends no signal, is invisible to its parent, and ends when we end. Signals that arrive
 * meanwhile are delivered. Set-user-id programs and the like, and processes that are already
 * traced, are never stopped. Without CAP_SYS_PTRACE nothing is: a process that calls exec while
 * such a tracer is attached does not get the privilege of a set-user-id program. No debugger can
 * attach to a stopped process until it is released.
 */
#ifndef PROC_HOLD_H
#define PROC_HOLD_H

#include <sys/types.h>

/* Stops a process of one thread, waiting for some milliseconds at most. 0, also if it has not
 * stopped by then, or -errno. */
int hold_begin(pid_t pid);
/* Releases it. 0; -EAGAIN: it has not stopped yet (an uninterruptible sleep): call again later.
 * Also needed if it has ended meanwhile: its parent is not notified before. */
int hold_end(pid_t pid);

#endif
