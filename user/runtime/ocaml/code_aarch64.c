/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/ocaml/code.h"

#include <elf.h>

const uint32_t ocaml_code_offset_slot = R_AARCH64_TLS_TPREL;
const uint32_t ocaml_code_module_slot = R_AARCH64_TLS_DTPMOD;

#define THREAD_HEAD_BYTES 16 /* between the thread pointer and the program's thread-local storage */

int64_t ocaml_code_tls_offset(struct elf *elf, uint64_t value)
{
	(void)elf;
	return (int64_t)value + THREAD_HEAD_BYTES;
}

void ocaml_code_site(struct elf *elf, uint64_t entry, unsigned arguments, uint64_t *flag,
		     struct ocaml_code_site *ret)
{
	(void)arguments;
	(void)flag;
	*ret = (struct ocaml_code_site){.offset = elf_offset(elf, entry), .address = entry};
}

uint64_t ocaml_code_flag(struct elf *elf, uint64_t entry)
{
	(void)elf;
	(void)entry;
	return 0;
}

bool ocaml_code_read_index(struct elf *elf, uint64_t entry, struct ocaml_code_index *ret)
{
	(void)elf;
	(void)entry;
	(void)ret;
	return false;
}

uint64_t ocaml_code_table(struct elf *elf, uint64_t entry, bool first)
{
	(void)elf;
	(void)entry;
	(void)first;
	return 0;
}

bool ocaml_code_call(struct elf *elf, uint64_t entry, uint64_t size, uint64_t target,
		     struct ocaml_code_site *ret)
{
	(void)elf;
	(void)entry;
	(void)size;
	(void)target;
	(void)ret;
	return false;
}

bool ocaml_code_pushes_frame(struct elf *elf, uint64_t entry)
{
	(void)elf;
	(void)entry;
	return false;
}
