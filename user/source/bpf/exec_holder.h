/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stops traced programs at their exec until they are probed (proc/hold.h), in a thread of its own:
 * the tracer may be in the middle of other work then, for milliseconds, in which a small program
 * has started its threads, or has ended. The thread is woken by the kernel's notice of the exec and
 * does nothing else:
 *
 *   kernel -- notice of an exec --> thread: stops it ------------> lets it go, after 1 s
 *      \------ record of the exec --> tracer: probes -- release ----/  at the latest
 *
 * A process whose notice comes when the tracer has released it already is not stopped any more. A
 * file about which nothing is known is worth it if it is small enough to be inspected soon; the
 * tracer's verdict replaces that.
 *
 * The functions may be called by one thread.
 */
#ifndef SOURCE_BPF_EXEC_HOLDER_H
#define SOURCE_BPF_EXEC_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct exec_holder;

/* notices: the map of the kernel's notices (struct ebt_exec_notice), which must outlive the
 * holder; bytes: its size. realtime: the thread gets the lowest real-time priority, if that is
 * permitted: it works for some 100 us an exec, and sleeps else. 0 or -errno. */
int exec_holder_new(int notices, size_t bytes, bool realtime, struct exec_holder **ret);
/* Lets go of all that are held. NULL is allowed. */
void exec_holder_free(struct exec_holder *h);

/* Stops a process without a notice; it waits for some milliseconds at most. False: it may not be
 * stopped, or has ended. */
bool exec_holder_hold(struct exec_holder *h, pid_t pid);
/* Since when the process has been stopped; 0: it is not. */
uint64_t exec_holder_since(struct exec_holder *h, pid_t pid);
/* Lets go of a process soon, if it is held, and does not stop it for an exec until until_ns. */
void exec_holder_release(struct exec_holder *h, pid_t pid, uint64_t until_ns);
/* Whether programs of an open file are to be stopped from now on. */
void exec_holder_judge(struct exec_holder *h, int fd, bool worth);
/* What was judged is not known any more. */
void exec_holder_forget(struct exec_holder *h);

#endif
