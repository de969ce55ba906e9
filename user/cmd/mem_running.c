/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/mem_running.h"

#include "cmd/formats.h"
#include "cmd/trace.h"

int mem_running(struct opts *o)
{
	o->format = format_named("memtrace");
	o->engine.allocs = ALLOCS_ONLY;
	o->engine.mode = MODE_PROBES;
	o->is_private = true;
	return trace_run(o);
}
