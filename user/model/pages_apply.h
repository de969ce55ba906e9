/* SPDX-License-Identifier: BSD-2-Clause */
/* Applies one event to the pages that it names, and counts what it does to each. Private to the
 * model of pages. */
#ifndef MODEL_PAGES_APPLY_H
#define MODEL_PAGES_APPLY_H

#include "model/pages_model.h"

/* is_late: later events have been applied. 0 or -ENOMEM. */
int pages_apply(struct pages_model *m, const struct ebt_pagetrace_event *ev, bool is_late);

#endif
