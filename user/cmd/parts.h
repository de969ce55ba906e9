/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of an output that other runs have left or are writing (outfile.h). They are looked at
 * and told, never changed: what was recorded belongs to who recorded it.
 */
#ifndef CMD_PARTS_H
#define CMD_PARTS_H

#include "cmd/outfile.h"

/* A line on stderr for each part beside the part `f`: of a run that was interrupted with the command
 * that recovers it, of one that runs that it does. Not for those that are inputs now. */
void parts_tell(const struct outfile *f, const struct file_id *inputs, unsigned input_count);

#endif
