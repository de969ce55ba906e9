/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One operand of a USDT note, in the syntax of the processor's assembler; one file for each
 * processor, usdt_operand_PROCESSOR.c.
 */
#ifndef ELF_USDT_OPERAND_H
#define ELF_USDT_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/usdt_text.h"

#define USDT_NO_REGISTER 0xff

enum usdt_where { USDT_CONSTANT, USDT_REGISTER, USDT_MEMORY };

/*
 * An argument is the lowest `size` bytes of a constant, of a register, or of the memory at
 * base + (index << shift) + displacement. Registers are numbered as the 64-bit words of
 * struct user_regs_struct, which the kernel's struct pt_regs begins with.
 */
struct usdt_arg {
	uint8_t size; /* bytes: 1, 2, 4 or 8 */
	bool is_signed, is_float;
	uint8_t where;	/* enum usdt_where */
	uint8_t reg;	/* the register, or the base */
	uint8_t index;	/* of memory */
	uint8_t shift;	/* of the index, bits */
	int64_t number; /* the constant, or the displacement */
};

/* Reads an operand from `t`, where its errors remain; *ret has its size, and no register. */
void usdt_operand_read(struct usdt_text *t, struct usdt_arg *ret);

#endif
