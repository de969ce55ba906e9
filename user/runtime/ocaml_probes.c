/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/ocaml_probes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc/elf.h"
#include "proc/insn.h"
#include "runtime/ocaml_version.h"

#define CODE_BYTES 160 /* of a function that are looked at */
#define CODE_STEPS 32

static const struct {
	const char *symbol;
	uint32_t arguments; /* registers that must be intact */
} functions[OCAML_FUNCTIONS] = {
	[OCAML_BEGIN] = {"caml_ev_begin", 1u << INSN_DI},
	[OCAML_END] = {"caml_ev_end", 1u << INSN_DI},
	[OCAML_COUNTER] = {"caml_ev_counter", 1u << INSN_DI | 1u << INSN_SI},
	[OCAML_LIFECYCLE] = {"caml_ev_lifecycle", 1u << INSN_DI | 1u << INSN_SI},
	[OCAML_ALLOC_FLUSH] = {"caml_ev_alloc_flush", 0},
	[OCAML_USER_WRITE] = {"caml_runtime_events_user_write",
			      1u << INSN_DI | 1u << INSN_SI | 1u << INSN_DX},
};

/* The rest of what is looked up, behind the functions. */
enum { FLAG = OCAML_FUNCTIONS, STATE, INDEX, SYMBOLS };

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
 * Walks down a function to the first instruction that the kernel emulates, as long as everything
 * before it has been executed and the arguments are where the caller has put them. The flag that
 * the function tests first is the ring's: where it is still in %rax, that is worth knowing.
 */
static void choose_site(struct elf *elf, uint64_t entry, uint32_t arguments, uint64_t *flag,
			struct ocaml_site *ret)
{
	struct code c;
	struct insn in;
	bool in_ax = false;
	ret->offset = elf_offset(elf, entry);
	ret->address = entry;
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
		if (in.emulated || in.ends || in.writes & arguments)
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

/* `cmp $0, flag(%rip)`, or the load that choose_site() has seen. */
static uint64_t find_flag(struct elf *elf, uint64_t entry)
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

/* What a register holds on the way to the domain's number. */
enum holds { HOLDS_NOTHING, HOLDS_OFFSET, HOLDS_SLOT, HOLDS_STATE, HOLDS_STATE_OF_SLOT };

struct value {
	enum holds what;
	int64_t number;
};

/* One step of it. True: the instruction reads the number out of the state, at *ret_offset. */
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

/* caml_ml_domain_index() returns the number that we want: do what it does. */
static bool read_index(struct elf *elf, uint64_t entry, struct ocaml_runtime *r)
{
	struct code c;
	struct insn in;
	struct value reg[16] = {0}, state;
	if (code_open(elf, entry, &c))
		return false;
	for (int i = 0; i < CODE_STEPS && code_next(&c, &in) && !in.ends; i++) {
		if (!follow_value(&in, c.address, reg, &state, &r->id_offset))
			continue;
		r->tls = state.what == HOLDS_STATE_OF_SLOT ? OCAML_TLS_SLOT : OCAML_TLS_STATIC;
		r->offset = state.number;
		return true;
	}
	return false;
}

/* Where the domain's number stands in its state (domain_state.tbl); 0: not known. */
static uint32_t id_offset_of(enum ebt_release release)
{
	switch (release) {
	case EBT_RELEASE_OCAML_5_0:
	case EBT_RELEASE_OCAML_5_1:
	case EBT_RELEASE_OCAML_5_2:
		return 35 * 8;
	case EBT_RELEASE_OCAML_5_3:
		return 36 * 8;
	case EBT_RELEASE_OCAML_5_4:
		return 40 * 8;
	default:
		return 0;
	}
}

/* Where caml_state lies, by its symbol. */
static void read_state(struct elf *elf, const struct elf_symbol *state, struct ocaml_runtime *r)
{
	r->id_offset = id_offset_of(r->release);
	if (!state->found || !state->thread_local || !r->id_offset)
		return;
	if (elf_is_program(elf)) {
		r->tls = OCAML_TLS_STATIC;
		r->offset = (int64_t)(state->value - elf_tls_bytes(elf));
		return;
	}
	uint64_t slot = elf_slot(elf, R_X86_64_TPOFF64, state->name);
	r->tls = slot ? OCAML_TLS_SLOT : OCAML_TLS_NONE;
	if (!slot) {
		slot = elf_slot(elf, R_X86_64_DTPMOD64, state->name);
		r->tls = slot ? OCAML_TLS_MODULE : OCAML_TLS_NONE;
		r->in_module = state->value;
	}
	r->offset = (int64_t)slot;
}

static int read_runtime(struct elf *elf, struct ocaml_runtime *r)
{
	struct elf_symbol symbol[SYMBOLS] = {
		[FLAG] = {.name = "runtime_events_enabled"},
		[STATE] = {.name = "caml_state"},
		[INDEX] = {.name = "caml_ml_domain_index"},
	};
	for (unsigned i = 0; i < OCAML_FUNCTIONS; i++)
		symbol[i].name = functions[i].symbol;
	elf_find(elf, symbol, SYMBOLS);
	if (!symbol[OCAML_BEGIN].found || !symbol[OCAML_END].found)
		return -ENOENT;
	r->release = ocaml_version_read_elf(elf);
	r->is_program = elf_is_program(elf);
	r->flag =
		symbol[FLAG].found ? symbol[FLAG].value : find_flag(elf, symbol[OCAML_BEGIN].value);
	if (!r->flag)
		return -ENOTSUP;
	for (unsigned i = 0; i < OCAML_FUNCTIONS; i++) {
		struct ocaml_site *site = &r->site[r->sites];
		if (!symbol[i].found)
			continue;
		site->function = (enum ocaml_function)i;
		choose_site(elf, symbol[i].value, functions[i].arguments, &r->flag, site);
		r->sites += site->offset != 0;
	}
	if (!symbol[INDEX].found || !read_index(elf, symbol[INDEX].value, r))
		read_state(elf, &symbol[STATE], r);
	return 0;
}

int ocaml_probes_read_elf(struct elf *elf, struct ocaml_runtime *ret)
{
	struct ocaml_runtime r = {0};
	int err = read_runtime(elf, &r);
	if (!err)
		*ret = r;
	return err;
}

int ocaml_probes_read(int fd, struct ocaml_runtime *ret)
{
	struct elf *elf;
	int err = elf_open(fd, &elf);
	if (err)
		return err;
	err = ocaml_probes_read_elf(elf, ret);
	elf_close(elf);
	return err;
}

static int read_memory(pid_t pid, uint64_t address, void *ret, size_t size)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = pread(fd, ret, size, (off_t)address);
	int err = n < 0 ? -errno : (size_t)n == size ? 0 : -EFAULT;
	close(fd);
	return err;
}

void ocaml_probes_place(int fd, const struct ocaml_runtime *r, pid_t pid,
			const struct maps_entry *e, struct ocaml_place *ret)
{
	struct elf *elf;
	*ret = (struct ocaml_place){.tls = OCAML_TLS_NONE};
	if (elf_open(fd, &elf))
		return;
	uint64_t bias = e->start - elf_address(elf, e->offset);
	elf_close(elf);
	ret->flag = r->flag + bias;
	ret->tls = r->tls == OCAML_TLS_SLOT ? OCAML_TLS_STATIC : r->tls;
	ret->offset = r->offset;
	if (r->tls != OCAML_TLS_SLOT && r->tls != OCAML_TLS_MODULE)
		return;
	uint64_t word;
	if (read_memory(pid, (uint64_t)r->offset + bias, &word, sizeof(word))) {
		ret->tls = OCAML_TLS_NONE;
	} else if (r->tls == OCAML_TLS_SLOT) {
		ret->offset = (int64_t)word;
	} else {
		ret->module = word;
		ret->offset = (int64_t)r->in_module;
	}
}

int ocaml_probes_ring_is_on(pid_t pid, const struct ocaml_place *p)
{
	uint64_t flag;
	int err = read_memory(pid, p->flag, &flag, sizeof(flag));
	return err ? err : flag != 0;
}
