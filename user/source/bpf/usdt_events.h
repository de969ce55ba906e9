/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes events of the records of the user's markers (bpf/abi.h): their names, their arguments, and
 * which spans by an argument belong together.
 *
 * A span by an argument has a slot (session/marker_values.h) from its begin to its end. A begin
 * with the argument of an open span opens another one inside it. Of an end without a begin the slot
 * is 0. Where records were dropped the missing ones may be ends: all slots are free again, as a
 * loss ends all spans (stream/tracks.h); and those of a process when it ends, or calls exec.
 */
#ifndef SOURCE_BPF_USDT_EVENTS_H
#define SOURCE_BPF_USDT_EVENTS_H

#include <stddef.h>

#include "base/ptrmap.h"
#include "bpf/abi.h"
#include "runtime/marker_requests.h"
#include "session/session.h"

struct usdt_process;

/* Fields are private. */
struct usdt_events {
	struct session *session;
	struct marker_requests names;	       /* the requests by whole names: attacher.h */
	PTRMAP(struct usdt_process) processes; /* by index in the registry */
	uint32_t dropped;		       /* of the last record */
};

/* The session is kept. asked: what the user asks for; NULL: nothing. 0 or -ENOMEM, and done() is to
 * be called. */
int usdt_events_init(struct usdt_events *u, struct session *session,
		     const struct marker_requests *asked);
void usdt_events_done(struct usdt_events *u);
/*
 * Completes an event that has process, thread and time, but for its kind, id and arguments, of a
 * record with `payload` bytes behind its body. 0 or -ENOMEM; -ENOENT: the record is of no request.
 */
int usdt_events_make(struct usdt_events *u, const struct ebt_usdt_record *rec, size_t payload,
		     struct ebt_event *ev);
/* The process has ended, or runs another program. */
void usdt_events_end(struct usdt_events *u, uint32_t process);

#endif
