/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments and the payload of an event as notes of a packet. */
#ifndef FORMAT_PERFETTO_ARGS_H
#define FORMAT_PERFETTO_ARGS_H

#include "format/perfetto/packet.h"
#include "session/kinds.h"

struct perfetto_args {
	const struct session *session;
	struct packets *packets;
	uint32_t notes[EBT_KINDS][KINDS_ARGS]; /* of each argument; 0: none yet */
};

/* Of zeroed memory; both are kept. */
void perfetto_args_init(struct perfetto_args *a, const struct session *s, struct packets *p);
/* Writes the names of the event's arguments, before the packet that has them is opened. */
void perfetto_args_know(struct perfetto_args *a, const struct ebt_event *ev);
void perfetto_args_note(struct perfetto_args *a, const struct ebt_event *ev);

#endif
