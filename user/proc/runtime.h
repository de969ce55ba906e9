/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which language runtime a binary holds, told by its symbols: OCaml 5's releases differ in the
 * ids of their events, and each exports a function that the one before it had not. The symbols are
 * in .dynsym, which survives strip; .symtab is the second place.
 */
#ifndef PROC_RUNTIME_H
#define PROC_RUNTIME_H

#include <ebtrace/cursor.h>
#include <stdbool.h>

#define RUNTIME_MAGIC_BYTES 13

/* The OCaml release in an ELF file; EBT_RELEASE_AUTO: none, or not an ELF file. `fd` stays open. */
enum ebt_release runtime_ocaml_release(int fd);
/* The same of a file that is open already. */
struct elf;
enum ebt_release runtime_elf_release(struct elf *elf);

/* A runtime of OCaml before 5.0, which has no runtime events, is in this ELF file. */
bool runtime_is_ocaml_4(int fd);
/* Bytecode for ocamlrun: the release of OCaml, 4 or 5, that the magic number at the file's end tells,
 * which is written to ret_magic; 0: it is none. */
unsigned runtime_bytecode(int fd, char *ret_magic);

#endif
