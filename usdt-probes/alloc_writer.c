/* SPDX-License-Identifier: BSD-2-Clause */
#include "alloc_writer.h"

#include <string.h>

#include "shared/pages.h"

struct ebt_alloc_writer ebt_alloc_writers[EBT_ALLOC_DOMAINS];

bool ebt_alloc_writer_clear(struct ebt_alloc_writer *w)
{
	size_t bytes = ebt_trace_stream_bytes(EBT_ALLOC_FRAMES);
	if (w->memory) {
		memset(w->memory, 0, ebt_trace_stream_bytes(0));
		return true;
	}
	char *memory = ebt_pages_get(bytes + EBT_ALLOC_FRAMES * sizeof(*w->next));
	if (!memory)
		return false;
	w->next = (void *)(memory + bytes);
	__atomic_store_n(&w->memory, memory, __ATOMIC_RELEASE);
	return true;
}
