/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registry of user events: names and types by id. It only grows, so probes read it without a
 * lock: an event's type is published last, after its name is here and in the ring file.
 */
#ifndef EBT_NAMES_H
#define EBT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ebtrace/probes.h>
#include <ebtrace/ring.h>

#include "ring_file.h"

extern uint8_t ebt_user_types[EBT_RING_NAMES]; /* 0: not registered; else 1 + enum ebt_user_type */
extern char ebt_user_names[EBT_RING_NAMES][EBT_RING_NAME_BYTES];

static inline bool ebt_user_event_is(int event, enum ebt_user_type type)
{
	/* acquire: the name that goes with the type */
	return (unsigned int)event < EBT_RING_NAMES &&
	       __atomic_load_n(&ebt_user_types[event], __ATOMIC_ACQUIRE) == (uint8_t)(type + 1);
}

/*
 * Registers a name of `len` bytes, 1 to EBT_RING_NAME_BYTES - 1, also in `file` unless it is NULL.
 * Returns the id, -EEXIST (the name has another type) or -ENOSPC. The caller holds the lock.
 */
int ebt_names_register(const struct ebt_file *file, const char *name, size_t len,
		       enum ebt_user_type type);
/* Size in bytes and contents of the name table of a new ring file. The caller holds the lock. */
uint64_t ebt_names_bytes(void);
void ebt_names_copy(char *to);

#endif
