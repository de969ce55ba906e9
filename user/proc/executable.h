/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the file of a command. */
#ifndef PROC_EXECUTABLE_H
#define PROC_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>

/* The path of the file that execvp(name) runs, in `ret` (cap bytes). False: there is none. */
bool executable_find(const char *name, char *ret, size_t cap);

#endif
