/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Separate debug files by build id from the servers of DEBUGINFOD_URLS, which are asked one after
 * the other by a process (debuginfod_worker.h). Without that variable there is no process, no
 * connection and no file. What a server sends is used only if it is an ELF file with the build id.
 *
 * All questions of a run together have 10 s and 256 MiB, in memory; a server that does not answer
 * is not asked again, and one line says so. A file is written only if DEBUGINFOD_CACHE_PATH names a
 * folder for it; in that, or else in the usual one of the user, it is looked for first.
 */
#ifndef ELF_DEBUGINFOD_H
#define ELF_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

#include "base/messages.h"

struct debuginfod;

/* Keeps `messages`. NULL: no server is named, or no memory. */
struct debuginfod *debuginfod_new(const struct messages *messages);
void debuginfod_free(struct debuginfod *d); /* NULL is allowed */

/* A module that has a build id. */
struct debuginfod_module {
	const char *path; /* in messages */
	const uint8_t *build_id;
	size_t bytes; /* at most DEBUGINFOD_BUILD_ID_BYTES */
};
#define DEBUGINFOD_BUILD_ID_BYTES 32

/* Asks for a module; the last one was answered. */
void debuginfod_ask(struct debuginfod *d, const struct debuginfod_module *m);
/* Waits for the answer until a time of CLOCK_MONOTONIC. A descriptor of the file, which does not
 * change any more; -EAGAIN: not yet; -ENOENT: there is none. */
int debuginfod_receive(struct debuginfod *d, uint64_t until_ns);
/* Gives up the question and all to come. */
void debuginfod_stop(struct debuginfod *d);

#endif
