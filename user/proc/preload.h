/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides whether the dynamic linker will load a library of ours into a program. */
#ifndef PROC_PRELOAD_H
#define PROC_PRELOAD_H

#include <stdbool.h>

#define PRELOAD_REASON_BYTES 160

/*
 * NULL: it will; else why not, in `ret` or a static string: the program is statically linked, for
 * another machine or C library, sanitized, or gets privileges by being started. Of a script, its
 * interpreter.
 */
const char *preload_refused(const char *path, char ret[PRELOAD_REASON_BYTES]);

/* True if it is linked with memtrace (codec/memtrace), which records by itself. */
bool preload_has_memtrace(const char *path);

#endif
