/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The producer API of sampled allocations; <ebtrace/probes.h> includes this header.
 *
 * Every word that the program allocates is sampled with the same probability, the rate, so bytes
 * are estimated without bias: an object stands for samples / rate words. A runtime calls
 * ebt_object_alloc() for each allocation, and keeps the number of the objects that were sampled, to
 * report what becomes of them.
 */
#ifndef EBTRACE_ALLOC_H
#define EBTRACE_ALLOC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state of a sampler; only `left` is read outside the library. */
struct ebt_sampler {
	int64_t left;	 /* words to the next call of the slow path; negative: due */
	int64_t rest;	 /* words to the next sample beyond `left` */
	uint64_t random; /* state of the generator */
	double rate;	 /* probability that a word is sampled */
	double per_ln;	 /* 1 / ln(1 - rate) */
};

#ifdef __cplusplus
}
#endif
#endif
