/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The release of OCaml in a file, by its symbols: the releases of OCaml 5 differ in the ids of
 * their events, and each exports a function that the previous one lacks. The symbols are in
 * .dynsym, which survives strip, or else in .symtab.
 */
#ifndef RUNTIME_OCAML_VERSION_H
#define RUNTIME_OCAML_VERSION_H

#include <stdbool.h>

#include "session/language.h"

#define OCAML_MAGIC_BYTES 13

struct elf;

/* The release of OCaml 5 in an ELF file; zeroes: none. */
struct runtime_version ocaml_version_read_elf(struct elf *elf);

/* True if an open ELF file contains a runtime of OCaml before 5.0, which has no runtime events. */
bool ocaml_version_is_4(int fd);
/* The major release, 4 or 5, of bytecode for ocamlrun, by the magic number at the file's end, which
 * is written to ret_magic; 0: not bytecode. */
unsigned ocaml_version_bytecode(int fd, char *ret_magic);
/* True for an OCaml 5 program from which all symbols were stripped. */
bool ocaml_version_is_stripped(int fd);

#endif
