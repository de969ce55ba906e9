/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The positions of frames as libebtrace-preload.so and libebtrace-probes name them,
 * "0xOFFSET:BUILDID" in the file of a module. Each module is opened once, of one trace at most
 * 1,024; what is returned is valid until mem_modules_free().
 */
#ifndef SOURCE_FILE_MEM_MODULES_H
#define SOURCE_FILE_MEM_MODULES_H

#include <ebtrace/memtrace.h>
#include <stdbool.h>

#include "base/messages.h"

struct mem_modules;

/* Keeps `messages`. 0 or -ENOMEM. */
int mem_modules_new(const struct messages *messages, struct mem_modules **ret);
void mem_modules_free(struct mem_modules *m); /* NULL is allowed */
/* True if the frame is named so. */
bool mem_modules_named(const struct ebt_memtrace_location *frame);
/* The positions of a frame, outermost first, in memory that the caller frees; their strings are the
 * modules'. Returns their number; 0: no memory. */
size_t mem_modules_find(struct mem_modules *m, const struct ebt_memtrace_location *frame,
			struct ebt_memtrace_location **ret);
/* A module that was not found, could not be read, or has another build id; NULL: no more. */
const char *mem_modules_changed(const struct mem_modules *m);

#endif
