/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/insn_x86_64.h"

#include <string.h>

enum {
	RM = 1,	  /* has a ModRM byte */
	IMM8 = 2, /* IMM8 to IMM64: a constant of this many bits follows */
	IMM16 = 4,
	IMM32 = 8,     /* 2 bytes if the operand is narrow */
	IMM64 = 16,    /* 4 bytes, 8 if the operand is wide */
	TO_REG = 32,   /* writes the register of ModRM.reg */
	TO_RM = 64,    /* writes what ModRM.rm names */
	TO_CODE = 128, /* writes the register in the low bits of the opcode */
	ENDS = 256,
	KNOWN = 512,
};

struct reader {
	const uint8_t *p, *end;
	bool bad;
};

static uint8_t byte(struct reader *r)
{
	if (r->p == r->end) {
		r->bad = true;
		return 0;
	}
	return *r->p++;
}

static int64_t number(struct reader *r, unsigned bytes)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)byte(r) << (8 * i);
	unsigned shift = 64 - 8 * bytes;
	return bytes ? (int64_t)(v << shift) >> shift : 0;
}

/* Arithmetic: eight operations with six forms each. */
static unsigned one_byte_alu(uint8_t op)
{
	unsigned written = op >= 0x38 ? 0 : (op & 2) ? TO_REG : TO_RM;
	switch (op & 7) {
	case 0 ... 3:
		return KNOWN | RM | written;
	case 4:
		return KNOWN | IMM8;
	case 5:
		return KNOWN | IMM32;
	default:
		return 0;
	}
}

static unsigned one_byte_rm(uint8_t op)
{
	switch (op) {
	case 0x63: /* movslq */
	case 0x8a:
	case 0x8b: /* mov */
	case 0x8d: /* lea */
		return KNOWN | RM | TO_REG;
	case 0x69:
		return KNOWN | RM | IMM32 | TO_REG;
	case 0x6b:
		return KNOWN | RM | IMM8 | TO_REG;
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6: /* mov */
		return KNOWN | RM | IMM8 | TO_RM;
	case 0x81:
	case 0xc7: /* mov */
		return KNOWN | RM | IMM32 | TO_RM;
	case 0x84:
	case 0x85: /* test */
		return KNOWN | RM;
	case 0x86:
	case 0x87: /* xchg */
		return KNOWN | RM | TO_REG | TO_RM;
	case 0x88:
	case 0x89: /* mov */
	case 0xd0 ... 0xd3:
	case 0xf6: /* imm_bytes() knows the constant of their first form */
	case 0xf7:
	case 0xfe:
		return KNOWN | RM | TO_RM;
	case 0xff: /* inc, dec, push; or a jump or call through memory */
		return KNOWN | RM | TO_RM | ENDS;
	default:
		return 0;
	}
}

static unsigned one_byte(uint8_t op)
{
	switch (op) {
	case 0x00 ... 0x3f:
		return one_byte_alu(op);
	case 0x50 ... 0x57: /* push */
	case 0x90:	    /* nop */
	case 0x9c:
	case 0x9d:
	case 0xc9: /* leave */
	case 0xf4:
		return KNOWN;
	case 0x58 ... 0x5f: /* pop */
	case 0x91 ... 0x97: /* xchg with ax */
	case 0x98:	    /* these two extend ax, here and into dx */
	case 0x99:
		return KNOWN | TO_CODE;
	case 0x68:
	case 0xa9:
		return KNOWN | IMM32;
	case 0x6a:
	case 0xa8:
		return KNOWN | IMM8;
	case 0x70 ... 0x7f: /* jcc */
	case 0xeb:	    /* jmp */
		return KNOWN | IMM8 | ENDS;
	case 0xb0 ... 0xb7:
		return KNOWN | IMM8 | TO_CODE;
	case 0xb8 ... 0xbf:
		return KNOWN | IMM64 | TO_CODE;
	case 0xc2:
		return KNOWN | IMM16 | ENDS;
	case 0xc3: /* ret */
	case 0xcc:
		return KNOWN | ENDS;
	case 0xe8: /* call */
	case 0xe9: /* jmp */
		return KNOWN | IMM32 | ENDS;
	default:
		return one_byte_rm(op);
	}
}

static unsigned two_byte(uint8_t op)
{
	switch (op) {
	case 0x0b: /* ud2 */
		return KNOWN | ENDS;
	case 0x10 ... 0x17:
	case 0x1e: /* endbr64 */
	case 0x1f: /* nop */
	case 0x28 ... 0x29:
	case 0x2e ... 0x2f:
	case 0x51 ... 0x6f:
	case 0x74 ... 0x76:
	case 0x7f:
	case 0xd4 ... 0xd6:
	case 0xd8 ... 0xef:
	case 0xf1 ... 0xfe: /* vectors */
	case 0xa3:	    /* bt */
		return KNOWN | RM;
	case 0x7e: /* movd, movq to a general register */
	case 0x90 ... 0x9f:
		return KNOWN | RM | TO_RM;
	case 0x2c ... 0x2d:
	case 0x40 ... 0x50:
	case 0xaf:
	case 0xb6 ... 0xb7:
	case 0xbc ... 0xbf:
	case 0xd7:
		return KNOWN | RM | TO_REG;
	case 0x2a: /* from a general register to a vector */
		return KNOWN | RM;
	case 0x70 ... 0x73:
	case 0xc2:
	case 0xc6:
		return KNOWN | RM | IMM8;
	case 0x80 ... 0x8f: /* jcc */
		return KNOWN | IMM32 | ENDS;
	case 0xb0 ... 0xb1:
	case 0xc0 ... 0xc1: /* cmpxchg, xadd */
		return KNOWN | RM | TO_REG | TO_RM;
	case 0xba:
		return KNOWN | RM | IMM8 | TO_RM;
	default:
		return 0;
	}
}

static void decode_rm(struct reader *r, uint8_t rex, struct insn *in)
{
	uint8_t modrm = byte(r);
	uint8_t mod = modrm >> 6, rm = modrm & 7;
	in->has_rm = true;
	in->reg = (uint8_t)((modrm >> 3 & 7) | (rex & 4) << 1);
	in->rm = (uint8_t)(rm | (rex & 1) << 3);
	in->memory = mod != 3;
	if (mod == 3)
		return;
	in->base = in->rm;
	bool no_base = mod == 0 && rm == 5;
	in->rip = no_base;
	if (rm == 4) {
		uint8_t sib = byte(r);
		bool no_index = (sib >> 3 & 7) == 4 && !(rex & 2);
		no_base = mod == 0 && (sib & 7) == 5;
		in->base = (uint8_t)((sib & 7) | (rex & 1) << 3);
		if (!no_index)
			in->base = INSN_INDEXED;
		else if (no_base)
			in->base = INSN_NO_BASE;
	}
	in->disp = (int32_t)number(r, mod == 1 ? 1 : mod == 2 || no_base ? 4 : 0);
}

static unsigned imm_bytes(unsigned form, const struct insn *in, bool narrow)
{
	bool test = (in->opcode == 0xf6 || in->opcode == 0xf7) && in->reg < 2;
	if (form & IMM8 || (test && in->opcode == 0xf6))
		return 1;
	if (form & IMM16)
		return 2;
	if (form & IMM64 && in->wide)
		return 8;
	if (form & (IMM32 | IMM64) || test)
		return narrow ? 2 : 4;
	return 0;
}

static uint32_t registers_written(unsigned form, uint8_t rex, const struct insn *in)
{
	uint32_t set = 0;
	bool compares = (in->opcode == 0x80 || in->opcode == 0x81 || in->opcode == 0x83) &&
			(in->reg & 7) == 7;
	bool multiplies = (in->opcode & 0xfffe) == 0xf6;
	if (form & TO_REG)
		set |= 1u << in->reg;
	if (form & TO_RM && !in->memory && !compares)
		set |= 1u << in->rm;
	if (form & TO_CODE)
		set |= 1u << ((in->opcode & 7) | (rex & 1) << 3) | 1u << INSN_AX;
	/* Forms without ModRM work on ax; mul, div and the extensions of ax write dx too. */
	if (!(form & (RM | TO_CODE | ENDS)) && !(in->opcode >= 0x50 && in->opcode < 0x58) &&
	    in->opcode != 0x68 && in->opcode != 0x6a && in->opcode != 0x90)
		set |= 1u << INSN_AX;
	if (multiplies || in->opcode == 0x99 || (in->opcode & 0xfffe) == 0x0fb0)
		set |= 1u << INSN_AX | 1u << INSN_DX;
	if (in->opcode == 0xc9)
		set |= 1u << INSN_BP;
	return set;
}

static bool is_emulated(const struct insn *in, bool prefixed)
{
	bool jcc = (in->opcode & 0xfff0) == 0x70 || (in->opcode & 0xfff0) == 0x0f80;
	bool jump = in->opcode == 0xe8 || in->opcode == 0xe9 || in->opcode == 0xeb;
	bool push = (in->opcode & 0xfff8) == 0x50;
	return !prefixed && (jcc || jump || push || in->opcode == 0x90);
}

bool insn_decode(const uint8_t *code, size_t size, struct insn *ret)
{
	struct reader r = {.p = code, .end = code + (size < 15 ? size : 15)};
	struct insn in = {.opcode = 0};
	bool narrow = false, prefixed = false;
	uint8_t op = byte(&r), rex = 0;
	for (; op == 0x66 || op == 0xf2 || op == 0xf3 || op == 0x64 || op == 0x2e; op = byte(&r)) {
		narrow |= op == 0x66;
		in.fs |= op == 0x64;
		prefixed = true;
	}
	if ((op & 0xf0) == 0x40) {
		rex = op;
		op = byte(&r);
	}
	in.wide = rex & 8;
	unsigned form = 0;
	if (op == 0x0f) {
		op = byte(&r);
		in.opcode = 0x0f00 | op;
		form = two_byte(op);
	} else {
		in.opcode = op;
		form = one_byte(op);
	}
	if (!(form & KNOWN))
		return false;
	if (form & RM)
		decode_rm(&r, rex, &in);
	in.imm = number(&r, imm_bytes(form, &in, narrow));
	in.length = (uint8_t)(r.p - code);
	/* inc, dec and push are no jumps */
	in.ends = form & ENDS && !(in.opcode == 0xff && (in.reg < 2 || in.reg == 6));
	in.writes = registers_written(form, rex, &in);
	in.emulated = is_emulated(&in, prefixed);
	*ret = in;
	return !r.bad;
}
