// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/record.h"

#include <stddef.h>

size_t bpf_record_body(const struct ebt_record *head)
{
	switch (head->type) {
	case EBT_RECORD_MARKER:
		return sizeof(struct ebt_marker_record);
	case EBT_RECORD_OCAML:
		return sizeof(struct ebt_ocaml_record);
	case EBT_RECORD_ALLOC:
		return sizeof(struct ebt_alloc_record);
	case EBT_RECORD_PAGES:
		return sizeof(struct ebt_page_record);
	case EBT_RECORD_OFFCPU:
		return sizeof(struct ebt_offcpu_record);
	case EBT_RECORD_STACK:
		return sizeof(struct ebt_stack_record);
	case EBT_RECORD_THREAD:
		return sizeof(struct ebt_thread_record);
	}
	return 0;
}

/* In all of them the time follows the head, and then the count of what was dropped. */
#define HAS_BOTH(type)                                             \
	(offsetof(struct type, ts) == sizeof(struct ebt_record) && \
	 offsetof(struct type, dropped) == sizeof(struct ebt_record) + sizeof(uint64_t))
_Static_assert(HAS_BOTH(ebt_marker_record) && HAS_BOTH(ebt_ocaml_record) &&
		       HAS_BOTH(ebt_process_record) && HAS_BOTH(ebt_alloc_record) &&
		       HAS_BOTH(ebt_page_record) && HAS_BOTH(ebt_offcpu_record) &&
		       HAS_BOTH(ebt_stack_record) && HAS_BOTH(ebt_thread_record),
	       "time and count are behind the head");

uint64_t bpf_record_ns(const struct ebt_record *head)
{
	return ((const struct ebt_thread_record *)head)->ts;
}

uint32_t bpf_record_dropped(const struct ebt_record *head)
{
	return ((const struct ebt_thread_record *)head)->dropped;
}

bool bpf_record_is_control(const struct ebt_record *head)
{
	return head->type == EBT_RECORD_MARKER && head->site >= EBT_SITE_CONTROL;
}

size_t bpf_record_payload(const struct ebt_record *head, size_t size, size_t body)
{
	if (size < body)
		return SIZE_MAX;
	return head->size < size - body ? head->size : size - body;
}
