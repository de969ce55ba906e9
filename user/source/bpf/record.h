/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout of a record of the ring buffer (bpf/abi.h), by its type: where its body ends, what its time
 * is, whether it is an event. */
#ifndef SOURCE_BPF_RECORD_H
#define SOURCE_BPF_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "bpf/abi.h"

/* The bytes of a record of an event or of control before its payload; 0: it is neither. */
size_t bpf_record_body(const struct ebt_record *head);
/* The payload of a record of `size` bytes whose body has `body`; SIZE_MAX: the record is too short. */
size_t bpf_record_payload(const struct ebt_record *head, size_t size, size_t body);
/* Of a record that is not too short. */
uint64_t bpf_record_ns(const struct ebt_record *head);
uint32_t bpf_record_dropped(const struct ebt_record *head);
/* True for an event or control of a record that is not too short. */
bool bpf_record_is_control(const struct ebt_record *head);

#endif
