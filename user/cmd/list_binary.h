/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace list BINARY. */
#ifndef CMD_LIST_BINARY_H
#define CMD_LIST_BINARY_H

/* Prints what a binary is, and its markers. Returns the exit status. */
int list_binary(const char *path);

#endif
