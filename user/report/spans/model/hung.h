/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Open spans that hang: open for longer than 99 of 100 spans of their name have lasted. Where none
 * of the name has ended they are compared with a time of the caller's. A span in which one of its
 * own name has ended is none of them, unless spans of that name are known to end behind such ones:
 * its end is not expected any more.
 */
#ifndef REPORT_SPANS_MODEL_HUNG_H
#define REPORT_SPANS_MODEL_HUNG_H

#include "report/spans/model/spans.h"

struct span_hung {
	struct span_name *name;
	uint32_t pid, tid; /* 0: not known */
	uint16_t domain;   /* EBT_NO_DOMAIN: none */
	int64_t fiber;	   /* 0: it is none of a fiber */
	uint64_t begin_ns, ns;
	uint64_t p99_ns; /* 0: none of its name has ended */
};

/* Zeroed memory: none. */
struct span_hungs {
	struct span_hung *at; /* the longest first */
	uint32_t count, cap;
	uint32_t open; /* spans that are, in all */
};

/* Those of a model that has not ended, at this moment. 0 or -ENOMEM; done() follows either. */
int span_hungs_find(struct span_model *m, uint64_t now_ns, uint64_t else_ns,
		    struct span_hungs *ret);
void span_hungs_done(struct span_hungs *h);

#endif
