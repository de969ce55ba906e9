/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Enough of x86-64's instruction encoding to walk over the beginning of a compiled function: how
 * long an instruction is, which general registers it may write, where it goes on, and whether the
 * kernel emulates it under a probe instead of single-stepping it, which costs the probed program
 * a tenth (arch/x86/kernel/uprobes.c: branches, pushes, one-byte nops). What compilers do not put
 * at the beginning of a function (AVX, string instructions, far jumps) is not known, and said so.
 */
#ifndef PROC_INSN_X86_64_H
#define PROC_INSN_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of registers, as instructions have them; bits of insn.writes. */
enum { INSN_AX, INSN_CX, INSN_DX, INSN_BX, INSN_SP, INSN_BP, INSN_SI, INSN_DI };

struct insn {
	uint8_t length;
	uint16_t opcode; /* 0x0fxx: of the two-byte map */
	uint32_t writes; /* general registers that it may write, a bit each; memory is not told */
	bool ends;	 /* what follows it in memory is not always what is executed next */
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

/* Decodes what begins at `code`. False: not known, or it does not end within `size` bytes. */
bool insn_decode(const uint8_t *code, size_t size, struct insn *ret);

#endif
