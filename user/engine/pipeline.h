/* SPDX-License-Identifier: BSD-2-Clause */
/* The pump of a run: it moves events through the filter of the options into the sink. */
#ifndef ENGINE_PIPELINE_H
#define ENGINE_PIPELINE_H

#include "engine/context.h"
#include "engine/loop.h"
#include "stream/pump.h"

/* 0 or -errno. The caller adds the sources, and frees the pump with pipeline_free(). */
int pipeline_new(const struct engine *e, struct pump **ret);
/* Reports the number of events that the filter dropped because their thread is not known. NULL is
 * allowed. */
void pipeline_free(const struct engine *e, struct pump *p);
/* Moves all events of the sources into the sink, until their end or loop_stop(). 0 or -errno. */
int pipeline_run(const struct engine *e, struct loop *l, struct pump *p);

#endif
