/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of ebtrace info. */
#ifndef CMD_INFO_H
#define CMD_INFO_H

#include "cmd/open.h"

/* Tells what a capture is and holds. Takes the input over. Exit status. */
int info_capture(const struct input *in, const struct opts *o);

#endif
