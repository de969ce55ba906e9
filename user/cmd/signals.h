/* SPDX-License-Identifier: BSD-2-Clause */
/* The signals that a run takes as data: what they mean is the tracer's business. */
#ifndef CMD_SIGNALS_H
#define CMD_SIGNALS_H

#include <stdbool.h>

/* Blocks them. A signalfd, non-blocking, or -errno. for_program: also those that are for a program
 * of ours alone. */
int signals_catch(bool for_program);
/* True of one that asks for the end of the run. */
bool signals_end_run(int signo);
/* From here on such a signal ends ebtrace as if it had never been caught. */
void signals_uncatch(void);
/* The run is at its end anyway: the first such signal is waited out, the second ends ebtrace. */
void signals_finish(void);

#endif
