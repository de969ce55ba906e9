/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Analyses the machine code of OCaml's runtime: the cheapest instruction of a function at which it
 * can be probed, and how the runtime finds the domain of a thread. One file for each processor,
 * ocaml_code_PROCESSOR.c; without a decoder for the processor the site is the function's symbol,
 * and domains are not known. The code is not trusted, and every loop over it is bounded.
 */
#ifndef RUNTIME_OCAML_CODE_H
#define RUNTIME_OCAML_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf.h"

struct ocaml_code_site {
	uint64_t offset;  /* of the instruction in the file */
	uint64_t address; /* in the file's address space */
	bool emulated;	  /* the kernel emulates it instead of single-stepping */
	bool flag_in_ax;  /* the flag's value is in %rax at the site */
};

/* How to read a domain's number: at `id_offset` in its state. Thread-local storage has the address
 * of the state. */
struct ocaml_code_index {
	bool by_slot;	/* `offset` is the address of a slot that holds the offset */
	int64_t offset; /* from the thread pointer to the state's address */
	uint32_t id_offset;
};

/* Relocation types of slots with an offset from the thread pointer, and with a module's number. */
extern const uint32_t ocaml_code_offset_slot, ocaml_code_module_slot;

/* The offset from the thread pointer of a program's thread-local symbol with this value. */
int64_t ocaml_code_tls_offset(struct elf *elf, uint64_t value);

/*
 * Finds the site in the function at `entry` at which its first `arguments` (0 to 3) are intact. If
 * *flag is 0 and the function reads the ring's flag before the site, sets it to the flag's address.
 */
void ocaml_code_site(struct elf *elf, uint64_t entry, unsigned arguments, uint64_t *flag,
		     struct ocaml_code_site *ret);
/* The address of the flag that the function tests first; 0: not found. */
uint64_t ocaml_code_flag(struct elf *elf, uint64_t entry);
/* Decodes caml_ml_domain_index() at `entry`. False: unknown code. */
bool ocaml_code_read_index(struct elf *elf, uint64_t entry, struct ocaml_code_index *ret);
/* The address of the variable that a small function returns, or a pointer to it: the lowest address
 * of those that it uses, of `first` the first one. 0: unknown code. */
uint64_t ocaml_code_table(struct elf *elf, uint64_t entry, bool first);
/* The site of the first call of `target` in the function of `size` bytes at `entry`. False: it has
 * none that the kernel emulates, or unknown code before it. */
bool ocaml_code_call(struct elf *elf, uint64_t entry, uint64_t size, uint64_t target,
		     struct ocaml_code_site *ret);
/* True if the function pushes the frame pointer at once. */
bool ocaml_code_pushes_frame(struct elf *elf, uint64_t entry);

#endif
