/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of ebtrace list. */
#ifndef CMD_LIST_H
#define CMD_LIST_H

#include <stdbool.h>

/* Every name and kind of event, with what it means. */
void list_events(bool json);
/* What a binary is, and its markers. Exit status. */
int list_binary(const char *path);

#endif
