/* SPDX-License-Identifier: BSD-2-Clause */
#include "mappings.h"

#include "../pages.h"

static struct mapping {
	uintptr_t address;
	uint64_t obj;
} * mappings;
static uint32_t count;

bool ebt_mappings_any(void)
{
	return __atomic_load_n(&count, __ATOMIC_RELAXED) > 0;
}

void ebt_mappings_add(uintptr_t address, uint64_t obj)
{
	if (!mappings)
		mappings = ebt_pages_get(EBT_MAPPINGS_MAX * sizeof(*mappings));
	if (!mappings || count == EBT_MAPPINGS_MAX)
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
