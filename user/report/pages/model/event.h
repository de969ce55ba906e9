/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An event of a pipeline as the model of pages takes it. Of a runtime's heap its P is the domain;
 * of an address space it is the thread, 0: the kernel, by itself or at the end of the process.
 */
#ifndef REPORT_PAGES_MODEL_EVENT_H
#define REPORT_PAGES_MODEL_EVENT_H

#include <ebtrace/event.h>
#include <ebtrace/pagetrace.h>
#include <stdbool.h>

/* True: the event is of an address space that is watched through the kernel. False: it is of a
 * runtime's heap; BPF reads the markers of heaps, too, but these have pages of 8 KiB, which no
 * kernel has. page_bytes: of the process. */
static inline bool pages_event_of_space(const struct ebt_event *ev, uint32_t page_bytes)
{
	return ev->domain == EBT_NO_DOMAIN && ev->flags & EBT_F_BPF && page_bytes &&
	       page_bytes != EBT_PAGETRACE_PAGE_BYTES;
}

/* False: it is not of the family pages. A late event has its own time. */
static inline bool pages_event_of(const struct ebt_event *ev, bool is_space,
				  struct ebt_pagetrace_event *ret)
{
	uint32_t what = ev->kind == EBT_PAGE_ALLOC	? EBT_PAGETRACE_ALLOC
			: ev->kind == EBT_PAGE_FREE	? EBT_PAGETRACE_FREE
			: ev->kind == EBT_PAGE_SCAVENGE ? EBT_PAGETRACE_SCAVENGE
							: 0;
	if (!what)
		return false;
	*ret = (struct ebt_pagetrace_event){
		.time_ns = EBT_OWN_TS(ev),
		.addr = ev->arg[0],
		.pages = ev->arg[1],
		.p = is_space			   ? (int32_t)(ev->tid & INT32_MAX)
		     : ev->domain == EBT_NO_DOMAIN ? EBT_PAGETRACE_NO_P
						   : ev->domain,
		.what = what,
	};
	return true;
}

#endif
