/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampled objects that are alive: address -> number. Whether an address is a sampled object's
 * is decided in two steps, both without a lock: a bit that all addresses of one hash share, which
 * costs free() one load, then an exact look into the table.
 *
 * Only the holder of the recorder's lock adds and removes. An object is added before its address is
 * returned to the program, and removed before it is freed, so whoever frees an address finds it:
 * its slot does not move, and a table that was replaced by a larger one stays mapped and keeps it.
 */
#ifndef EBT_OBJECTS_H
#define EBT_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#define EBT_FILTER_BITS (1u << 18) /* 32 KiB: it stays in the cache */

extern uint64_t ebt_filter[EBT_FILTER_BITS / 64] __attribute__((visibility("hidden")));

/* Objects that are neighbours share a word; addresses that differ in high bits only do not
 * collide. */
static inline uint32_t ebt_filter_bit(uintptr_t address)
{
	return (uint32_t)(address >> 4 ^ address >> 22) & (EBT_FILTER_BITS - 1);
}

/* False: no sampled object has the address. */
static inline bool ebt_filter_hit(const void *address)
{
	uint32_t bit = ebt_filter_bit((uintptr_t)address);
	return __atomic_load_n(&ebt_filter[bit / 64], __ATOMIC_RELAXED) >> bit % 64 & 1;
}

/* Exact, without a lock, for an address that nobody else frees at the same time. */
bool ebt_objects_has(const void *address);

/* The same, with its number. */
bool ebt_objects_get(const void *address, uint64_t *ret);

/* 0 or -ENOMEM. Once, before the others. */
int ebt_objects_init(void);
/* In a child that was forked, with one thread: all is forgotten; ebt_objects_init() may follow. */
void ebt_objects_done(void);
/* With the lock. An object that has the address already is replaced. False: no memory. */
bool ebt_objects_add(const void *address, uint64_t obj);
/* With the lock. False: it is not there; else *ret is its number. */
bool ebt_objects_remove(const void *address, uint64_t *ret);

#endif
