/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace trace --trigger: captures of what was around long spans (format/ebt/trigger.h). */
#ifndef CMD_TRIGGER_H
#define CMD_TRIGGER_H

#include "cmd/opts.h"

/* 0, or EXIT_USAGE after a line on stderr. */
int trigger_check(const struct opts *o);
/* The run, of which the options have rules. Returns its exit status. */
int trigger_run(const struct opts *o);

#endif
