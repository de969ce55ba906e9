/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether --rate means something with the FILEs of a command line. */
#ifndef CMD_MEM_RATE_H
#define CMD_MEM_RATE_H

#include "cmd/opts.h"

/* 0, or EXIT_USAGE after a line on stderr: a FILE is a memtrace trace or a capture in which every
 * process has a rate. Pipes are not checked: their rates are known only after they are read. */
int mem_check_rate(const struct opts *o);

#endif
