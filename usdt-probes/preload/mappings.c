/* SPDX-License-Identifier: BSD-2-Clause */
#include "mappings.h"

#include <string.h>

#include "../shared/pages.h"

static struct mapping {
	uintptr_t address;
	uint64_t obj;
} * mappings;
static uint32_t count, room;

#define FIRST_ROOM 256u /* doubles */

static bool make_room(void)
{
	if (count < room)
		return true;
	uint32_t more = room ? room * 2 : FIRST_ROOM;
	struct mapping *grown =
		more <= EBT_MAPPINGS_MAX ? ebt_pages_get(more * sizeof(*grown)) : NULL;
	if (!grown)
		return false;
	if (mappings) {
		memcpy(grown, mappings, count * sizeof(*grown));
		ebt_pages_put(mappings, room * sizeof(*mappings));
	}
	mappings = grown;
	room = more;
	return true;
}

bool ebt_mappings_any(void)
{
	return __atomic_load_n(&count, __ATOMIC_RELAXED) > 0;
}

void ebt_mappings_add(uintptr_t address, uint64_t obj)
{
	if (!make_room())
		return;
	mappings[count] = (struct mapping){address, obj};
	__atomic_store_n(&count, count + 1, __ATOMIC_RELAXED);
}

void ebt_mappings_done(void)
{
	__atomic_store_n(&count, 0, __ATOMIC_RELAXED);
}

bool ebt_mappings_take(uintptr_t start, size_t bytes, uint64_t *ret)
{
	for (uint32_t i = 0; i < count; i++) {
		if (mappings[i].address - start >= bytes)
			continue;
		*ret = mappings[i].obj;
		mappings[i] = mappings[count - 1];
		__atomic_store_n(&count, count - 1, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}
