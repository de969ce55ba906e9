/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments and the payload of an event as notes of a packet. */
#ifndef SINK_PERFETTO_ARGS_H
#define SINK_PERFETTO_ARGS_H

#include "core/kinds.h"
#include "sink/perfetto_packet.h"

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
