// SPDX-License-Identifier: BSD-2-Clause
#include "source/stacks/c_stack.h"

#include "proc/return_address.h"

#define MAX_CALLS 65536 /* known of a process */
enum { NO = 1, YES = 2 };
#define RETURNS (1ull << 63) /* in a key: the question is whether the instruction returns */

void c_stack_calls_done(struct c_stack_calls *c)
{
	map_done(&c->known);
	*c = (struct c_stack_calls){0};
}

static bool reads_call(const struct c_stack_of *of, uint64_t address)
{
	uint8_t code[RETURN_ADDRESS_BYTES];
	struct code_memory memory;
	/* Code outside of files was made at run time: it cannot be read. */
	if (!code_frames_memory(of->frames, of->map, of->pid, address, &memory))
		return true;
	return code_memory_read(&memory, address - sizeof(code), code, sizeof(code)) ==
		       sizeof(code) &&
	       return_address_follows_call(code);
}

static bool reads_return(const struct c_stack_of *of, uint64_t address)
{
	uint8_t insn[RETURN_INSN_BYTES];
	struct code_memory memory;
	return code_frames_memory(of->frames, of->map, of->pid, address, &memory) &&
	       code_memory_read(&memory, address, insn, sizeof(insn)) == sizeof(insn) &&
	       return_address_is_next(insn);
}

/* NULL: not known. */
static const uint64_t *find_known(const struct c_stack_of *of, uint64_t key)
{
	struct c_stack_calls *c = of->calls;
	if (c->read_ns != of->map->read_ns || c->known.count >= MAX_CALLS) {
		c_stack_calls_done(c);
		c->read_ns = of->map->read_ns;
	}
	return map_get(&c->known, key);
}

static bool keep(const struct c_stack_of *of, uint64_t key, bool is)
{
	uint64_t *value = map_put(&of->calls->known, key);
	if (value)
		*value = is ? YES : NO;
	return is;
}

bool c_stack_is_return(const struct c_stack_of *of, uint64_t address)
{
	const uint64_t *known = find_known(of, address);
	if (known)
		return *known == YES;
	/* Not kept: the address may be mapped later. */
	if (!code_frames_is_code(of->frames, of->map, of->pid, address))
		return false;
	return keep(of, address, reads_call(of, address));
}

static bool returns(const struct c_stack_of *of, uint64_t address)
{
	const uint64_t *known = find_known(of, address | RETURNS);
	return known ? *known == YES : keep(of, address | RETURNS, reads_return(of, address));
}

static bool is_valid(void *ctx, uint64_t address, bool is_innermost)
{
	const struct c_stack_of *of = ctx;
	return is_innermost ? code_frames_is_code(of->frames, of->map, of->pid, address)
			    : c_stack_is_return(of, address);
}

static struct unwind_rule rule_at(void *ctx, uint64_t address, bool is_innermost)
{
	const struct c_stack_of *of = ctx;
	struct unwind_rule rule =
		code_frames_unwind(of->frames, of->map, of->pid, address, is_innermost);
	/* Compilers that keep frame pointers may have no rule for what follows the pop of one. */
	bool has_frame = rule.kind == UNWIND_BY_SP && rule.cfa != -rule.pc;
	if (is_innermost && has_frame && returns(of, address))
		rule = (struct unwind_rule){.kind = UNWIND_BY_SP, .cfa = -rule.pc, .pc = rule.pc};
	return rule;
}

struct unwind_image c_stack_image(const struct ebt_stack_memory *m, const struct ebt_stack_links *l)
{
	struct unwind_image image = {
		.pc = m->ip,
		.sp = m->sp,
		.fp = m->fp,
		.high = m->high,
		.block = {{m->sp, m->word,
			   m->words < EBT_STACK_WORDS ? m->words : EBT_STACK_WORDS}},
	};
	if (!l)
		return image;
	image.block[1] = (struct unwind_block){l->tail, l->tail_word,
					       l->tail_words < EBT_TAIL_WORDS ? l->tail_words
									      : EBT_TAIL_WORDS};
	image.address = l->address;
	image.at = l->at;
	image.links = l->links < EBT_STACK_FRAMES ? l->links : EBT_STACK_FRAMES;
	image.from = m->sp;
	image.next = l->next;
	return image;
}

size_t c_stack_unwind(const struct c_stack_of *of, const struct unwind_image *image,
		      uint64_t ret[CODE_STACK_MAX], enum unwind_end *ret_end, size_t *ret_known)
{
	struct unwind_code code = {is_valid, rule_at, (void *)of};
	return unwind_until(image, &code, ret, CODE_STACK_MAX - 1, ret_end, ret_known);
}

int c_stack_push(const struct c_stack_of *of, const void *payload, size_t bytes, uint32_t *ret)
{
	uint64_t address[CODE_STACK_MAX];
	enum unwind_end end;
	const struct ebt_stack_memory *m = payload;
	const struct ebt_stack_links *l = (const void *)(m + 1);
	if (bytes < sizeof(*m) + sizeof(*l))
		return 0;
	struct unwind_image image = c_stack_image(m, l);
	size_t count = c_stack_unwind(of, &image, address, &end, NULL);
	if (end == UNWIND_CUT)
		address[count++] = CODE_CUT;
	struct code_stack stack = {.address = address, .count = count};
	return code_frames_stack(of->frames, of->map, of->pid, &stack, ret);
}
