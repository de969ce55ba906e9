/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The arguments of markers that may be anywhere: in a register, in a part of one, in memory, or
 * constant. The tracer has parsed the note of each site into a struct ebt_operand for each.
 * Registers and memory belong to the traced program, which may be hostile: they are copied, never
 * trusted.
 */
#ifndef EBTRACE_OPERANDS_BPF_H
#define EBTRACE_OPERANDS_BPF_H

#include "channel.bpf.h"

/* ctx is not dereferenced: the verifier allows that at constant offsets alone. */
static __always_inline uint64_t operand_word(const void *ctx, uint8_t number)
{
	uint64_t word = 0;
	if (number != EBT_OPERAND_NONE)
		bpf_probe_read_kernel(&word, sizeof(word),
				      (const char *)ctx + (number & 63) * sizeof(word));
	return word;
}

/* Of an operand in memory. */
static __always_inline uint64_t operand_address(const void *ctx, const struct ebt_operand *o)
{
	return (uint64_t)o->number + operand_word(ctx, o->reg) +
	       (operand_word(ctx, o->index) << (o->shift & 63));
}

/* Nonzero: it is in memory that cannot be read now, and *ret is 0. */
static __always_inline int operand_read(const void *ctx, const struct ebt_operand *o, uint64_t *ret)
{
	uint64_t value = (uint64_t)o->number;
	long err = 0;
	if (o->where == EBT_OPERAND_REGISTER) {
		value = operand_word(ctx, o->reg) >> (o->drop & 63);
	} else if (o->where == EBT_OPERAND_MEMORY) {
		uint64_t at = operand_address(ctx, o);
		uint32_t bytes = o->size < sizeof(value) ? o->size : sizeof(value);
		value = 0;
		err = bpf_probe_read_user(&value, bytes, (void *)at);
	}
	/* Little-endian: the lowest bytes come first. */
	uint32_t unused = (64 - 8 * o->size) & 63;
	value <<= unused;
	*ret = o->is_signed ? (uint64_t)((int64_t)value >> unused) : value >> unused;
	return err != 0;
}

#endif
