// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/link_price.h"

#include "source/bpf/uprobe.h"

#define QUICK_S 0.2 /* a wait at the end that is longer is reported */

void link_price_report(struct link_price *p, const struct messages *messages,
		       enum bpf_attach attach, uint32_t sites)
{
	if (p->reported && sites * UPROBE_PERF_LINK_S < p->reported * UPROBE_PERF_LINK_S + QUICK_S)
		return;
	p->reported = sites;
	messages_at(messages, LOG_NORMAL,
		    "%s: %u probes have a link each; to remove them at the end takes about %.1f s",
		    attach == BPF_ATTACH_PERF
			    ? "--attach perf"
			    : "this kernel has no usable uprobe_multi links (Linux 6.10)",
		    sites, sites * UPROBE_PERF_LINK_S);
}

void link_price_hurry(const struct messages *messages, uint32_t sites)
{
	if (sites * UPROBE_PERF_LINK_S > QUICK_S)
		messages_at(messages, LOG_NORMAL, "removing %u probes, which takes about %.1f s",
			    sites, sites * UPROBE_PERF_LINK_S);
}
