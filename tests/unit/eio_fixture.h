/* SPDX-License-Identifier: BSD-2-Clause */
/* A program with fibers: a session in which one process has registered Eio's events, and the events
 * themselves, as a ring holds them. */
#ifndef EIO_FIXTURE_H
#define EIO_FIXTURE_H

#include "codec/eio/eio.h"
#include "session/session.h"
#include <stdlib.h>
#include <string.h>

struct eio_feed {
	struct session *session;
	uint32_t process;
	uint16_t domain; /* of the next event */
	uint64_t ts;	 /* of the next event; each takes 1 ns */
	int (*push)(void *ctx, const struct ebt_event *ev);
	void *ctx;
	int err; /* the first */
};

/* The id of a user event is its enum eio_event. */
static inline void eio_register(struct session *s, uint32_t process)
{
	for (uint32_t e = EIO_NONE + 1; e < EIO_EVENTS; e++)
		if (processes_set_user_name(&s->processes, process, e, eio_event_name(e)))
			abort();
}

static inline void eio_begin(struct eio_feed *f)
{
	memset(f, 0, sizeof(*f));
	if (session_new(&f->session) || processes_of(&f->session->processes, 10, &f->process))
		abort();
	processes_announce(&f->session->processes, f->process);
	processes_ref(&f->session->processes, f->process);
	eio_register(f->session, f->process);
	f->ts = 1000;
}

static inline void eio_event(struct eio_feed *f, struct ebt_event ev, const void *data,
			     size_t bytes)
{
	ev.ts = f->ts++;
	ev.process = f->process;
	ev.domain = f->domain;
	ev.cpu = EBT_NO_CPU;
	ev.flags |= EBT_F_RING;
	if (ev.kind != EBT_LOST)
		ev.pos = ev.ts;
	if (data && session_put_blob(f->session, &ev, data, bytes))
		abort();
	int err = f->push(f->ctx, &ev);
	f->err = f->err ? f->err : err;
	session_drop_event(f->session, &ev);
}

static inline void eio_int(struct eio_feed *f, enum eio_event e, int64_t id)
{
	eio_event(f, (struct ebt_event){.kind = EBT_INT, .id = e, .sarg = {id}}, NULL, 0);
}

static inline void eio_unit(struct eio_feed *f, enum eio_event e)
{
	eio_event(f, (struct ebt_event){.kind = EBT_UNIT, .id = e}, NULL, 0);
}

/* A payload of up to two ids, a type and a text, in this order. */
static inline void eio_custom(struct eio_feed *f, enum eio_event e, unsigned ids, int64_t id,
			      int64_t context, int type, const char *text)
{
	char data[2048], *p = data;
	memcpy(p, &id, 8);
	memcpy(p + 8, &context, 8);
	p += 8 * ids;
	if (type >= 0)
		*p++ = (char)type;
	size_t len = text ? strlen(text) : 0;
	memcpy(p, text ? text : "", len);
	eio_event(f, (struct ebt_event){.kind = EBT_CUSTOM, .id = e}, data,
		  (size_t)(p - data) + len);
}

static inline void eio_create(struct eio_feed *f, int64_t fiber, int64_t context)
{
	eio_custom(f, EIO_CREATE_FIBER, 2, fiber, context, -1, NULL);
}
static inline void eio_run(struct eio_feed *f, int64_t fiber)
{
	eio_int(f, EIO_FIBER, fiber);
}
static inline void eio_suspend(struct eio_feed *f, const char *operation)
{
	eio_custom(f, EIO_SUSPEND_FIBER, 0, 0, 0, -1, operation);
}
static inline void eio_context(struct eio_feed *f, int64_t id, int type)
{
	eio_custom(f, EIO_CREATE_CC, 1, id, 0, type, NULL);
}
static inline void eio_object(struct eio_feed *f, int64_t id, int type)
{
	eio_custom(f, EIO_CREATE_OBJ, 1, id, 0, type, NULL);
}
static inline void eio_name(struct eio_feed *f, int64_t id, const char *name)
{
	eio_custom(f, EIO_NAME, 1, id, 0, -1, name);
}
static inline void eio_span(struct eio_feed *f, const char *name)
{
	eio_custom(f, EIO_ENTER_SPAN, 0, 0, 0, -1, name);
}
/* The event loop waits for `ns`. */
static inline void eio_sleep(struct eio_feed *f, uint64_t ns)
{
	eio_event(f, (struct ebt_event){.kind = EBT_SPAN_BEGIN, .id = EIO_SUSPEND_DOMAIN}, NULL, 0);
	f->ts += ns;
	eio_event(f, (struct ebt_event){.kind = EBT_SPAN_END, .id = EIO_SUSPEND_DOMAIN}, NULL, 0);
}
static inline void eio_lose(struct eio_feed *f, uint64_t since)
{
	eio_event(f, (struct ebt_event){.kind = EBT_LOST, .pos = since, .arg = {1, 2}}, NULL, 0);
}

#endif
