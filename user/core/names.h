/* SPDX-License-Identifier: BSD-2-Clause */
/* What kinds and events are called, the same in every output and in -e. */
#ifndef CORE_NAMES_H
#define CORE_NAMES_H

#include "core/session.h"

/* "begin", "page_alloc" …; "unknown" for what is no kind. Static. */
const char *names_kind(uint16_t kind);
/* Canonical or registered name of an event; NULL if it has none or it is not known. */
const char *names_event(const struct session *s, const struct ebt_event *ev);
/* "fork", "exec", "exit" of an EBT_PROCESS event; "unknown". Static. */
const char *names_process_change(uint32_t change);

#endif
