/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tables of interned things share: entries of one size under dense ids from 1 on, and an index
 * from a hash to ids. The ids of removed entries are used again. Memory follows the largest number
 * of entries that lived at one time.
 *
 * The owner compares and hashes its entries itself; the index only brings the ids of one hash. An
 * entry moves when others are added, so pointers to one are valid until the next intern_add().
 * Entry 0 is no entry of the owner's; it is all zeroes. Not thread-safe.
 */
#ifndef CORE_INTERN_H
#define CORE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern_slot {
	uint32_t hash, id; /* id 0: free */
};

/* Fields are private but for the inline functions below, and `used`. */
struct intern {
	void *entries;
	size_t entry_bytes;
	uint32_t used, cap;  /* of entries: 0..used - 1 are or were in use */
	uint32_t live;	     /* entries that are */
	uint32_t first_free; /* the first word of a removed entry is the next one's id */
	struct intern_slot *slots;
	uint32_t mask; /* of the slots, whose number is a power of two */
};

/* entry_bytes: at least 4. 0 or -ENOMEM. */
int intern_init(struct intern *t, size_t entry_bytes);
void intern_done(struct intern *t);
/* Adds a copy of *entry, which is in the table not yet. Returns its id; 0: no memory. */
uint32_t intern_add(struct intern *t, uint32_t hash, const void *entry);
/* The hash is that with which the entry was added. The entry is zeroed but for its first 4 bytes. */
void intern_remove(struct intern *t, uint32_t hash, uint32_t id);

/*
 * Ids of a hash: at = intern_first(t, hash); while ((id = intern_next(t, hash, &at))) …
 */
static inline uint32_t intern_first(const struct intern *t, uint32_t hash)
{
	return hash & t->mask;
}
static inline uint32_t intern_next(const struct intern *t, uint32_t hash, uint32_t *at)
{
	for (;;) {
		const struct intern_slot *s = &t->slots[*at];
		*at = (*at + 1) & t->mask;
		if (!s->id || s->hash == hash)
			return s->id;
	}
}

#endif
