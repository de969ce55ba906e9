/* SPDX-License-Identifier: BSD-2-Clause */
/* What kinds and events are called, the same in every output and in -e. */
#ifndef CORE_NAMES_H
#define CORE_NAMES_H

#include "core/session.h"

/* "begin", "page_alloc" …; "unknown" for what is no kind. Static. */
const char *names_kind(uint16_t kind);
/* Canonical or registered name of an event; NULL if it has none or it is not known. */
const char *names_event(const struct session *s, const struct ebt_event *ev);
#define NAMES_MADE_BYTES 48
/* The same; of what has no name one made of its family and the producer's own number, in `scratch`:
 * "phase_77", "user_3". */
const char *names_label(const struct session *s, const struct ebt_event *ev,
			char scratch[NAMES_MADE_BYTES]);
/* The producer's own number of what has a name: of a phase, counter, lifecycle or user event. */
uint32_t names_number(const struct session *s, const struct ebt_event *ev);
/* "fork", "exec", "exit" of an EBT_PROCESS event; "unknown". Static. */
const char *names_process_change(uint32_t change);

#endif
