/* SPDX-License-Identifier: BSD-2-Clause */
/* The FILEs of commands that read them one by one. A run of the engine has its own list of inputs,
 * which does the same (engine/input/inputs.h). */
#ifndef CMD_DISTINCT_FILES_H
#define CMD_DISTINCT_FILES_H

#include "engine/options.h"

/* Removes regular files that are given again, also by another name, and standard input if
 * reads_stdin and it is given again; a line says so. 0, or an exit status after a line on
 * stderr. */
int distinct_files_keep(struct engine_options *e, bool reads_stdin);

#endif
