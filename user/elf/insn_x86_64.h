/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes x86-64 instructions as far as the beginning of a compiled function needs it: the length
 * of an instruction, the general registers that it may write, its branch target, and whether the
 * kernel emulates it under a probe instead of single-stepping it, at a tenth of the cost
 * (arch/x86/kernel/uprobes.c: branches, pushes, one-byte nops). Instructions that compilers do not
 * emit there (AVX, string instructions, far jumps) are reported as unknown.
 */
#ifndef ELF_INSN_X86_64_H
#define ELF_INSN_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of registers, as instructions have them; bits of insn.writes. */
enum { INSN_AX, INSN_CX, INSN_DX, INSN_BX, INSN_SP, INSN_BP, INSN_SI, INSN_DI };

struct insn {
	uint8_t length;
	uint16_t opcode; /* 0x0fxx: of the two-byte map */
	uint32_t writes; /* general registers that it may write, a bit each; not memory */
	bool ends;	 /* the next instruction executed may not be the one behind it */
	bool emulated;
	bool wide;    /* 64-bit operand */
	bool fs;      /* its memory operand is relative to %fs */
	bool has_rm;  /* the next ones are valid */
	uint8_t reg;  /* or an extension of the opcode */
	bool memory;  /* the other operand is memory: */
	bool rip;     /* at the next instruction's address + disp */
	uint8_t base; /* else at this register + disp; INSN_NO_BASE: at disp; INSN_INDEXED: else */
	uint8_t rm;   /* it is this register */
	int32_t disp;
	int64_t imm;
};
#define INSN_NO_BASE 16
#define INSN_INDEXED 17

/* Decodes the instruction at `code`. False: unknown, or longer than `size` bytes. */
bool insn_decode(const uint8_t *code, size_t size, struct insn *ret);

#endif
