/* SPDX-License-Identifier: BSD-2-Clause */
/* The runs of pages that are allocated at the end of a trace, by size. */
#ifndef REPORT_PAGES_MODEL_ALIVE_H
#define REPORT_PAGES_MODEL_ALIVE_H

#include "report/pages/model/fragmentation.h"

struct pages_alive {
	uint64_t rest; /* pages of runs that were freed in part */
	struct pages_run_class size[PAGES_SIZE_CLASSES];
};

void pages_alive_make(struct pages_alive *ret, const struct pages_heap *h);

#endif
