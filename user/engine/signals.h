/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The signals that a run takes as data. The first one that asks for the end ends the run: probes are
 * removed and the output is finished. None interrupts the former; a second one, the latter. What one
 * process sends twice at once, as timeout(1) does (to us, and to our group), is one request.
 */
#ifndef ENGINE_SIGNALS_H
#define ENGINE_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct signals {
	int fd;	       /* a signalfd, non-blocking; < 0: none */
	unsigned ends; /* so many asked for the end of the run */
	int last;      /* of these, who sent it (0: the kernel), and when it was taken */
	pid_t last_from;
	uint64_t last_ns;
	bool released;
};

/* Blocks them. for_program: also those that are for a program of ours alone. 0 or -errno. */
int signals_catch(struct signals *s, bool for_program);
/* Takes what has come; `program` (<= 0: none) gets what was sent to us alone. */
void signals_take(struct signals *s, pid_t program);
/* The probes are gone: from the second signal on, which may have come already, they end ebtrace as
 * if they had never been caught. */
void signals_release(struct signals *s, pid_t program);
/* The run is at its end: if no signal has come, the first is waited out, the second ends ebtrace. */
void signals_finish(struct signals *s);

#endif
