/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One operand of a USDT note, in the syntax of the processor's assembler; one file for each
 * processor, usdt_operand_PROCESSOR.c.
 */
#ifndef ELF_USDT_OPERAND_H
#define ELF_USDT_OPERAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/usdt_text.h"

#define USDT_NO_REGISTER 0xff

enum usdt_where { USDT_CONSTANT, USDT_REGISTER, USDT_MEMORY };

/* The marker that has the operands, where their symbols are looked up. */
struct usdt_site {
	uint64_t address; /* of its instruction, in the file's address space */
	/* The address of a symbol there, whose name has `bytes` bytes. False: not known. */
	bool (*find)(void *ctx, const char *name, size_t bytes, uint64_t *ret);
	void *ctx;
};

/*
 * An argument is the lowest `size` bytes of a constant, of a register, where the lowest `drop` bits
 * are dropped first, or of the memory at base + (index << shift) + displacement. Registers are
 * numbered as the 64-bit words of struct user_regs_struct, which the kernel's struct pt_regs begins
 * with. A symbol is memory that has the instruction pointer as base, which is the address of the
 * marker when that is hit.
 */
struct usdt_arg {
	uint8_t size; /* bytes: 1, 2, 4 or 8 */
	bool is_signed, is_float;
	uint8_t where;	/* enum usdt_where */
	uint8_t reg;	/* the register, or the base */
	uint8_t index;	/* of memory */
	uint8_t shift;	/* of the index, bits */
	uint8_t drop;	/* of a register, bits: 8 or 0 */
	int64_t number; /* the constant, or the displacement */
};

/* Reads an operand from `t`, where its errors remain; *ret has its size, and no register. A symbol
 * is refused (-ENOTSUP) without a site, or if that does not find it. */
void usdt_operand_read(struct usdt_text *t, struct usdt_arg *ret);
/* These registers, by number. */
uint8_t usdt_stack_pointer(void);
uint8_t usdt_frame_pointer(void);

#endif
