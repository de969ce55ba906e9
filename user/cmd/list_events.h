/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace list --events. */
#ifndef CMD_LIST_EVENTS_H
#define CMD_LIST_EVENTS_H

#include <stdbool.h>

/* Prints every name and kind of event, and its meaning. */
void list_events(bool json);
/* Calls fn with each of them, in the same order. */
void list_events_each(void (*fn)(void *ctx, const char *family, const char *name, const char *help),
		      void *ctx);

#endif
