/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds a process for the moment in which probes are put into it: by ptrace (PTRACE_SEIZE and
 * PTRACE_INTERRUPT), which sends no signal, is not shown to its parent, and ends with us. Signals that
 * come meanwhile are passed on. Never held are set-user-id programs and their like, and what is traced
 * already. A tracer without CAP_SYS_PTRACE holds nothing: a process that calls exec while such a tracer
 * is attached does not get the privilege of a set-user-id program. One that is held cannot be attached
 * to by a debugger until it is let go.
 */
#ifndef PROC_HOLD_H
#define PROC_HOLD_H

#include <sys/types.h>

/* Stops a process of one thread, for which it waits some milliseconds at most. 0, also if it has not
 * stopped by then, or -errno. */
int hold_begin(pid_t pid);
/* Lets it go on. 0; -EAGAIN: it has not stopped yet (it sleeps where nothing can stop it): it is to
 * be asked again. Also of one that has ended meanwhile, whose parent does not learn of that before. */
int hold_end(pid_t pid);

#endif
