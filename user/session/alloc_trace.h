/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the sampling of a process's allocations: the events alloc, promote and collect
 * of a process are samples of what a trace of this kind records. Zeroed memory: nothing is known.
 */
#ifndef SESSION_ALLOC_TRACE_H
#define SESSION_ALLOC_TRACE_H

#include "session/languages.h"
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
 * The parameters of a trace that has weights of samples, in bytes, instead of a rate: an object has
 * one sample for each word of its weight. Traces keep the text, whatever their format.
 */
#define ALLOC_TRACE_WEIGHTS "weights=otel_memory"

/*
 * The parameters of a trace with periodic samples begin with this and the name of the language: a
 * domain of its runtime takes a sample each time that it has allocated a fixed number of words.
 * What became of the objects is not known. If ALLOC_TRACE_WORDS follows, an object has one sample
 * for each word that it represents; a format that has equal samples only rounds the words to those,
 * at random.
 */
#define ALLOC_TRACE_PERIODIC "periodic="
#define ALLOC_TRACE_WORDS    " weights=words"

/*
 * What a trace of mem record lacks. Its parameters are then ALLOC_TRACE_LACK, of fixed length.
 * programs: that the process became by exec() and that left no trace; cut: the process went on
 * behind the end of the trace; events: that could not be written.
 */
struct alloc_trace_lack {
	unsigned programs, cut;
	unsigned long long events;
};
#define ALLOC_TRACE_LACK                                    \
	"ebtrace mem record, not recorded: programs=%.10u " \
	"cut=%.1u events=%.20llu"
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

/* The language in parameters of periodic samples; NULL: they are of others. *ret_words: samples are
 * words. */
static inline const struct traits_language *alloc_trace_parse_periodic(const char *text,
								       bool *ret_words)
{
	size_t begin = strlen(ALLOC_TRACE_PERIODIC);
	if (strncmp(text, ALLOC_TRACE_PERIODIC, begin) != 0)
		return NULL;
	size_t len = strcspn(text + begin, " ");
	const char *rest = text + begin + len;
	*ret_words = !strcmp(rest, ALLOC_TRACE_WORDS);
	const struct language *l = languages_find(text + begin, len);
	return l && l->traits.periodic && (*ret_words || !*rest) ? &l->traits : NULL;
}

/* The language of a trace with periodic samples; NULL: its samples are not periodic. */
static inline const struct traits_language *alloc_trace_periodic(const struct alloc_trace *t,
								 const struct strings *strings)
{
	bool words;
	const char *text = t->known ? strings_text(strings, t->parameters) : NULL;
	return text ? alloc_trace_parse_periodic(text, &words) : NULL;
}

/* Samples are words. */
static inline bool alloc_trace_has_words(const struct alloc_trace *t, const struct strings *strings)
{
	bool words;
	const char *text = t->known ? strings_text(strings, t->parameters) : NULL;
	return text && alloc_trace_parse_periodic(text, &words) && words;
}

static inline bool alloc_trace_has_weights(const struct alloc_trace *t,
					   const struct strings *strings)
{
	return alloc_trace_is(t, strings, ALLOC_TRACE_WEIGHTS);
}

/* A trace may count an object's header as sampled, too, which is not among its words. */
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
