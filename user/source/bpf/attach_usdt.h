/* SPDX-License-Identifier: BSD-2-Clause */
/* What the attacher of the user's markers found, beside its row in the table of attachers. */
#ifndef SOURCE_BPF_ATTACH_USDT_H
#define SOURCE_BPF_ATTACH_USDT_H

#include "runtime/marker_requests.h"
#include "source/bpf/attacher.h"

/* The next of the user's markers, from *at (first 0) on, that no file has had so far; NULL: no
 * more. */
const struct marker_side *attach_usdt_unfound(const struct attach_env *env, unsigned *at);

#endif
