/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an event is called, the same in every output and in -e: by its kind's label, and where that
 * is a name that a program registered, by the session. Names of kinds themselves are in
 * session/kinds.
 */
#ifndef SESSION_NAMES_H
#define SESSION_NAMES_H

#include "session/kinds.h"
#include "session/session.h"

/* Canonical or registered name of an event; NULL if it has none or it is not known. */
const char *names_event(const struct session *s, const struct ebt_event *ev);
#define NAMES_MADE_BYTES 48
/* As names_event(). Instead of NULL, a name made of the label and the producer's own number, in
 * `scratch`: "phase_77", "user_3"; without a label the name of the kind. */
const char *names_label(const struct session *s, const struct ebt_event *ev,
			char scratch[NAMES_MADE_BYTES]);
/* The producer's own number of what has a name: of a phase, counter, lifecycle or user event. */
uint32_t names_number(const struct session *s, const struct ebt_event *ev);

#endif
