/* SPDX-License-Identifier: BSD-2-Clause */
/* What the attacher of the user's markers found, beside its row in the table of attachers. */
#ifndef SOURCE_BPF_ATTACH_USDT_H
#define SOURCE_BPF_ATTACH_USDT_H

#include "runtime/marker_requests.h"
#include "source/bpf/attacher.h"

/* The next of the user's requests, from *at (first 0) on, with an end that no file has had so far;
 * a pattern has one end. NULL: no more. */
const struct marker_request *attach_usdt_unfound(const struct attach_env *env, unsigned *at,
						 enum marker_end *ret_end);

#endif
