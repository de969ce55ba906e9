/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/interval.h"

int report_interval_pass(struct report_interval *i, const struct session *s, uint64_t first_ns,
			 uint64_t now_ns, int (*put)(void *ctx, uint64_t begin_ns, uint64_t end_ns),
			 void *ctx)
{
	uint64_t step = i->step_ns;
	int err = 0;
	if (!i->next_ns) {
		i->begin_ns = s->run_begin.known ? s->run_begin.ns : first_ns;
		i->next_ns = i->begin_ns + step;
	}
	for (unsigned n = 0; !err && now_ns >= i->next_ns && i->next_ns != UINT64_MAX; n++) {
		uint64_t begin = i->next_ns - step;
		if (n >= REPORT_INTERVAL_QUIET)
			i->next_ns += (now_ns - i->next_ns) / step * step;
		err = put(ctx, begin, i->next_ns);
		i->next_ns = i->next_ns > UINT64_MAX - step ? UINT64_MAX : i->next_ns + step;
	}
	return err;
}
