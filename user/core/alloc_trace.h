/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the sampling of a process's allocations: the events alloc, promote and collect
 * of a process are samples of what a trace of this kind records. Zeroed memory: nothing is known.
 */
#ifndef CORE_ALLOC_TRACE_H
#define CORE_ALLOC_TRACE_H

#include "core/strings.h"
#include <stdbool.h>
#include <stdint.h>

struct alloc_trace {
	bool known;
	double sample_rate; /* the probability that a word is sampled */
	uint8_t word_bits;
	uint16_t domain; /* that began the trace */
	/* Strings, which are held. context: what the program calls the trace. */
	uint32_t executable, host, parameters, context;
};

/* Drops its strings, and zeroes it. Without strings `strings` may be NULL. */
static inline void alloc_trace_done(struct alloc_trace *t, struct strings *strings)
{
	if (!t->known)
		return;
	strings_drop(strings, t->executable);
	strings_drop(strings, t->host);
	strings_drop(strings, t->parameters);
	strings_drop(strings, t->context);
	*t = (struct alloc_trace){0};
}

#endif
