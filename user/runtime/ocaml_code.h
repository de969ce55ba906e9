/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the code of OCaml's runtime shows, processor by processor: the cheapest instruction of a
 * function at which it can be probed, and how it finds the domain of a thread. A processor whose
 * instructions are not known answers with the function's own symbol, and with nothing. The files
 * are ocaml_code_PROCESSOR.c; the code may be anything, and every loop over it is bounded.
 */
#ifndef RUNTIME_OCAML_CODE_H
#define RUNTIME_OCAML_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/elf.h"

struct ocaml_code_site {
	uint64_t offset;  /* of the instruction in the file */
	uint64_t address; /* of it in the file's own space */
	bool emulated;	  /* by the kernel: cheap */
	bool flag_in_ax;  /* the flag's value is in %rax there */
};

/* How the domain's number is read: at `id_offset` in the state that a thread's storage points to. */
struct ocaml_code_index {
	bool by_slot;	/* `offset` is the address of a slot that holds the offset */
	int64_t offset; /* of the state's address from the thread pointer */
	uint32_t id_offset;
};

/* The relocations of slots that hold an offset from the thread pointer, or a module's number. */
extern const uint32_t ocaml_code_offset_slot, ocaml_code_module_slot;

/* From the thread pointer to what a program's symbol of thread-local storage names. */
int64_t ocaml_code_tls_offset(struct elf *elf, uint64_t value);

/*
 * Where the function at `entry` is probed, so that its first `arguments` (0 to 3) are intact. If
 * *flag is 0 and the function reads the ring's flag on the way there, it is set to its address.
 */
void ocaml_code_site(struct elf *elf, uint64_t entry, unsigned arguments, uint64_t *flag,
		     struct ocaml_code_site *ret);
/* The address of the flag that the function tests first; 0: not known. */
uint64_t ocaml_code_flag(struct elf *elf, uint64_t entry);
/* What caml_ml_domain_index() at `entry` does. False: not understood. */
bool ocaml_code_read_index(struct elf *elf, uint64_t entry, struct ocaml_code_index *ret);

#endif
