/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/ocaml/probes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf.h"
#include "proc/memory_reader.h"
#include "runtime/ocaml/code.h"
#include "runtime/ocaml/version.h"

static const struct {
	const char *symbol;
	unsigned arguments; /* number of arguments that must be intact, from the first on */
} functions[OCAML_FUNCTIONS] = {
	[OCAML_BEGIN] = {"caml_ev_begin", 1},
	[OCAML_END] = {"caml_ev_end", 1},
	[OCAML_COUNTER] = {"caml_ev_counter", 2},
	[OCAML_LIFECYCLE] = {"caml_ev_lifecycle", 2},
	[OCAML_ALLOC_FLUSH] = {"caml_ev_alloc_flush", 0},
	[OCAML_USER_WRITE] = {"caml_runtime_events_user_write", 3},
};

/* The other symbols, behind those of the functions. */
enum { FLAG = OCAML_FUNCTIONS, STATE, INDEX, SYMBOLS };

/* The offset of the domain's number in its state (domain_state.tbl); 0: not known. */
static uint32_t id_offset_of(struct runtime_version version)
{
	static const uint32_t of_minor[] = {35 * 8, 35 * 8, 35 * 8, 36 * 8, 40 * 8};
	bool known = version.language && version.minor < sizeof(of_minor) / sizeof(*of_minor);
	return known ? of_minor[version.minor] : 0;
}

static void read_state(struct elf *elf, const struct elf_symbol *state, uint32_t id_offset,
		       struct ocaml_runtime *r)
{
	r->tls = OCAML_TLS_NONE;
	r->id_offset = id_offset;
	if (!state->found || !state->thread_local || !r->id_offset)
		return;
	if (elf_is_program(elf)) {
		r->tls = OCAML_TLS_STATIC;
		r->offset = ocaml_code_tls_offset(elf, state->value);
		return;
	}
	uint64_t slot = elf_slot(elf, ocaml_code_offset_slot, state->name);
	r->tls = slot ? OCAML_TLS_SLOT : OCAML_TLS_NONE;
	if (!slot) {
		slot = elf_slot(elf, ocaml_code_module_slot, state->name);
		r->tls = slot ? OCAML_TLS_MODULE : OCAML_TLS_NONE;
		r->in_module = state->value;
	}
	r->offset = (int64_t)slot;
}

void ocaml_probes_use_state(struct elf *elf, struct ocaml_runtime *r)
{
	struct elf_symbol symbol[] = {{.name = "caml_state"}, {.name = "domain_self"}};
	const struct elf_symbol *state = &symbol[0], *self = &symbol[1];
	struct runtime_version version = r->version;
	/* In 5.5 the number is not read there: that the state begins as in 5.4 is enough. */
	if (version.minor == 5)
		version.minor = 4;
	elf_find(elf, symbol, 2);
	read_state(elf, state, id_offset_of(version), r);
	if (state->found && self->found && self->thread_local)
		r->self = (int32_t)((int64_t)self->value - (int64_t)state->value);
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
	r->version = ocaml_version_read_elf(elf);
	r->is_program = elf_is_program(elf);
	r->flag = symbol[FLAG].found ? symbol[FLAG].value
				     : ocaml_code_flag(elf, symbol[OCAML_BEGIN].value);
	if (!r->flag)
		return -ENOTSUP;
	for (unsigned i = 0; i < OCAML_FUNCTIONS; i++) {
		struct ocaml_site *site = &r->site[r->sites];
		if (!symbol[i].found)
			continue;
		struct ocaml_code_site at;
		ocaml_code_site(elf, symbol[i].value, functions[i].arguments, &r->flag, &at);
		*site = (struct ocaml_site){.function = (enum ocaml_function)i,
					    .offset = at.offset,
					    .address = at.address,
					    .emulated = at.emulated,
					    .flag_in_ax = at.flag_in_ax};
		r->sites += site->offset != 0;
	}
	struct ocaml_code_index index;
	if (!symbol[INDEX].found || !ocaml_code_read_index(elf, symbol[INDEX].value, &index)) {
		read_state(elf, &symbol[STATE], id_offset_of(r->version), r);
		return 0;
	}
	r->tls = index.by_slot ? OCAML_TLS_SLOT : OCAML_TLS_STATIC;
	r->offset = index.offset;
	r->id_offset = index.id_offset;
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

void ocaml_probes_locate(int fd, const struct ocaml_runtime *r, struct memory_reader *memory,
			 pid_t pid, const struct maps_entry *e, struct ocaml_location *ret)
{
	struct elf *elf;
	*ret = (struct ocaml_location){.tls = OCAML_TLS_NONE};
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
	if (memory_reader_read(memory, pid, "mem", (uint64_t)r->offset + bias, &word,
			       sizeof(word)) != sizeof(word)) {
		ret->tls = OCAML_TLS_NONE;
	} else if (r->tls == OCAML_TLS_SLOT) {
		ret->offset = (int64_t)word;
	} else {
		ret->module = word;
		ret->offset = (int64_t)r->in_module;
	}
}

int ocaml_probes_ring_is_on(struct memory_reader *memory, pid_t pid, const struct ocaml_location *p)
{
	uint64_t flag;
	ssize_t n = memory_reader_read(memory, pid, "mem", p->flag, &flag, sizeof(flag));
	return n < 0 ? (int)n : n != sizeof(flag) ? -EFAULT : flag != 0;
}

void ocaml_probes_expect_ring(struct memory_reader *memory, pid_t pid,
			      const struct ocaml_location *p)
{
	memory_reader_expect(memory, pid, "mem", p->flag, sizeof(uint64_t));
}
