/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/ocaml/allocs.h"

#include <errno.h>

#include "elf/elf.h"
#include "runtime/ocaml/code.h"

#define OCAML_ALLOC_FUNCTIONS 6

static const struct {
	const char *symbol;
	enum ocaml_alloc_function function;
	unsigned arguments; /* that must be intact */
} functions[OCAML_ALLOC_FUNCTIONS] = {
	{"caml_alloc_small_dispatch", OCAML_ALLOC_SMALL, 3},
	{"caml_alloc_shr", OCAML_ALLOC_LARGE, 1},
	{"caml_alloc_shr_reserved", OCAML_ALLOC_LARGE, 1},
	{"caml_alloc_shr_noexc", OCAML_ALLOC_LARGE, 1},
	{"caml_ev_lifecycle", OCAML_ALLOC_LIFE, 1},
	{"caml_do_exit", OCAML_ALLOC_EXIT, 0},
};
/* Functions that read a marshalled value. One of more than 256 words is allocated outside of the
 * minor heap, object by object, by none of the functions above. All of it is allocated when they
 * call PENDING, at their end. */
#define OCAML_INPUTS 2
static const char *const inputs[OCAML_INPUTS] = {"caml_input_val", "caml_input_val_from_bytes"};

/* The first and the last of the functions that call C and save where OCaml's stack is. */
#define OCAML_GLUE 3
static const char *const glue[] = {"caml_call_realloc_stack", "caml_call_gc",
				   "caml_c_call_stack_args"};

enum {
	TABLE = OCAML_ALLOC_FUNCTIONS,
	CALL_GC,
	PENDING,
	INPUTS,
	GLUE = INPUTS + OCAML_INPUTS,
	SYMBOLS = GLUE + OCAML_GLUE,
};

/* From a domain's number to the words that it counts when its minor heap is emptied
 * (domain_state.tbl). */
static uint32_t words_behind_id(unsigned minor)
{
	return minor == 5 ? 13 * 8 : 12 * 8;
}

/* A large allocation can be frequent: its function is not single-stepped. */
static void add_sites(struct elf *elf, const struct elf_symbol *symbol, bool finds_domain,
		      struct ocaml_allocs *ret)
{
	for (unsigned i = 0; i < OCAML_ALLOC_FUNCTIONS; i++) {
		struct ocaml_code_site at;
		uint64_t flag = 0;
		bool is_small = functions[i].function == OCAML_ALLOC_SMALL;
		if (!symbol[i].found || (!is_small && !finds_domain))
			continue;
		ocaml_code_site(elf, symbol[i].value, functions[i].arguments, &flag, &at);
		if (at.offset && (at.emulated || functions[i].function != OCAML_ALLOC_LARGE))
			ret->site[ret->sites++] = (struct ocaml_alloc_site){
				.function = functions[i].function, .offset = at.offset};
	}
}

/* Both ends of a function that reads, or none. */
static void add_inputs(struct elf *elf, const struct elf_symbol *symbol, struct ocaml_allocs *ret)
{
	for (unsigned i = 0; i < OCAML_INPUTS; i++) {
		const struct elf_symbol *input = &symbol[INPUTS + i];
		struct ocaml_code_site begin, end;
		uint64_t flag = 0;
		if (!input->found || !symbol[PENDING].found ||
		    !ocaml_code_call(elf, input->value, input->size, symbol[PENDING].value, &end))
			continue;
		ocaml_code_site(elf, input->value, 0, &flag, &begin);
		if (!begin.offset || !begin.emulated)
			continue;
		ret->site[ret->sites++] = (struct ocaml_alloc_site){.function = OCAML_ALLOC_INPUT,
								    .offset = begin.offset};
		ret->site[ret->sites++] = (struct ocaml_alloc_site){.function = OCAML_ALLOC_READ,
								    .offset = end.offset};
	}
}

static void find_glue(const struct elf_symbol *symbol, struct ocaml_allocs *ret)
{
	for (unsigned i = 0; i < OCAML_GLUE; i++) {
		const struct elf_symbol *s = &symbol[GLUE + i];
		if (!s->found)
			continue;
		if (!ret->glue || s->value < ret->glue)
			ret->glue = s->value;
		if (s->value + s->size > ret->glue_end)
			ret->glue_end = s->value + s->size;
	}
}

static int read_allocs(struct elf *elf, struct ocaml_runtime *r, struct ocaml_allocs *ret)
{
	struct elf_symbol symbol[SYMBOLS] = {
		[TABLE] = {.name = "caml_get_frame_descrs"},
		[CALL_GC] = {.name = "caml_call_gc"},
		[PENDING] = {.name = "caml_process_pending_actions"},
	};
	for (unsigned i = 0; i < OCAML_ALLOC_FUNCTIONS; i++)
		symbol[i].name = functions[i].symbol;
	for (unsigned i = 0; i < OCAML_INPUTS; i++)
		symbol[INPUTS + i].name = inputs[i];
	for (unsigned i = 0; i < OCAML_GLUE; i++)
		symbol[GLUE + i].name = glue[i];
	elf_find(elf, symbol, SYMBOLS);
	ocaml_probes_use_state(elf, r);
	if (!symbol[0].found || !symbol[TABLE].found || !symbol[CALL_GC].found)
		return -ENOENT;
	bool is_5_0 = r->version.minor == 0;
	*ret = (struct ocaml_allocs){
		.frames = ocaml_code_table(elf, symbol[TABLE].value, is_5_0),
		.is_indirect = is_5_0,
		.trigger = is_5_0 ? 16 : 32,
		.minor_words = r->id_offset + words_behind_id(r->version.minor),
		.allocated_words = is_5_0 ? 15 * 8 : 16 * 8,
		.current_stack = is_5_0 ? 32 : 40,
		.c_stack = is_5_0 ? 56 : 64,
		.first_frame = ocaml_code_pushes_frame(elf, symbol[CALL_GC].value) ? 16 : 8,
	};
	find_glue(symbol, ret);
	if (!ret->frames || !r->id_offset)
		return -ENOTSUP;
	add_sites(elf, symbol, r->tls != OCAML_TLS_NONE, ret);
	if (r->tls != OCAML_TLS_NONE)
		add_inputs(elf, symbol, ret);
	return ret->sites && ret->site[0].function == OCAML_ALLOC_SMALL ? 0 : -ENOTSUP;
}

int ocaml_allocs_read(int fd, struct ocaml_runtime *r, struct ocaml_allocs *ret)
{
	struct ocaml_allocs allocs;
	struct elf *elf;
	int err = elf_open(fd, &elf);
	if (err)
		return err;
	err = read_allocs(elf, r, &allocs);
	elf_close(elf);
	if (!err)
		*ret = allocs;
	return err;
}
