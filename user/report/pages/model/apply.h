/* SPDX-License-Identifier: BSD-2-Clause */
/* Applies events to the pages that they name, and counts what they do to each. Private to the model
 * of pages. */
#ifndef REPORT_PAGES_MODEL_APPLY_H
#define REPORT_PAGES_MODEL_APPLY_H

#include "report/pages/model/model.h"

/* Applies the first event, and those behind it that are before one at or after limit_ns. Sets
 * *ret_applied to their number, damages included. 0 or -ENOMEM. */
int pages_apply(struct pages_model *m, const struct ebt_pagetrace_event *ev, size_t n,
		uint64_t limit_ns, size_t *ret_applied);

#endif
