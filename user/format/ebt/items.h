/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes into a capture's open block what the session knows of itself, of a process and of a user
 * event. Keeps nothing: the caller knows what a block has already.
 */
#ifndef FORMAT_EBT_ITEMS_H
#define FORMAT_EBT_ITEMS_H

#include "codec/capture/capture.h"
#include "session/session.h"

/* begin, end: of the run, or the part of it that the capture is of. 0 or -ENOMEM. */
int ebt_items_put_session(struct capture_writer *w, const struct session *s, struct moment begin,
			  struct moment end);
/* With what is known of the sampling of its allocations. 0 or -ENOMEM. */
int ebt_items_put_process(struct capture_writer *w, const struct session *s,
			  const struct process *p);
/* A named mapping of the address space of the process with this pid. 0 or -ENOMEM. */
int ebt_items_put_mapping(struct capture_writer *w, uint32_t pid, const struct mapping *m);
/* The name of a user event, cut to CAPTURE_NAME_MAX. 0 or -ENOMEM. */
int ebt_items_put_name(struct capture_writer *w, uint32_t pid, uint32_t id, const char *text);

#endif
