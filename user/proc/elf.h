/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is asked of an ELF file: symbols by name, its bytes by address, its thread-local storage,
 * the slots that the dynamic linker fills. Files of this machine alone. The file may
 * be anything and may change under us: it is read, never mapped, and every count is bounded.
 */
#ifndef PROC_ELF_H
#define PROC_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf;

struct elf_symbol {
	const char *name; /* set by the caller */
	bool found;
	uint64_t
		value; /* address in the file's own space; of a thread-local one: offset in its block */
	uint64_t size;
	bool thread_local;
};

/* The descriptor stays the caller's and open. 0, -ENOEXEC: no ELF file of this machine (machine.h
 * tells which), or -ENOMEM. */
int elf_open(int fd, struct elf **ret);
void elf_close(struct elf *e);
/* Sections are read up to so many bytes in all, of which there is a bound without this, too. */
void elf_limit(struct elf *e, uint64_t bytes);
uint64_t elf_used(const struct elf *e);	   /* bytes of sections read so far */
bool elf_was_limited(const struct elf *e); /* a section was left out */
/* Looks in .dynsym, then in .symtab for what is missing. Returns how many of them are defined. */
unsigned elf_find(struct elf *e, struct elf_symbol *symbol, unsigned count);
/* Reads up to `size` bytes of what is loaded at an address. How many there are, or -errno. */
int elf_read(struct elf *e, uint64_t address, void *ret, size_t size);
/* Offset in the file of what is loaded at an address; 0: nothing is. */
uint64_t elf_offset(struct elf *e, uint64_t address);
/* Address of what is loaded from an offset in the file; 0: nothing is. */
uint64_t elf_address(struct elf *e, uint64_t offset);
/* A program, and not a shared library. */
bool elf_is_program(struct elf *e);
/* Size of the thread-local block, rounded up to its alignment; 0: none. */
uint64_t elf_tls_bytes(struct elf *e);
/* Address of the slot with this x86-64 relocation type for the symbol; 0: none. */
uint64_t elf_slot(struct elf *e, uint32_t type, const char *symbol);

/* True if it is linked to a shared library whose name begins so. */
bool elf_needs(struct elf *e, const char *prefix);

#endif
