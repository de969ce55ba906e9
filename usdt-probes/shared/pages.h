/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of the library's own, from the kernel: no function that a program or a recorder
 * interposes is called, and errno does not change. In a process that is confined (confined.h) it
 * comes from what was reserved, and is never returned.
 */
#ifndef EBT_PAGES_H
#define EBT_PAGES_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory; NULL: none. */
void *ebt_pages_get(size_t bytes);
void ebt_pages_put(void *pages, size_t bytes);
/* Maps a part of a file for reading and writing. NULL: impossible. */
void *ebt_pages_map(int fd, uint64_t offset, size_t bytes);

#endif
