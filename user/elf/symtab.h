/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of an ELF file by address, from its symbol tables: .symtab, else .dynsym. Of names
 * for one address the one is used that is exported and has no underscore in front.
 */
#ifndef ELF_SYMTAB_H
#define ELF_SYMTAB_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

struct symtab;

/* Keeps `elf`, which must outlive it. dynamic: use .dynsym if there is no .symtab. 0, also if there
 * is none, or -ENOMEM. */
int symtab_new(Elf *elf, bool dynamic, struct symtab **ret);
void symtab_free(struct symtab *t); /* NULL is allowed */
/* The function at an address of the file's address space; NULL: none. */
const char *symtab_find(const struct symtab *t, uint64_t address);
/* True if there are functions. */
bool symtab_has_any(const struct symtab *t);

#endif
