/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampled mappings that are alive, by their first address. A mapping lives until the page at
 * that address is unmapped. Used by the holder of the recorder's lock, but for
 * ebt_mappings_any().
 */
#ifndef EBT_MAPPINGS_H
#define EBT_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than there can be (vm.max_map_count) are not kept. */
#define EBT_MAPPINGS_MAX 65536

bool ebt_mappings_any(void);
void ebt_mappings_add(uintptr_t address, uint64_t obj);
/* All are forgotten. */
void ebt_mappings_done(void);
/* Removes one whose address is in a range. False: there is none; else *ret is its number. */
bool ebt_mappings_take(uintptr_t start, size_t bytes, uint64_t *ret);

#endif
