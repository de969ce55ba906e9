/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads ELF files of this machine: symbols by name, bytes by address, thread-local storage, the
 * slots that the dynamic linker fills. The file is not trusted and may change while it is read: it
 * is never mapped, and every count is bounded.
 */
#ifndef ELF_ELF_H
#define ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf;

struct elf_symbol {
	const char *name; /* set by the caller */
	bool found;
	/* Address in the file's address space; of a thread-local symbol the offset in its block. */
	uint64_t value;
	uint64_t size;
	bool thread_local;
};

/* The descriptor stays the caller's and open. 0, -ENOEXEC: not an ELF file of this machine
 * (machine.h names the other), or -ENOMEM. */
int elf_open(int fd, struct elf **ret);
void elf_close(struct elf *e);
/* Limits the bytes of sections that are read in all; there is a limit by default, too. */
void elf_limit(struct elf *e, uint64_t bytes);
uint64_t elf_used(const struct elf *e);	   /* bytes of sections read so far */
bool elf_was_limited(const struct elf *e); /* a section was not read */
/* Searches .dynsym, then .symtab for those not found. Returns the number of defined symbols. */
unsigned elf_find(struct elf *e, struct elf_symbol *symbol, unsigned count);
/* Reads up to `size` bytes that are loaded at an address. Bytes read, or -errno. */
int elf_read(struct elf *e, uint64_t address, void *ret, size_t size);
/* The file offset of the byte loaded at an address; 0: none. */
uint64_t elf_offset(struct elf *e, uint64_t address);
/* The address at which a byte of the file is loaded; 0: it is not. */
uint64_t elf_address(struct elf *e, uint64_t offset);
/* True for a program, false for a shared library. */
bool elf_is_program(struct elf *e);
/* Size of the thread-local block, rounded up to its alignment; 0: none. */
uint64_t elf_tls_bytes(struct elf *e);
/* Address of the slot with this x86-64 relocation type for the symbol; 0: none. */
uint64_t elf_slot(struct elf *e, uint32_t type, const char *symbol);

/* Writes at most the first `cap` bytes of the build id. Returns the number of all its bytes; 0: the
 * file has none. */
size_t elf_build_id(struct elf *e, void *ret, size_t cap);
/* The name of the separate debug file that the file refers to, without a folder; NULL: none. Valid
 * until elf_close(). */
const char *elf_debug_link(struct elf *e);

/* True if it has debug information of its own. */
bool elf_has_debug_info(struct elf *e);

/* True if it needs a shared library with a name that begins with `prefix`. */
bool elf_needs(struct elf *e, const char *prefix);

#endif
