/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The signals that a run reads from a signalfd. The first that requests the end ends the run:
 * probes are removed and the output is finished. No signal interrupts the removal; a second one
 * interrupts the output. Two signals of one process within a second, as timeout(1) sends them
 * at once (to us, and to our group), count as one request.
 */
#ifndef ENGINE_SIGNALS_H
#define ENGINE_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct signals {
	int fd;	       /* a signalfd, non-blocking; < 0: none */
	unsigned ends; /* requests for the end of the run */
	int last;      /* the last request, and when it was read */
	uint64_t last_ns;
	bool released;
};

/* Blocks the signals. for_program: also those that only the started program handles. 0 or
 * -errno. */
int signals_catch(struct signals *s, bool for_program);
/* In a child that becomes a program: signals are blocked and ignored as they were when ebtrace was
 * started, which a shell's background job and nohup rely on. */
void signals_inherit(void);
/* Reads pending signals; forwards to `program` (<= 0: none) those sent to us alone. */
void signals_read(struct signals *s, pid_t program);
/* The probes are removed: from now on a second request, also one that is pending, ends ebtrace as
 * its default action does. */
void signals_release(struct signals *s, pid_t program);
/* The run has ended: a signal ends ebtrace; but of a live run the first that is not SIGTERM is
 * ignored if none arrived before. */
void signals_finish(struct signals *s, bool is_live);

#endif
