/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which language runtime a binary holds, told by its symbols: OCaml 5's releases differ in the
 * ids of their events, and each exports a function that the one before it had not. The symbols are
 * in .dynsym, which survives strip; .symtab is the second place.
 */
#ifndef PROC_RUNTIME_H
#define PROC_RUNTIME_H

#include <ebtrace/cursor.h>
#include <sys/types.h>

/* The OCaml release in an ELF file; EBT_RELEASE_AUTO: none, or not an ELF file. `fd` stays open. */
enum ebt_release runtime_ocaml_release(int fd);
/* The same of a file that is open already. */
struct elf;
enum ebt_release runtime_elf_release(struct elf *elf);
/* The same of a process: of its executable, or of a library that it has mapped. */
enum ebt_release runtime_process_release(pid_t pid);

#endif
