/* SPDX-License-Identifier: BSD-2-Clause */
/* The domains that have packets in the file of a memtrace trace, by the heads of the packets
 * alone. */
#ifndef SOURCE_FILE_MEMTRACE_DOMAINS_H
#define SOURCE_FILE_MEMTRACE_DOMAINS_H

#include "codec/memtrace/head.h"
#include <stdint.h>

struct memtrace_domains {
	uint16_t *domain; /* in the order of their first packets; the caller frees it */
	uint32_t count;
};

/* Calls fn for each packet, and with h NULL for each offset where a packet should begin and does
 * not: the search for the next one starts there. Stops if fn returns non-zero. Returns that, 0 or
 * -errno. */
int memtrace_packets_each(int fd,
			  int (*fn)(void *ctx, uint64_t offset, const struct memtrace_head *h),
			  void *ctx);
/* At least one domain, 0, where no packet is found. Sets *ret also on failure. 0;
 * -E2BIG: more than MEMTRACE_DOMAINS_MAX; -errno. */
int memtrace_domains_read(int fd, struct memtrace_domains *ret);

#endif
