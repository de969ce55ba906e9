/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/mem_running.h"

#include <sys/stat.h>

#include "cmd/formats.h"
#include "cmd/trace.h"

int mem_running(struct opts *o)
{
	o->format = format_named("memtrace");
	o->engine.allocs = ALLOCS_ONLY;
	o->engine.mode = MODE_PROBES;
	/* Addresses, paths and the command line concern its user alone. */
	mode_t mask = umask(077);
	int status = trace_run(o);
	umask(mask);
	return status;
}
