/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of an output that other runs have left or are writing (outfile.h). They are reported,
 * never changed: a recording belongs to the user who made it.
 */
#ifndef CMD_PARTS_H
#define CMD_PARTS_H

#include "cmd/outfile.h"

/* Prints a line on stderr for each part beside the part `f`: that of an interrupted run with the
 * command that recovers it, that of an active run as such. Skips parts that are inputs now. */
void parts_report(const struct outfile *f, const struct file_id *inputs, unsigned input_count);

#endif
