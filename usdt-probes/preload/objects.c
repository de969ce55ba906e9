/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "../shared/pages.h"

#define FIRST_SLOTS 512u /* a power of two */
#define EMPTY	    ((uintptr_t)0)
#define REMOVED	    ((uintptr_t)1) /* keeps the way to those behind it */

struct slot {
	_Atomic uintptr_t address;
	uint64_t obj;
};

struct table {
	uint64_t slots; /* a power of two */
	uint64_t used;	/* slots that are not EMPTY */
	uint64_t alive;
	struct slot slot[];
};

uint64_t ebt_filter[EBT_FILTER_BITS / 64];
#define BLOCK  4096u /* counters */
#define BLOCKS (EBT_FILTER_BITS / BLOCK)

/* Objects that share a bit; one that counted to its limit stays, and its bit with it. In blocks,
 * which are taken when they are needed; where there is no memory the bits stay. */
static uint16_t *sharers[BLOCKS];
static struct table *table;

static size_t bytes_of(uint64_t slots)
{
	return sizeof(struct table) + slots * sizeof(struct slot);
}

static struct table *table_new(uint64_t slots)
{
	struct table *t = ebt_pages_get(bytes_of(slots));
	if (t)
		t->slots = slots;
	return t;
}

static uint64_t first_slot(const struct table *t, uintptr_t address)
{
	return ((uint64_t)address >> 4) * 0x9e3779b97f4a7c15ull >> 20 & (t->slots - 1);
}

static struct slot *find(struct table *t, uintptr_t address)
{
	if (address <= REMOVED)
		return NULL; /* free(NULL): no slot is that object's */
	for (uint64_t i = first_slot(t, address);; i = (i + 1) & (t->slots - 1)) {
		/* The address itself was stored by this thread, or handed to it by one that did. */
		uintptr_t a = __atomic_load_n(&t->slot[i].address, __ATOMIC_RELAXED);
		if (a == address)
			return &t->slot[i];
		if (a == EMPTY)
			return NULL;
	}
}

bool ebt_objects_has(const void *address)
{
	/* Pairs with the release in grow(): the slots of a new table are visible. */
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	return t && find(t, (uintptr_t)address);
}

bool ebt_objects_get(const void *address, uint64_t *ret)
{
	struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	const struct slot *s = t ? find(t, (uintptr_t)address) : NULL;
	if (s)
		*ret = s->obj;
	return s;
}

int ebt_objects_init(void)
{
	struct table *t = table_new(FIRST_SLOTS);
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	return t ? 0 : -ENOMEM;
}

void ebt_objects_done(void)
{
	struct table *t = table;
	table = NULL;
	if (t)
		ebt_pages_put(t, bytes_of(t->slots));
	for (unsigned i = 0; i < BLOCKS; i++) {
		ebt_pages_put(sharers[i], BLOCK * sizeof(*sharers[i]));
		sharers[i] = NULL;
	}
	memset(ebt_filter, 0, sizeof(ebt_filter));
}

static void put(struct table *t, uintptr_t address, uint64_t obj)
{
	uint64_t i = first_slot(t, address);
	while (t->slot[i].address > REMOVED)
		i = (i + 1) & (t->slots - 1);
	t->used += t->slot[i].address == EMPTY;
	t->alive++;
	t->slot[i].obj = obj;
	__atomic_store_n(&t->slot[i].address, address, __ATOMIC_RELAXED);
}

/* A table with room, without the removed slots. The old one stays: somebody may look into it. */
static bool grow(void)
{
	struct table *old = table;
	struct table *t = table_new(old->alive * 4 > old->slots ? old->slots * 2 : old->slots);
	if (!t)
		return false;
	for (uint64_t i = 0; i < old->slots; i++)
		if (old->slot[i].address > REMOVED)
			put(t, old->slot[i].address, old->slot[i].obj);
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	return true;
}

static bool is_set(uint32_t bit)
{
	return ebt_filter[bit / 64] >> bit % 64 & 1;
}

static void set_bit(uintptr_t address)
{
	uint32_t bit = ebt_filter_bit(address);
	uint64_t *word = &ebt_filter[bit / 64];
	uint16_t **block = &sharers[bit / BLOCK];
	/* A bit that was set without a counter has more sharers than it counts. */
	if (!*block && (*block = ebt_pages_get(BLOCK * sizeof(**block))))
		for (unsigned i = 0; i < BLOCK; i++)
			(*block)[i] = is_set(bit / BLOCK * BLOCK + i) ? UINT16_MAX : 0;
	if (*block && (*block)[bit % BLOCK] < UINT16_MAX)
		(*block)[bit % BLOCK]++;
	__atomic_store_n(word, *word | 1ull << bit % 64, __ATOMIC_RELAXED);
}

static void clear_bit(uintptr_t address)
{
	uint32_t bit = ebt_filter_bit(address);
	uint64_t *word = &ebt_filter[bit / 64];
	uint16_t *block = sharers[bit / BLOCK];
	if (!block || block[bit % BLOCK] == UINT16_MAX || --block[bit % BLOCK])
		return;
	__atomic_store_n(word, *word & ~(1ull << bit % 64), __ATOMIC_RELAXED);
}

bool ebt_objects_add(const void *address, uint64_t obj)
{
	struct slot *s = find(table, (uintptr_t)address);
	if (s) {
		s->obj = obj;
		return true;
	}
	if (table->used * 2 >= table->slots && !grow())
		return false;
	put(table, (uintptr_t)address, obj);
	set_bit((uintptr_t)address);
	return true;
}

/* Empties the removed slots up to `i` if none follows: no search has to go past them. */
static void trim(struct table *t, uint64_t i)
{
	uint64_t last = t->slots - 1;
	if (t->slot[(i + 1) & last].address != EMPTY)
		return;
	for (; t->slot[i].address == REMOVED; i = (i - 1) & last) {
		__atomic_store_n(&t->slot[i].address, EMPTY, __ATOMIC_RELAXED);
		t->used--;
	}
}

bool ebt_objects_remove(const void *address, uint64_t *ret)
{
	struct slot *s = find(table, (uintptr_t)address);
	if (!s)
		return false;
	*ret = s->obj;
	__atomic_store_n(&s->address, REMOVED, __ATOMIC_RELAXED);
	table->alive--;
	trim(table, (uint64_t)(s - table->slot));
	clear_bit((uintptr_t)address);
	return true;
}
