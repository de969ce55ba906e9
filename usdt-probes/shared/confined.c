// SPDX-License-Identifier: BSD-2-Clause
#include "confined.h"

#define ALIGN_BYTES ((size_t)64)

bool ebt_confined_flag;

/* Memory, and what of it was taken. */
static char *reserve;
static size_t reserve_bytes, reserve_used;

void ebt_confine(void *memory, size_t bytes)
{
	if (ebt_confined())
		return;
	if (memory) {
		reserve = memory;
		reserve_bytes = bytes;
	}
	/* Publishes the memory; pairs with the acquire in ebt_confined(). */
	__atomic_store_n(&ebt_confined_flag, true, __ATOMIC_RELEASE);
}

void ebt_confine_cancel(void)
{
	__atomic_store_n(&ebt_confined_flag, false, __ATOMIC_RELAXED);
}

void *ebt_confined_take(size_t bytes)
{
	size_t size = (bytes + ALIGN_BYTES - 1) & ~(ALIGN_BYTES - 1);
	size_t at = __atomic_load_n(&reserve_used, __ATOMIC_RELAXED);
	do {
		if (size < bytes || size > reserve_bytes - at)
			return NULL;
	} while (!__atomic_compare_exchange_n(&reserve_used, &at, at + size, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return reserve + at;
}
