/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages that each P freed, by the P that had allocated them: a square of those Ps that
 * allocated and freed most, with the others as one more. */
#ifndef REPORT_PAGES_MODEL_MATRIX_H
#define REPORT_PAGES_MODEL_MATRIX_H

#include "report/pages/model/owners.h"

struct pages_matrix {
	uint32_t ps;		   /* rows and columns */
	struct pages_owner *owner; /* of each row, those with the most pages first */
	uint32_t others;	   /* Ps in the last row, which has no p; 0: there is none */
	uint64_t *pages;	   /* [allocated by * ps + freed by] */
	uint64_t freed, foreign;   /* of all Ps: pages, and those that another P had allocated */
};

/* most: rows at most, at least 1, without that of the others. 0 or -ENOMEM; done() works after
 * either. */
int pages_matrix_make(struct pages_matrix *ret, const struct pages_owners *o, uint32_t most);
void pages_matrix_done(struct pages_matrix *m);

static inline uint64_t pages_matrix_at(const struct pages_matrix *m, uint32_t of, uint32_t by)
{
	return m->pages[(uint64_t)of * m->ps + by];
}

#endif
