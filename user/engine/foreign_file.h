/* SPDX-License-Identifier: BSD-2-Clause */
/* Recognises files that no input can be: packed ones, and traces of other tools. */
#ifndef ENGINE_FOREIGN_FILE_H
#define ENGINE_FOREIGN_FILE_H

#include <stddef.h>

/* What a file with this head is, and what to do with it, behind "'FILE' "; NULL: not known. */
const char *foreign_file(const void *head, size_t bytes);

#endif
