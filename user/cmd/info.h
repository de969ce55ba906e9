/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of ebtrace info. */
#ifndef CMD_INFO_H
#define CMD_INFO_H

#include "cmd/opts.h"
#include "engine/inputs.h"

/* Tells what a capture, the only input, is and holds. Exit status. */
int info_capture(struct engine *e, struct loop *l, struct inputs *ins, const struct opts *o);

#endif
