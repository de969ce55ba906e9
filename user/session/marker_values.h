/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arguments of a marker as the payload of its event, and the ids of such events. A payload is
 * one value behind the other: a byte with its type, then of a number 8 bytes, of a text 2 bytes
 * with its length and its bytes, all little-endian; of what could not be read nothing. It may come
 * from a capture: what is behind a value that is not whole is absent.
 *
 * The id of an event is MARKER_ID | the number of the request that it comes from (-U, in the order
 * of the command line; behind these what patterns have matched, in the order in which it was
 * found), and of a span by an argument a slot besides: those that are open at a time
 * in a process have different slots. A span that may begin in one thread and end in another is one
 * of its process (stream/tracks.h).
 *
 * The id of a begin or end of a span has its level, too: how many spans of that request are open
 * in its thread, or of its slot, this one included; at most MARKER_LEVELS. 0: it is not known. A
 * begin of a level shows that spans of this and higher levels will not end any more, as an error
 * has left their functions.
 */
#ifndef SESSION_MARKER_VALUES_H
#define SESSION_MARKER_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MARKER_VALUES_MAX   12
#define MARKER_TEXT_MAX	    1023
#define MARKER_VALUES_BYTES (MARKER_VALUES_MAX * (3 + MARKER_TEXT_MAX))

enum marker_value_type {
	MARKER_UNSIGNED = 1,
	MARKER_SIGNED = 2,
	MARKER_TEXT = 3,
	MARKER_UNREADABLE = 4,
};

struct marker_value {
	enum marker_value_type type;
	uint64_t number;  /* of a signed one its two's complement */
	const char *text; /* without a NUL; it may hold any byte but that */
	size_t bytes;	  /* at most MARKER_TEXT_MAX */
};

/* Appends a value at `at`, where there is room for it; returns the byte behind it. */
void *marker_values_put(void *at, const struct marker_value *v);
/* Reads the value with this number, the first is 0. False: the payload has none of it. */
bool marker_values_get(const void *data, size_t bytes, unsigned number, struct marker_value *ret);

#define MARKER_ID	   0x80000000u
#define MARKER_REQUESTS	   256
#define MARKER_SLOT_SHIFT  17 /* above EBT_UNKNOWN_ID */
#define MARKER_SLOTS	   (1u << 14)
#define MARKER_LEVEL_SHIFT 8
#define MARKER_LEVELS	   255u

/* slot: 0: the event is of its thread. */
static inline uint32_t marker_id(uint32_t request, uint32_t slot)
{
	return MARKER_ID | slot << MARKER_SLOT_SHIFT | request;
}

/* Of an id without a level. */
static inline uint32_t marker_id_at(uint32_t id, uint32_t level)
{
	return id | level << MARKER_LEVEL_SHIFT;
}

static inline bool marker_id_is(uint32_t id)
{
	return id & MARKER_ID;
}

static inline uint32_t marker_id_slot(uint32_t id)
{
	return id & MARKER_ID ? id >> MARKER_SLOT_SHIFT & (MARKER_SLOTS - 1) : 0;
}

/* How many spans are open, this one included; 0: not known. */
static inline uint32_t marker_id_level(uint32_t id)
{
	return id & MARKER_ID ? id >> MARKER_LEVEL_SHIFT & MARKER_LEVELS : 0;
}

/* The id without its level: the same of all spans that nest. */
static inline uint32_t marker_id_base(uint32_t id)
{
	return id & MARKER_ID ? id & ~(MARKER_LEVELS << MARKER_LEVEL_SHIFT) : id;
}

#endif
