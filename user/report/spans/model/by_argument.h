/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans of markers by the value of an argument of their begins. */
#ifndef REPORT_SPANS_MODEL_BY_ARGUMENT_H
#define REPORT_SPANS_MODEL_BY_ARGUMENT_H

#include "session/session.h"

#define SPAN_ARGUMENT_BYTES 256

/* The name with the value of an argument: "p:begin~p:end #0=12"; alone if the event has none of
 * that number. */
void span_name_by_argument(const struct session *s, const struct ebt_event *ev, const char *name,
			   unsigned number, char ret[SPAN_ARGUMENT_BYTES]);

#endif
