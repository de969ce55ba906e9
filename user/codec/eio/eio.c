/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/eio/eio.h"

#include <endian.h>
#include <string.h>

/* What a payload consists of, in this order. */
enum shape {
	SHAPE_UNIT,    /* no payload */
	SHAPE_SPAN,    /* a begin or an end */
	SHAPE_INT,     /* an id, as the value */
	SHAPE_TEXT,    /* a text */
	SHAPE_ID_TEXT, /* an id, a text */
	SHAPE_ID_TYPE, /* an id, a type */
	SHAPE_IDS,     /* two ids */
};

static const struct {
	const char *name;
	enum shape shape;
} events[EIO_EVENTS] = {
	[EIO_CREATE_FIBER] = {"eio.create_fiber", SHAPE_IDS},
	[EIO_FIBER] = {"eio.fiber", SHAPE_INT},
	[EIO_EXIT_FIBER] = {"eio.exit_fiber", SHAPE_INT},
	[EIO_SUSPEND_FIBER] = {"eio.suspend_fiber", SHAPE_TEXT},
	[EIO_SUSPEND_DOMAIN] = {"eio.suspend_domain", SHAPE_SPAN},
	[EIO_CREATE_CC] = {"eio.create_cc", SHAPE_ID_TYPE},
	[EIO_EXIT_CC] = {"eio.exit_cc", SHAPE_UNIT},
	[EIO_CREATE_OBJ] = {"eio.create_obj", SHAPE_ID_TYPE},
	[EIO_NAME] = {"eio.name", SHAPE_ID_TEXT},
	[EIO_GET] = {"eio.get", SHAPE_INT},
	[EIO_TRY_GET] = {"eio.try_get", SHAPE_INT},
	[EIO_PUT] = {"eio.put", SHAPE_INT},
	[EIO_ENTER_SPAN] = {"eio.enter_span", SHAPE_TEXT},
	[EIO_EXIT_SPAN] = {"eio.exit_span", SHAPE_UNIT},
	[EIO_LOG] = {"eio.log", SHAPE_TEXT},
	[EIO_ERROR] = {"eio.error", SHAPE_ID_TEXT},
	[EIO_DOMAIN_SPAWN] = {"eio.domain_spawn", SHAPE_INT},
};

enum eio_event eio_event_named(const char *name)
{
	if (strncmp(name, EIO_PREFIX, sizeof(EIO_PREFIX) - 1) != 0)
		return EIO_NONE;
	for (unsigned e = EIO_NONE + 1; e < EIO_EVENTS; e++)
		if (!strcmp(events[e].name, name))
			return (enum eio_event)e;
	return EIO_NONE;
}

const char *eio_event_name(enum eio_event e)
{
	return e < EIO_EVENTS ? events[e].name : NULL;
}

const char *eio_type_name(uint8_t type)
{
	static const char *const names[] = {
		[EIO_SWITCH] = "switch", [EIO_PROTECT] = "protect",
		[EIO_SUB] = "sub",	 [EIO_ROOT] = "root",
		[EIO_ANY] = "any",	 [EIO_PROMISE] = "promise",
		[EIO_STREAM] = "stream", [EIO_SEMAPHORE] = "semaphore",
		[EIO_MUTEX] = "mutex",
	};
	return type < sizeof(names) / sizeof(*names) ? names[type] : NULL;
}

static int64_t get_i64(const unsigned char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return (int64_t)le64toh(v);
}

/* Of an EBT_CUSTOM. */
static bool decode_bytes(enum shape shape, const unsigned char *p, size_t bytes,
			 struct eio_record *r)
{
	size_t ids = shape == SHAPE_IDS ? 2 : shape != SHAPE_TEXT;
	if (bytes < 8 * ids + (shape == SHAPE_ID_TYPE) || (bytes && !p))
		return false;
	if (ids)
		r->id = get_i64(p);
	if (shape == SHAPE_IDS)
		r->context = get_i64(p + 8);
	if (shape == SHAPE_ID_TYPE)
		r->type = p[8];
	if (shape == SHAPE_TEXT || shape == SHAPE_ID_TEXT) {
		r->text = bytes ? (const char *)p + 8 * ids : "";
		r->text_bytes = bytes - 8 * ids;
	}
	return true;
}

/* Field by field: a record that is copied as a whole right after its small fields were written
 * waits for these stores. */
static void clear(struct eio_record *r, enum eio_event e)
{
	r->event = e;
	r->begins = false;
	r->type = 0;
	r->id = r->context = 0;
	r->text = NULL;
	r->text_bytes = 0;
}

bool eio_decode(enum eio_event e, const struct ebt_event *ev, const void *payload, size_t bytes,
		struct eio_record *ret)
{
	if (e <= EIO_NONE || e >= EIO_EVENTS)
		return false;
	enum shape shape = events[e].shape;
	clear(ret, e);
	switch (ev->kind) {
	case EBT_UNIT:
		return shape == SHAPE_UNIT;
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
		ret->begins = ev->kind == EBT_SPAN_BEGIN;
		return shape == SHAPE_SPAN;
	case EBT_INT:
		ret->id = ev->sarg[0];
		return shape == SHAPE_INT;
	case EBT_CUSTOM:
		return shape >= SHAPE_TEXT && decode_bytes(shape, payload, bytes, ret);
	default:
		return false;
	}
}
