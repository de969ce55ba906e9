/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events of Eio, a library of fibers: from a user event of a ring, known by its registered
 * name, to what it means. Names and payloads are those that Eio 0.14 to 1.6 register and write:
 * integers of a payload are 64-bit little-endian, texts have no terminator and end with the
 * payload. Ids number fibers, cancellation contexts and objects of a process together; times are
 * those of the events, ns.
 *
 * Pure: no memory, no state, no I/O. A record points into the payload that it was decoded from.
 * What does not have the shape of its meaning (another type, too few bytes) is not decoded, so the
 * caller shows it as any other user event. What follows from a sequence of these events is
 * stream/fibers.
 */
#ifndef CODEC_EIO_EIO_H
#define CODEC_EIO_EIO_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All names begin with this. */
#define EIO_PREFIX "eio."

enum eio_event {
	EIO_NONE, /* no event of Eio */
	EIO_CREATE_FIBER,
	EIO_FIBER,	    /* the fiber that its domain runs from now on */
	EIO_EXIT_FIBER,	    /* it has ended */
	EIO_SUSPEND_FIBER,  /* the running fiber is about to wait */
	EIO_SUSPEND_DOMAIN, /* begin and end: the event loop waits for the operating system */
	EIO_CREATE_CC,	    /* a cancellation context begins, within the running fiber */
	EIO_EXIT_CC,	    /* the innermost context of the running fiber ends */
	EIO_CREATE_OBJ,
	EIO_NAME,    /* of a fiber, context or object */
	EIO_GET,     /* the running fiber took something from an object */
	EIO_TRY_GET, /* it wants to, and will wait */
	EIO_PUT,     /* an object was resolved, added to or released */
	EIO_ENTER_SPAN,
	EIO_EXIT_SPAN,
	EIO_LOG,	  /* a message of the running fiber */
	EIO_ERROR,	  /* a context or fiber fails */
	EIO_DOMAIN_SPAWN, /* the domain was started by that fiber */
	EIO_EVENTS,
};

/* The types of contexts and objects, as Eio numbers them. */
enum eio_type {
	EIO_SWITCH = 3,
	EIO_PROTECT = 4,
	EIO_SUB = 5,
	EIO_ROOT = 6,
	EIO_ANY = 7,
	EIO_PROMISE = 15,
	EIO_SEMAPHORE = 16,
	EIO_STREAM = 18,
	EIO_MUTEX = 19,
};

struct eio_record {
	enum eio_event event;
	bool begins;	  /* EIO_SUSPEND_DOMAIN: its begin */
	uint8_t type;	  /* EIO_CREATE_CC, EIO_CREATE_OBJ: enum eio_type, or any other number */
	int64_t id;	  /* the fiber, context or object that it is about; else 0 */
	int64_t context;  /* EIO_CREATE_FIBER: in which the fiber is made */
	const char *text; /* an operation, a name, a span, a message, an exception; may be empty;
			     not terminated. NULL: the event has none */
	size_t text_bytes;
};

/* Which event has this name; EIO_NONE: none of Eio's. */
enum eio_event eio_event_named(const char *name);
/* The name with the prefix; NULL for EIO_NONE. */
const char *eio_event_name(enum eio_event e);
/* "switch", "promise" …; NULL for a number that is no type. */
const char *eio_type_name(uint8_t type);

/* Decodes a user event: its kind, the argument of an EBT_INT, the payload of an EBT_CUSTOM (NULL
 * where it is missing). False: it does not have the shape of this event, and *ret is no record. */
bool eio_decode(enum eio_event e, const struct ebt_event *ev, const void *payload, size_t bytes,
		struct eio_record *ret);

#endif
