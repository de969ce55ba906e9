/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/histogram.h"

#include "base/buckets.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGE  64u /* buckets */
#define PAGES (BUCKETS_COUNT / PAGE)

struct histogram_group {
	uint64_t *pages[PAGES]; /* NULL: no value */
};

void histogram_done(struct histogram *h)
{
	for (unsigned g = 0; g < HISTOGRAM_GROUPS; g++) {
		for (unsigned i = 0; h->groups[g] && i < PAGES; i++)
			free(h->groups[g]->pages[i]);
		free(h->groups[g]);
	}
	*h = (struct histogram){0};
}

void histogram_clear(struct histogram *h)
{
	struct histogram_group *groups[HISTOGRAM_GROUPS];
	memcpy(groups, h->groups, sizeof(groups));
	*h = (struct histogram){.coarse = h->coarse};
	memcpy(h->groups, groups, sizeof(groups));
	for (unsigned g = 0; g < HISTOGRAM_GROUPS; g++)
		for (unsigned i = 0; groups[g] && i < PAGES; i++)
			if (groups[g]->pages[i])
				memset(groups[g]->pages[i], 0, PAGE * sizeof(uint64_t));
}

/* The counters of a page, allocated if they are new. NULL: no memory. */
static __attribute__((noinline)) uint64_t *add_page(struct histogram *h, unsigned g, unsigned page)
{
	if (!h->groups[g])
		h->groups[g] = calloc(1, sizeof(*h->groups[g]));
	if (!h->groups[g])
		return NULL;
	if (!h->groups[g]->pages[page])
		h->groups[g]->pages[page] = calloc(PAGE, sizeof(uint64_t));
	return h->groups[g]->pages[page];
}

static const uint64_t *page_of(const struct histogram *h, unsigned g, unsigned page)
{
	return h->groups[g] ? h->groups[g]->pages[page] : NULL;
}

uint64_t *histogram_place(struct histogram *h, uint64_t v)
{
	uint64_t number = h->coarse ? buckets_coarse_of(v) : v;
	unsigned g = buckets_group_of(number), bucket = buckets_bucket_of(number, g);
	struct histogram_group *group = h->groups[g];
	uint64_t *page = group ? group->pages[bucket / PAGE] : NULL;
	if (!page)
		page = add_page(h, g, bucket / PAGE);
	if (!page)
		return NULL;
	__builtin_prefetch(page + bucket % PAGE, 1);
	return page + bucket % PAGE;
}

int histogram_count(struct histogram *h, uint64_t v, uint64_t n)
{
	uint64_t *place = n ? histogram_place(h, v) : NULL;
	if (place)
		histogram_count_at(h, place, v, n);
	return place || !n ? 0 : -ENOMEM;
}

int histogram_add(struct histogram *h, uint64_t v)
{
	return histogram_add_many(h, v, 1);
}

int histogram_add_many(struct histogram *h, uint64_t v, uint64_t n)
{
	int err = histogram_count(h, v, n);
	if (err || !n)
		return err;
	double off = (double)v - h->mean;
	h->mean += off * (double)n / (double)h->count;
	h->m2 += off * ((double)v - h->mean) * (double)n;
	return 0;
}

/* The middle of a bucket. */
static uint64_t value_at(const struct histogram *h, unsigned page, unsigned k)
{
	uint64_t v = buckets_middle_of(page / PAGES, page % PAGES * PAGE + k);
	return h->coarse ? buckets_middle_of_coarse(v) : v;
}

/* The counts of one of another resolution, each at its value. */
static int merge_values(struct histogram *h, const struct histogram *other)
{
	for (unsigned i = 0; i < HISTOGRAM_GROUPS * PAGES; i++) {
		const uint64_t *page = page_of(other, i / PAGES, i % PAGES);
		for (unsigned k = 0; page && k < PAGE; k++) {
			uint64_t *place =
				page[k] ? histogram_place(h, value_at(other, i, k)) : NULL;
			if (page[k] && !place)
				return -ENOMEM;
			if (place)
				*place += page[k];
		}
	}
	return 0;
}

static int merge_pages(struct histogram *h, const struct histogram *other)
{
	for (unsigned g = 0; g < HISTOGRAM_GROUPS; g++)
		for (unsigned i = 0; other->groups[g] && i < PAGES; i++)
			if (page_of(other, g, i) && !add_page(h, g, i))
				return -ENOMEM;
	for (unsigned g = 0; g < HISTOGRAM_GROUPS; g++)
		for (unsigned i = 0; other->groups[g] && i < PAGES; i++) {
			const uint64_t *page = page_of(other, g, i);
			for (unsigned k = 0; page && k < PAGE; k++)
				h->groups[g]->pages[i][k] += page[k];
		}
	return 0;
}

int histogram_merge(struct histogram *h, const struct histogram *other)
{
	if (!other->count)
		return 0;
	if (!h->count)
		h->coarse = other->coarse;
	int err = h->coarse == other->coarse ? merge_pages(h, other) : merge_values(h, other);
	if (err)
		return err;
	if (!h->count || other->min < h->min)
		h->min = other->min;
	if (other->max > h->max)
		h->max = other->max;
	double n = (double)h->count, m = (double)other->count, off = other->mean - h->mean;
	h->mean += off * m / (n + m);
	h->m2 += other->m2 + off * off * n * m / (n + m);
	h->count += other->count;
	h->sum += other->sum;
	return 0;
}

int histogram_copy(struct histogram *h, const struct histogram *other)
{
	int err = histogram_merge(h, other);
	h->mean = other->mean;
	h->m2 = other->m2;
	return err;
}

/* The value of this rank, from 1. */
static uint64_t value_of_rank(const struct histogram *h, uint64_t rank)
{
	for (unsigned i = 0; i < HISTOGRAM_GROUPS * PAGES; i++) {
		const uint64_t *page = page_of(h, i / PAGES, i % PAGES);
		for (unsigned k = 0; page && k < PAGE; k++) {
			if (rank <= page[k])
				return value_at(h, i, k);
			rank -= page[k];
		}
	}
	return h->max;
}

uint64_t histogram_at(const struct histogram *h, uint32_t parts)
{
	unsigned __int128 share = (unsigned __int128)h->count * parts;
	uint64_t rank = (uint64_t)((share + HISTOGRAM_WHOLE - 1) / HISTOGRAM_WHOLE);
	if (rank <= 1)
		return h->min;
	if (rank >= h->count)
		return h->max;
	uint64_t v = value_of_rank(h, rank);
	return v < h->min ? h->min : v > h->max ? h->max : v;
}

double histogram_mean(const struct histogram *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}

double histogram_stddev(const struct histogram *h)
{
	return h->count > 1 ? sqrt(h->m2 / (double)h->count) : 0;
}
