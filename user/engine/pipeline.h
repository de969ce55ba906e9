/* SPDX-License-Identifier: BSD-2-Clause */
/* The pump of a run: into its sink, through the filter that the options ask for. What is read once is
 * passed through it from begin to end. */
#ifndef ENGINE_PIPELINE_H
#define ENGINE_PIPELINE_H

#include "core/pump.h"
#include "engine/context.h"
#include "engine/loop.h"

/* 0 or -errno. The sources are added by the caller, who frees the pump with pipeline_free(). */
int pipeline_new(const struct engine *e, struct pump **ret);
/* Reports how many events were left out because their thread is not known. NULL is allowed. */
void pipeline_free(const struct engine *e, struct pump *p);
/* Moves all that the sources give into the sink, or until the loop is stopped. 0 or -errno. */
int pipeline_run(const struct engine *e, struct loop *l, struct pump *p);

#endif
