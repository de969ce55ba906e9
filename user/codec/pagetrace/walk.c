/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/pagetrace/walk.h"

#include <string.h>

bool ebt_pagetrace_is(const void *head, size_t bytes)
{
	uint64_t word[2];
	if (bytes < sizeof(word))
		return false;
	memcpy(word, head, sizeof(word));
	return pagetrace_is_p(le64toh(word[0])) && pagetrace_is_time(le64toh(word[1]));
}

static uint64_t word_at(const struct pagetrace_walk *k, size_t i)
{
	return le64toh(k->word[i]);
}

static bool has_block(const struct pagetrace_walk *k, size_t i)
{
	return i + 1 < k->words && pagetrace_is_p(word_at(k, i)) &&
	       pagetrace_is_time(word_at(k, i + 1));
}

/* Whether the word that the walk is at is good in its block. */
static bool has_event(const struct pagetrace_walk *k)
{
	struct ebt_pagetrace_counts ignored = {0};
	struct pagetrace_walk one = *k;
	one.counts = &ignored;
	pagetrace_walk_events(&one, NULL, 1);
	return one.words < k->words;
}

static void begin_block(struct pagetrace_walk *k)
{
	k->p = (int32_t)((int64_t)word_at(k, 0) >> 3);
	k->base_ns = k->last_ns = pagetrace_time_ns(word_at(k, 1));
	k->left = PAGETRACE_BLOCK_WORDS - 2;
	k->counts->blocks++;
	k->counts->syncs++;
	k->counts->has_boot |= k->p == EBT_PAGETRACE_NO_P;
	pagetrace_walk_skip(k, 2);
}

static const char *expected_here(const struct pagetrace_walk *k)
{
	uint64_t word = word_at(k, 0);
	if (!k->left)
		return "a block: a P and a time";
	if (pagetrace_is_p(word))
		return "a time after the P";
	if ((word & PAGETRACE_TAG) == PAGETRACE_TIME)
		return pagetrace_is_time(word) ? "a time not before the last one"
					       : "a time below 2^63 ns";
	if (pagetrace_is_large(word))
		return "1024 pages or more, below address 2^48";
	return word & PAGETRACE_WHAT && !(word & PAGETRACE_LARGE)
		       ? "1 page or more, below address 2^48"
		       : "an event, a time or a P";
}

/* Whether the word behind the damaged one certainly is an event of the same block. */
static bool stays_in_block(const struct pagetrace_walk *k)
{
	uint64_t damaged = word_at(k, 0);
	if (k->left < 2 || k->words < 2 || pagetrace_is_p(damaged) ||
	    (damaged & PAGETRACE_TAG) == PAGETRACE_TIME)
		return false;
	uint64_t word = word_at(k, 1);
	return word & PAGETRACE_WHAT && !pagetrace_may_be_pages(word) &&
	       k->base_ns + pagetrace_delta_ns(word) >= k->last_ns;
}

/* The words before the next block, as many as can be decided. */
static size_t find_block(const struct pagetrace_walk *k)
{
	size_t i = 0;
	while (i < k->words && !has_block(k, i)) {
		bool last = i + 1 == k->words;
		uint64_t word = word_at(k, i);
		if (last && !k->whole && (pagetrace_is_p(word) || pagetrace_is_large(word)))
			break;
		i += !last && pagetrace_is_large(word) && pagetrace_may_be_pages(word_at(k, i + 1))
			     ? 2
			     : 1;
	}
	return i;
}

static void add_damage(struct pagetrace_walk *k, uint64_t bytes, const char *expected)
{
	if (!k->damage_bytes) {
		k->damage_at = k->offset;
		k->expected = expected;
	}
	k->damage_bytes += bytes;
}

/* Skips the words from here on that are damaged. False: more words must decide. */
static bool skip_damage(struct pagetrace_walk *k)
{
	while (k->words && !has_event(k) && !has_block(k, 0)) {
		size_t words = 1;
		if (k->words == 1 && !k->whole && k->left)
			return false;
		const char *expected = expected_here(k);
		if (k->left)
			k->left = stays_in_block(k) ? k->left - 1 : 0;
		else
			words = find_block(k);
		if (!words)
			return false;
		add_damage(k, words * 8, expected);
		pagetrace_walk_skip(k, words);
	}
	if (k->words || !k->whole)
		return k->words;
	if (k->tail_bytes)
		add_damage(k, k->tail_bytes, "a whole word");
	k->offset += k->tail_bytes;
	k->tail_bytes = 0;
	return true;
}

enum pagetrace_next pagetrace_walk_next(struct pagetrace_walk *k, struct ebt_pagetrace_event *ret)
{
	if (!skip_damage(k))
		return PAGETRACE_NEXT_MORE;
	if (k->damage_bytes) {
		*ret = (struct ebt_pagetrace_event){
			.time_ns = k->last_ns,
			.addr = k->damage_at,
			.pages = k->damage_bytes,
			.p = k->p,
			.what = EBT_PAGETRACE_DAMAGE,
		};
		k->counts->damaged++;
		k->counts->damaged_bytes += k->damage_bytes;
		k->damage_bytes = 0;
		return PAGETRACE_NEXT_DAMAGE;
	}
	if (!k->words)
		return PAGETRACE_NEXT_END;
	if (!has_block(k, 0))
		return PAGETRACE_NEXT_EVENTS;
	begin_block(k);
	return PAGETRACE_NEXT_BLOCK;
}
