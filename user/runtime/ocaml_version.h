/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which OCaml a file holds, by its symbols: the releases of OCaml 5 differ in the ids of their events,
 * and each exports a function that the one before it had not. The symbols are in .dynsym, which
 * survives strip, or else in .symtab.
 */
#ifndef RUNTIME_OCAML_VERSION_H
#define RUNTIME_OCAML_VERSION_H

#include <ebtrace/cursor.h>
#include <stdbool.h>

#define OCAML_MAGIC_BYTES 13

struct elf;

/* The release of OCaml 5 in an ELF file; EBT_RELEASE_AUTO: none. */
enum ebt_release ocaml_version_read_elf(struct elf *elf);

/* Of an open file. A runtime of OCaml before 5.0, which has no runtime events, is in this ELF file. */
bool ocaml_version_is_4(int fd);
/* Bytecode for ocamlrun: the release of OCaml, 4 or 5, by the magic number at the file's end,
 * which is written to ret_magic; 0: it is none. */
unsigned ocaml_version_bytecode(int fd, char *ret_magic);
/* It is an OCaml 5 program none of whose symbols are left. */
bool ocaml_version_is_stripped(int fd);

#endif
