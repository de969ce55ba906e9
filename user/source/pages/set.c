// SPDX-License-Identifier: BSD-2-Clause
#include "source/pages/set.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define WORDS (PAGE_CHUNK_PAGES / 64)

/* Joins runs, and passes each on when it is known to end. */
struct runs {
	page_run_fn *fn;
	void *ctx;
	uint64_t first, pages;
	int err;
};

static void end_run(struct runs *r)
{
	if (r->pages && r->fn && !r->err)
		r->err = r->fn(r->ctx, r->first, r->pages);
	r->pages = 0;
}

static void put_bits(struct runs *r, uint64_t first, uint64_t bits)
{
	while (bits) {
		unsigned skip = (unsigned)__builtin_ctzll(bits);
		uint64_t rest = ~(bits >> skip);
		unsigned n = rest ? (unsigned)__builtin_ctzll(rest) : 64;
		n = n > 64 - skip ? 64 - skip : n;
		if (!r->pages || r->first + r->pages != first + skip) {
			end_run(r);
			r->first = first + skip;
		}
		r->pages += n;
		bits = skip + n == 64 ? 0 : bits >> (skip + n) << (skip + n);
	}
}

void page_set_done(struct page_set *s)
{
	for (size_t i = 0; i < s->chunks; i++)
		free(s->chunk[i].bits);
	free(s->chunk);
	*s = (struct page_set){0};
}

/* The first chunk that is not before `number`. */
static size_t find(const struct page_set *s, uint64_t number)
{
	size_t low = 0, high = s->chunks;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (s->chunk[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint64_t *find_or_add(struct page_set *s, uint64_t number)
{
	size_t at = s->last;
	if (at >= s->chunks || s->chunk[at].number != number)
		at = find(s, number);
	s->last = at;
	if (at < s->chunks && s->chunk[at].number == number)
		return s->chunk[at].bits;
	if (!array_reserve(s->chunk, s->room, s->chunks))
		return NULL;
	uint64_t *bits = calloc(WORDS, sizeof(*bits));
	if (!bits)
		return NULL;
	memmove(s->chunk + at + 1, s->chunk + at, (s->chunks++ - at) * sizeof(*s->chunk));
	s->chunk[at] = (struct page_chunk){number, bits};
	return bits;
}

static uint64_t end_of(uint64_t first, uint64_t pages)
{
	return pages > UINT64_MAX - first ? UINT64_MAX : first + pages;
}

/* The bits of the word that begins with page `base` that are in [first, end). */
static uint64_t mask_of(uint64_t base, uint64_t first, uint64_t end)
{
	uint64_t mask = UINT64_MAX;
	if (end <= base || (first > base && first - base >= 64))
		return 0;
	if (first > base)
		mask <<= first - base;
	if (end - base < 64)
		mask &= ~(UINT64_MAX << (end - base));
	return mask;
}

int page_set_add(struct page_set *s, uint64_t first, uint64_t pages, page_run_fn *fn, void *ctx)
{
	struct runs runs = {.fn = fn, .ctx = ctx};
	uint64_t end = end_of(first, pages);
	uint64_t number = first / PAGE_CHUNK_PAGES;
	for (; first < end && number <= (end - 1) / PAGE_CHUNK_PAGES; number++) {
		uint64_t base = number * PAGE_CHUNK_PAGES;
		uint64_t *bits = find_or_add(s, number);
		if (!bits)
			return -ENOMEM;
		for (unsigned i = 0; i < WORDS; i++, base += 64) {
			uint64_t added = mask_of(base, first, end) & ~bits[i];
			bits[i] |= added;
			s->pages += (uint64_t)__builtin_popcountll(added);
			put_bits(&runs, base, added);
		}
	}
	end_run(&runs);
	return runs.err;
}

static void drop_empty(struct page_set *s, size_t from, size_t to)
{
	size_t left = from;
	for (size_t i = from; i < to; i++) {
		uint64_t any = 0;
		for (unsigned w = 0; w < WORDS; w++)
			any |= s->chunk[i].bits[w];
		if (any)
			s->chunk[left++] = s->chunk[i];
		else
			free(s->chunk[i].bits);
	}
	if (left != to)
		memmove(s->chunk + left, s->chunk + to, (s->chunks - to) * sizeof(*s->chunk));
	s->chunks -= to - left;
}

int page_set_remove(struct page_set *s, uint64_t first, uint64_t pages, page_run_fn *fn, void *ctx)
{
	struct runs runs = {.fn = fn, .ctx = ctx};
	uint64_t end = end_of(first, pages);
	size_t from = find(s, first / PAGE_CHUNK_PAGES), i = from;
	for (; i < s->chunks && s->chunk[i].number * PAGE_CHUNK_PAGES < end; i++) {
		uint64_t base = s->chunk[i].number * PAGE_CHUNK_PAGES;
		for (unsigned w = 0; w < WORDS; w++, base += 64) {
			uint64_t removed = s->chunk[i].bits[w] & mask_of(base, first, end);
			s->chunk[i].bits[w] &= ~removed;
			s->pages -= (uint64_t)__builtin_popcountll(removed);
			put_bits(&runs, base, removed);
		}
	}
	drop_empty(s, from, i);
	end_run(&runs);
	return runs.err;
}

int page_set_each(const struct page_set *a, const struct page_set *b, uint64_t first,
		  uint64_t pages, page_run_fn *fn, void *ctx)
{
	static const uint64_t none[WORDS];
	struct runs runs = {.fn = fn, .ctx = ctx};
	uint64_t end = end_of(first, pages);
	size_t i = find(a, first / PAGE_CHUNK_PAGES), j = b ? find(b, first / PAGE_CHUNK_PAGES) : 0;
	for (; i < a->chunks && a->chunk[i].number * PAGE_CHUNK_PAGES < end; i++) {
		uint64_t number = a->chunk[i].number, base = number * PAGE_CHUNK_PAGES;
		while (b && j < b->chunks && b->chunk[j].number < number)
			j++;
		bool both = b && j < b->chunks && b->chunk[j].number == number;
		const uint64_t *without = both ? b->chunk[j].bits : none;
		for (unsigned w = 0; w < WORDS; w++, base += 64)
			put_bits(&runs, base,
				 a->chunk[i].bits[w] & ~without[w] & mask_of(base, first, end));
	}
	end_run(&runs);
	return runs.err;
}
