/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the description of each kind of input, as text and as JSON. */
#ifndef CMD_INFO_PRINT_H
#define CMD_INFO_PRINT_H

#include "base/json.h"
#include "engine/input/info.h"
#include "session/session.h"

/* The line of the times of the first and last event; known: there is one. */
void info_print_span(bool known, uint64_t first_ns, uint64_t last_ns);
/* The lines of what was lost, and of what is of the time before the trace. */
void info_print_losses(const struct totals *t);
/* The member `kinds`: the number of events of each kind that the input has. */
void info_put_json_kinds(struct json *j, const struct input_info *i);
/* How the allocations of a process were sampled: as lines, and as members of its object. */
void info_print_alloc_trace(const struct alloc_trace *t, const struct session *session);
void info_put_json_alloc_trace(struct json *j, const struct alloc_trace *t,
			       const struct session *session);

void info_ring_text(const struct input_info *s, const struct session *session);
void info_ring_json(const struct input_info *s, const struct session *session);
/* True if events are missing. */
bool info_ring_lossy(const struct input_info *s, const struct session *session);

void info_capture_text(const struct input_info *i, const struct session *session);
void info_capture_json(const struct input_info *i, const struct session *session);
bool info_capture_lossy(const struct input_info *i, const struct session *session);

void info_memtrace_text(const struct input_info *i, const struct session *session);
void info_memtrace_json(const struct input_info *i, const struct session *session);
bool info_memtrace_lossy(const struct input_info *i, const struct session *session);

void info_pagetrace_text(const struct input_info *i, const struct session *session);
void info_pagetrace_json(const struct input_info *i, const struct session *session);
bool info_pagetrace_lossy(const struct input_info *i, const struct session *session);

/* Writes the schema of all that. */
void info_put_schema(struct json *j);

#endif
