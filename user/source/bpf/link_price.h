/* SPDX-License-Identifier: BSD-2-Clause */
/* What it takes to remove probes that have a link each, in messages for the user. */
#ifndef SOURCE_BPF_LINK_PRICE_H
#define SOURCE_BPF_LINK_PRICE_H

#include "base/messages.h"
#include "source/bpf/plan.h"

/* Zeroed memory: nothing was reported. */
struct link_price {
	uint32_t reported; /* sites, in the last message */
};

/* Repeated when the end will take noticeably longer than the last message said. */
void link_price_report(struct link_price *p, const struct messages *messages,
		       enum bpf_attach attach, uint32_t sites);
/* They are removed now. Signals do not interrupt that. */
void link_price_hurry(const struct messages *messages, uint32_t sites);

#endif
