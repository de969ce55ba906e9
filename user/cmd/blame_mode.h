/* SPDX-License-Identifier: BSD-2-Clause */
/* What --blame of a report needs of a run: its mode, and which stacks it records. */
#ifndef CMD_BLAME_MODE_H
#define CMD_BLAME_MODE_H

#include "engine/options.h"

/* Of options with `blame`, before they are checked. */
void blame_mode_prepare(struct engine_options *e);
/* Whether the rings of all that is traced report which thread writes them. */
bool blame_mode_rings_have_threads(const struct engine_options *e);

#endif
