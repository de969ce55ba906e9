/* SPDX-License-Identifier: BSD-2-Clause */
/* The pump of a run: into its sink, through the filter that the options ask for. */
#ifndef ENGINE_PIPELINE_H
#define ENGINE_PIPELINE_H

#include "core/pump.h"
#include "engine/context.h"

/* 0 or -errno. The sources are added by the caller, who frees the pump with pipeline_free(). */
int pipeline_new(const struct engine *e, struct pump **ret);
/* Reports how many events were left out because their thread is not known. NULL is allowed. */
void pipeline_free(const struct engine *e, struct pump *p);

#endif
