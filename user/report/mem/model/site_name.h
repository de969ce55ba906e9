/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of allocation sites, as every report and timeline writes them. */
#ifndef REPORT_MEM_MODEL_SITE_NAME_H
#define REPORT_MEM_MODEL_SITE_NAME_H

#include "base/buf.h"
#include "report/mem/model/sites.h"
#include "session/display_names.h"

/* Appends the name of a function as its source has it, or the address of a frame without a name. */
void mem_put_function(struct buf *b, const struct session *s, struct display_names *names,
		      const struct mem_function *f);
/* Appends the function, its file and the first positions of its allocations:
 * "f (a.c:1:2-3, 4:5-6...)". */
void mem_put_site(struct buf *b, const struct session *s, struct display_names *names,
		  const struct mem_function *f);

#endif
