// SPDX-License-Identifier: BSD-2-Clause
#include "elf/unwind.h"

#define WORD	   8u
#define FRAME_STEP ((uint64_t)1 << 20) /* a larger one is no frame */

/* A frame: the registers as they are where `pc` goes on. */
struct registers {
	uint64_t pc, sp, fp, kept;
	bool has_fp, has_kept;
};

static bool link_word(const struct unwind_image *m, uint64_t at, uint64_t *ret)
{
	size_t low = 0, high = m->links;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->from + m->at[middle] + 2 * WORD <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == m->links || at < m->from + m->at[low])
		return false;
	if (at - m->from - m->at[low])
		*ret = m->address[low];
	else
		*ret = low + 1 < m->links ? m->from + m->at[low + 1] : m->next;
	return true;
}

/* Reads a word of the stack. False: it was not copied. */
static bool word(const struct unwind_image *m, uint64_t at, uint64_t *ret)
{
	if (at % WORD)
		return false;
	for (unsigned i = 0; i < UNWIND_BLOCKS; i++) {
		const struct unwind_block *b = &m->block[i];
		if (at < b->at || (at - b->at) / WORD >= b->words || (at - b->at) % WORD)
			continue;
		*ret = b->word[(at - b->at) / WORD];
		return true;
	}
	return link_word(m, at, ret);
}

static bool is_above(uint64_t address, uint64_t sp)
{
	return address > sp && address - sp < FRAME_STEP;
}

/* The frame that the frame pointer belongs to, and the caller of its function. */
static bool follow_fp(const struct unwind_image *m, struct registers *r)
{
	uint64_t pc, fp;
	if (!r->has_fp || (r->fp != r->sp && !is_above(r->fp, r->sp)) || !word(m, r->fp, &fp) ||
	    !word(m, r->fp + WORD, &pc))
		return false;
	/* Functions may be left out, which have changed it. */
	*r = (struct registers){.pc = pc, .sp = r->fp + 2 * WORD, .fp = fp, .has_fp = true};
	return true;
}

static bool follow_rule(const struct unwind_image *m, const struct unwind_rule *rule,
			struct registers *r)
{
	bool changes = rule->kind == UNWIND_BY_KEPT;
	uint64_t base = rule->kind == UNWIND_BY_FP ? r->fp : changes ? r->kept : r->sp;
	uint64_t cfa = base + (uint64_t)(int64_t)rule->cfa;
	struct registers up = *r;
	up.sp = cfa;
	if ((rule->kind == UNWIND_BY_FP && !r->has_fp) ||
	    (changes && (!r->has_kept || !m->other || r->kept < m->other)) ||
	    !is_above(cfa, changes ? base : r->sp) ||
	    !word(m, cfa + (uint64_t)(int64_t)rule->pc, &up.pc))
		return false;
	if (rule->has_fp)
		up.has_fp = word(m, cfa + (uint64_t)(int64_t)rule->fp, &up.fp);
	if (rule->has_kept)
		up.has_kept = word(m, cfa + (uint64_t)(int64_t)rule->kept, &up.kept);
	*r = up;
	return true;
}

/* One step up. False: the stack ends here. */
static bool step(const struct unwind_image *m, const struct unwind_rule *rule, struct registers *r,
		 bool *ret_gap)
{
	*ret_gap = false;
	if (rule->kind == UNWIND_UNKNOWN)
		return !m->strict && follow_fp(m, r);
	if (rule->kind != UNWIND_OTHERWISE && follow_rule(m, rule, r))
		return true;
	/* A frame pointer that the function has not changed is of a function further up. */
	*ret_gap = !m->strict && rule->kind != UNWIND_BY_FP && !rule->has_fp;
	return *ret_gap && follow_fp(m, r);
}

static bool is_end(const struct unwind_rule *rule, const struct registers *r)
{
	return rule->kind == UNWIND_OUTERMOST ||
	       (rule->kind == UNWIND_UNKNOWN && r->has_fp && !r->fp);
}

static bool is_known(const struct unwind_image *m, uint64_t sp, size_t *ret)
{
	for (size_t i = 0; i < m->knowns; i++) {
		*ret = i;
		if (m->known[i] == sp)
			return true;
	}
	return false;
}

size_t unwind_until(const struct unwind_image *image, const struct unwind_code *code, uint64_t *ret,
		    size_t cap, enum unwind_end *ret_end, size_t *ret_known)
{
	struct registers r = {.pc = image->pc,
			      .sp = image->sp,
			      .fp = image->fp,
			      .kept = image->kept,
			      .has_fp = true,
			      .has_kept = image->other != 0};
	size_t n = 0, sure = 0;
	bool gap = false, has_gap = false;
	*ret_end = UNWIND_CUT;
	while (n + gap < cap && code->is_valid(code->ctx, r.pc, !n && !image->returns)) {
		if (gap && !has_gap)
			sure = n;
		has_gap |= gap;
		if (gap)
			ret[n++] = UNWIND_GAP;
		struct unwind_rule rule = code->rule(code->ctx, r.pc, !n && !image->returns);
		ret[n++] = r.pc;
		if (is_end(&rule, &r)) {
			*ret_end = UNWIND_WHOLE;
			break;
		}
		if (!step(image, &rule, &r, &gap))
			break;
		if (is_known(image, r.sp, ret_known)) {
			*ret_end = UNWIND_KNOWN;
			break;
		}
		if (image->high && r.sp == image->high && !gap) {
			*ret_end = UNWIND_HIGH;
			break;
		}
		if (image->high && r.sp > image->high)
			break;
	}
	return has_gap && *ret_end == UNWIND_CUT ? sure : n;
}
