/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares an address space with the kernel's page tables. Used by spaces.c alone. */
#ifndef SOURCE_PAGES_CHECK_H
#define SOURCE_PAGES_CHECK_H

#include "source/pages/space.h"

/* The space is held; u is one of its users, and may not be any more afterwards. *ret_cpu_ns: the
 * CPU time that a worker took for it. 0, -EAGAIN: not all records could be received, or too many;
 * or an error of memory_reader_pages() or emit(). */
int page_check(struct page_output *out, struct page_space *s, const struct page_user *u,
	       uint64_t *ret_cpu_ns);

#endif
