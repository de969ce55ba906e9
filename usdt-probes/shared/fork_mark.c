/* SPDX-License-Identifier: BSD-2-Clause */
#include "fork_mark.h"

#include <sys/mman.h>

/* A page of its own, unmapped together with the library. */
uint32_t ebt_fork_page[EBT_FORK_PAGE_BYTES / sizeof(uint32_t)]
	__attribute__((aligned(EBT_FORK_PAGE_BYTES)));

void ebt_fork_mark_init(void)
{
	madvise(ebt_fork_page, EBT_FORK_PAGE_BYTES, MADV_WIPEONFORK);
	ebt_fork_mark_renew();
}

void ebt_fork_mark_renew(void)
{
	ebt_fork_page[EBT_FORK_MARK] = 1;
}
