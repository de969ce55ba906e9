/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Separate debug files by build id from the servers of DEBUGINFOD_URLS. A process
 * (debuginfod_worker.h) asks them one after the other. Without that variable there is no process,
 * no connection and no file. What a server sends is used only if it is an ELF file with the build
 * id.
 *
 * All requests of a run together have 256 MiB, in memory, and the time of debuginfod_new(). A
 * server that does not answer is not asked again, and one message reports it. The cache is searched
 * first: the folder that DEBUGINFOD_CACHE_PATH names, else the user's usual one. Files are added to
 * the former only.
 */
#ifndef ELF_DEBUGINFOD_H
#define ELF_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

#include "base/messages.h"

struct debuginfod;

/* Keeps `messages`. budget_ns: for all requests, up to an hour. NULL: no server is named, or no
 * memory. */
struct debuginfod *debuginfod_new(const struct messages *messages, uint64_t budget_ns);
void debuginfod_free(struct debuginfod *d); /* NULL is allowed */

/* A module that has a build id. */
struct debuginfod_module {
	const char *path; /* in messages */
	const uint8_t *build_id;
	size_t bytes; /* at most DEBUGINFOD_BUILD_ID_BYTES */
};
#define DEBUGINFOD_BUILD_ID_BYTES 32

/* Requests the debug file of a module. The last request must have been answered. */
void debuginfod_ask(struct debuginfod *d, const struct debuginfod_module *m);
/* Waits for the answer until a time of CLOCK_MONOTONIC. A descriptor of the file, which does not
 * change any more; -EAGAIN: not yet; -ENOENT: there is none. */
int debuginfod_receive(struct debuginfod *d, uint64_t until_ns);
/* Cancels the request. Later ones are answered from the cache only. */
void debuginfod_stop(struct debuginfod *d);

#endif
