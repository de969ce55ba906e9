/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table under strings, frames and stacks: entries of one size under dense ids from 1 on, an
 * index from a hash to ids, and optional reference counts. Ids of removed entries are reused.
 * Memory is proportional to the largest number of entries that existed at one time.
 *
 * The owner compares and hashes its entries; the index returns the ids of one hash. Adding an entry
 * may move all of them, so a pointer to one is valid until the next intern_add(). Entry 0 is all
 * zeroes and never the owner's. Not thread-safe.
 */
#ifndef SESSION_INTERN_H
#define SESSION_INTERN_H

#include <stdbool.h>
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
	uint32_t live;	     /* entries in use */
	uint32_t first_free; /* the first word of a removed entry is the next one's id */
	struct intern_slot *slots;
	uint32_t mask; /* the number of slots, a power of two, minus 1 */
};

/* entry_bytes: at least 4. 0 or -ENOMEM. */
int intern_init(struct intern *t, size_t entry_bytes);
void intern_done(struct intern *t);
/* Adds a copy of *entry, which must not be in the table. Returns its id; 0: no memory. */
uint32_t intern_add(struct intern *t, uint32_t hash, const void *entry);
/* hash: the one with which the entry was added. Zeroes the entry but for its first 4 bytes. */
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

/*
 * Counted entries begin with this. The caller that adds an entry sets refs to 1. Code that keeps
 * the id of an entry holds a reference, and drops it later.
 */
struct intern_counted {
	uint32_t hash, refs; /* the hash with which it was added; refs 0: a removed entry */
};

static inline struct intern_counted *intern_counted_at(const struct intern *t, uint32_t id)
{
	return (struct intern_counted *)((char *)t->entries + id * t->entry_bytes);
}
/* Adds a reference to an entry; nothing with id 0. */
static inline void intern_hold(const struct intern *t, uint32_t id)
{
	if (id)
		intern_counted_at(t, id)->refs++;
}
/* Removes a reference; false with id 0. True: it was the last one, and the caller releases what the
 * entry owns, then calls intern_remove_counted(). */
static inline bool intern_drop(const struct intern *t, uint32_t id)
{
	return id && !--intern_counted_at(t, id)->refs;
}
static inline void intern_remove_counted(struct intern *t, uint32_t id)
{
	intern_remove(t, intern_counted_at(t, id)->hash, id);
}

#endif
