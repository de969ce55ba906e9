/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/ocaml/code.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "elf/insn_x86_64.h"

#define CODE_BYTES 160 /* of a function that are decoded */
#define CODE_STEPS 32
#define INSN_BYTES 15	/* of an instruction, at most */
#define BODY_BYTES 4096 /* of a function that are searched for calls */
#define CALL	   0xe8

const uint32_t ocaml_code_offset_slot = R_X86_64_TPOFF64;
const uint32_t ocaml_code_module_slot = R_X86_64_DTPMOD64;

/* The program's thread-local storage ends at the thread pointer. */
int64_t ocaml_code_tls_offset(struct elf *elf, uint64_t value)
{
	return (int64_t)(value - elf_tls_bytes(elf));
}

struct code {
	uint64_t address; /* of the next instruction */
	uint8_t bytes[CODE_BYTES];
	size_t size, at;
};

static int code_open(struct elf *elf, uint64_t address, struct code *ret)
{
	int n = elf_read(elf, address, ret->bytes, sizeof(ret->bytes));
	ret->address = address;
	ret->size = n > 0 ? (size_t)n : 0;
	ret->at = 0;
	return n > 0 ? 0 : -ENOTSUP;
}

static bool code_next(struct code *c, struct insn *ret)
{
	if (!insn_decode(c->bytes + c->at, c->size - c->at, ret))
		return false;
	c->at += ret->length;
	c->address += ret->length;
	return true;
}

static bool loads_word(const struct insn *in)
{
	return in->opcode == 0x8b && in->wide && in->memory && !in->fs;
}

/*
 * Walks down a function to the first instruction that the kernel emulates, while all instructions
 * before it are always executed and the arguments stay in their registers. The flag that the
 * function tests first is the ring's; a probe can read it from %rax if it is still there.
 */
void ocaml_code_site(struct elf *elf, uint64_t entry, unsigned arguments, uint64_t *flag,
		     struct ocaml_code_site *ret)
{
	static const uint32_t in_order[] = {0, 1u << INSN_DI, 1u << INSN_DI | 1u << INSN_SI,
					    1u << INSN_DI | 1u << INSN_SI | 1u << INSN_DX};
	struct code c;
	struct insn in;
	bool in_ax = false;
	*ret = (struct ocaml_code_site){.offset = elf_offset(elf, entry), .address = entry};
	if (code_open(elf, entry, &c))
		return;
	for (int i = 0; i < CODE_STEPS; i++) {
		uint64_t here = c.address;
		if (!code_next(&c, &in))
			return;
		if (in.emulated) {
			ret->offset = elf_offset(elf, here);
			ret->address = here;
			ret->emulated = true;
			ret->flag_in_ax = in_ax;
		}
		if (in.emulated || in.ends || in.writes & in_order[arguments])
			return;
		if (in.writes & 1u << INSN_AX)
			in_ax = false;
		if (!loads_word(&in) || !in.rip)
			continue;
		uint64_t loaded = c.address + (uint64_t)(int64_t)in.disp;
		if (!*flag)
			*flag = loaded;
		in_ax |= loaded == *flag && in.reg == INSN_AX;
	}
}

/* `cmp $0, flag(%rip)`, or the load that ocaml_code_site() found. */
uint64_t ocaml_code_flag(struct elf *elf, uint64_t entry)
{
	struct code c;
	struct insn in;
	if (code_open(elf, entry, &c))
		return 0;
	for (int i = 0; i < CODE_STEPS && code_next(&c, &in) && !in.ends; i++) {
		bool compares = (in.opcode == 0x83 || in.opcode == 0x81) && in.reg == 7;
		if (in.memory && in.rip && (compares || loads_word(&in)))
			return c.address + (uint64_t)(int64_t)in.disp;
	}
	return 0;
}

/* The content of a register while the domain's number is computed. */
enum holds { HOLDS_NOTHING, HOLDS_OFFSET, HOLDS_SLOT, HOLDS_STATE, HOLDS_STATE_OF_SLOT };

struct value {
	enum holds what;
	int64_t number;
};

/* Interprets one instruction. True: it reads the number from the state, at *ret_offset. */
static bool follow_value(const struct insn *in, uint64_t next, struct value reg[16],
			 struct value *ret_state, uint32_t *ret_offset)
{
	struct value from = in->memory && in->base < 16 ? reg[in->base] : (struct value){0};
	struct value to = {0};
	bool loads = in->has_rm && in->memory && (in->opcode == 0x8b || in->opcode == 0x63);
	if (in->opcode == 0xc7 && !in->memory)
		to = (struct value){HOLDS_OFFSET, in->imm};
	else if (loads && in->fs && in->base == INSN_NO_BASE)
		to = (struct value){HOLDS_STATE, in->disp};
	else if (loads && in->fs && !in->disp && from.what == HOLDS_OFFSET)
		to = (struct value){HOLDS_STATE, from.number};
	else if (loads && in->fs && !in->disp && from.what == HOLDS_SLOT)
		to = (struct value){HOLDS_STATE_OF_SLOT, from.number};
	else if (loads && in->rip)
		to = (struct value){HOLDS_SLOT, (int64_t)(next + (uint64_t)(int64_t)in->disp)};
	else if (loads && !in->fs && in->disp >= 0 && from.what >= HOLDS_STATE) {
		*ret_state = from;
		*ret_offset = (uint32_t)in->disp;
		return true;
	}
	uint8_t target = in->opcode == 0xc7 ? in->rm : in->reg;
	if (loads || (in->opcode == 0xc7 && !in->memory))
		reg[target] = to;
	return false;
}

/* caml_ml_domain_index() returns the number: find out from where. */
bool ocaml_code_read_index(struct elf *elf, uint64_t entry, struct ocaml_code_index *ret)
{
	struct code c;
	struct insn in;
	struct value reg[16] = {0}, state;
	uint32_t id_offset;
	if (code_open(elf, entry, &c))
		return false;
	for (int i = 0; i < CODE_STEPS && code_next(&c, &in) && !in.ends; i++) {
		if (!follow_value(&in, c.address, reg, &state, &id_offset))
			continue;
		*ret = (struct ocaml_code_index){.by_slot = state.what == HOLDS_STATE_OF_SLOT,
						 .offset = state.number,
						 .id_offset = id_offset};
		return true;
	}
	return false;
}

uint64_t ocaml_code_table(struct elf *elf, uint64_t entry, bool first)
{
	struct code c;
	struct insn in;
	uint64_t lowest = 0;
	if (code_open(elf, entry, &c))
		return 0;
	for (int i = 0; i < CODE_STEPS && code_next(&c, &in) && !in.ends; i++) {
		uint64_t at = c.address + (uint64_t)(int64_t)in.disp;
		if (!in.has_rm || !in.memory || !in.rip)
			continue;
		if (!lowest || at < lowest)
			lowest = at;
		if (first)
			break;
	}
	return lowest;
}

bool ocaml_code_call(struct elf *elf, uint64_t entry, uint64_t size, uint64_t target,
		     struct ocaml_code_site *ret)
{
	uint64_t at = entry, end = entry + (size < BODY_BYTES ? size : BODY_BYTES);
	struct code c;
	struct insn in;
	while (at < end) {
		if (code_open(elf, at, &c))
			return false;
		do {
			at = c.address;
			if (!code_next(&c, &in))
				return false;
			if (in.opcode != CALL || c.address + (uint64_t)in.imm != target)
				continue;
			*ret = (struct ocaml_code_site){.offset = elf_offset(elf, at),
							.address = at,
							.emulated = in.emulated};
			return ret->offset && ret->emulated;
		} while (c.address < end && c.size - c.at >= INSN_BYTES);
		at = c.address;
	}
	return false;
}

bool ocaml_code_pushes_frame(struct elf *elf, uint64_t entry)
{
	struct code c;
	struct insn in;
	if (code_open(elf, entry, &c) || !code_next(&c, &in))
		return false;
	return c.bytes[0] == 0x50 + INSN_BP && in.length == 1;
}
