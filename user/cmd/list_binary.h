/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace list BINARY. */
#ifndef CMD_LIST_BINARY_H
#define CMD_LIST_BINARY_H

#include <stdbool.h>

/* Prints the runtime and the markers of a binary. Returns the exit status. */
int list_binary(const char *path, bool json);

#endif
