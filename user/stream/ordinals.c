/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/ordinals.h"

static void set_delivered(struct ordinals *o, uint64_t from, uint64_t to, bool delivered)
{
	from = to - from > ORDINALS_WINDOW ? to - ORDINALS_WINDOW : from;
	for (; from < to; from++) {
		uint64_t bit = 1ull << (from % 64);
		uint64_t *word = &o->delivered[from % ORDINALS_WINDOW / 64];
		*word = delivered ? *word | bit : *word & ~bit;
	}
}

void ordinals_skip(struct ordinals *o, uint64_t next, uint32_t missing)
{
	set_delivered(o, o->unbroken, next, true);
	set_delivered(o, next, next + missing, false);
	o->unbroken = next + missing;
}

bool ordinals_fill(struct ordinals *o, uint64_t next, uint32_t seq)
{
	uint32_t back = (uint32_t)next - seq;
	uint64_t bit = 1ull << (seq % 64), *word = &o->delivered[seq % ORDINALS_WINDOW / 64];
	if (back > ORDINALS_WINDOW || back <= next - o->unbroken || *word & bit)
		return false;
	*word |= bit;
	return true;
}
