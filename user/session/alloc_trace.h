/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the sampling of a process's allocations: the events alloc, promote and collect
 * of a process are samples of what a trace of this kind records. Zeroed memory: nothing is known.
 */
#ifndef SESSION_ALLOC_TRACE_H
#define SESSION_ALLOC_TRACE_H

#include "session/strings.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct alloc_trace {
	bool known;
	double sample_rate; /* the probability that a word is sampled; 1 with weights */
	uint8_t word_bits;
	uint16_t domain; /* that began the trace */
	/* Strings, which are held. context: what the program calls the trace. */
	uint32_t executable, host, parameters, context;
};

/*
 * The parameters of a trace whose samples have weights, in bytes, instead of a rate: each sample of
 * an object is a word that it stands for. Traces keep the text, whatever their format.
 */
#define ALLOC_TRACE_WEIGHTS "weights=otel_memory"

/*
 * Those of a trace whose samples are periodic: each time that an OCaml domain has allocated so many
 * words. Nothing is known of what became of the objects. Each sample of an object is a word that it
 * stands for; where a format has none but equal samples, they are rounded to those, at random.
 */
#define ALLOC_TRACE_PERIODIC	     "periodic=ocaml weights=words"
#define ALLOC_TRACE_PERIODIC_ROUNDED "periodic=ocaml"

/*
 * Those of a trace of mem record that lacks something, as its parameters have it; of fixed length.
 * programs: that the process became by exec() and that left no trace; cut: it went on behind the end of
 * the trace; events: that could not be written.
 */
struct alloc_trace_lack {
	unsigned programs, cut;
	unsigned long long events;
};
#define ALLOC_TRACE_LACK       "ebtrace mem record, not recorded: programs=%.10u cut=%.1u events=%.20llu"
#define ALLOC_TRACE_LACK_BYTES 128

static inline bool alloc_trace_lacks(const char *parameters, struct alloc_trace_lack *ret)
{
	*ret = (struct alloc_trace_lack){0};
	return sscanf(parameters,
		      "ebtrace mem record, not recorded: programs=%10u cut=%1u events=%20llu",
		      &ret->programs, &ret->cut, &ret->events) == 3 &&
	       (ret->programs || ret->cut || ret->events);
}

static inline bool alloc_trace_is(const struct alloc_trace *t, const struct strings *strings,
				  const char *parameters)
{
	const char *text = t->known ? strings_text(strings, t->parameters) : NULL;
	return text && !strcmp(text, parameters);
}

/* Samples are words. */
static inline bool alloc_trace_has_words(const struct alloc_trace *t, const struct strings *strings)
{
	return alloc_trace_is(t, strings, ALLOC_TRACE_PERIODIC);
}

static inline bool alloc_trace_is_periodic(const struct alloc_trace *t,
					   const struct strings *strings)
{
	return alloc_trace_has_words(t, strings) ||
	       alloc_trace_is(t, strings, ALLOC_TRACE_PERIODIC_ROUNDED);
}

static inline bool alloc_trace_has_weights(const struct alloc_trace *t,
					   const struct strings *strings)
{
	return alloc_trace_is(t, strings, ALLOC_TRACE_WEIGHTS);
}

/* OCaml's runtime samples an object's header, too, but in its words there is none. */
static inline bool alloc_trace_samples_header(const struct alloc_trace *t,
					      const struct strings *strings)
{
	const char *text = t->known ? strings_text(strings, t->parameters) : NULL;
	return text && *text && strcmp(text, ALLOC_TRACE_WEIGHTS) != 0 &&
	       strncmp(text, ALLOC_TRACE_LACK, strcspn(ALLOC_TRACE_LACK, "%")) != 0;
}

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
