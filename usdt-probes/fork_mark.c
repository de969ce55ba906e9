/* SPDX-License-Identifier: BSD-2-Clause */
#include "fork_mark.h"

#include <sys/mman.h>

static const uint32_t no_mark = 1;
const uint32_t *ebt_fork_mark = &no_mark;
/* A page of its own, which goes with the library and need not be unmapped. */
#define PAGE_BYTES 4096
static uint32_t page[PAGE_BYTES / sizeof(uint32_t)] __attribute__((aligned(PAGE_BYTES)));

void ebt_fork_mark_init(void)
{
	if (madvise(page, sizeof(page), MADV_WIPEONFORK))
		return;
	*page = 1;
	ebt_fork_mark = page;
}

void ebt_fork_mark_renew(void)
{
	*page = 1;
}
