/* SPDX-License-Identifier: BSD-2-Clause */
/* What all runtimes together say of a file. The descriptors stay open. */
#ifndef RUNTIME_RUNTIMES_H
#define RUNTIME_RUNTIMES_H

#include "runtime/runtime.h"

/* Asks all. `elf` is the same file, NULL: it is none. */
void runtimes_recognise(int fd, struct elf *elf, struct runtime_file *ret);
/* The release of OCaml 5 in an ELF file; AUTO: none. */
enum ebt_release runtimes_release(int fd);
/* True if a runtime is there that recognise() cannot see. */
bool runtimes_is_hidden(int fd);
/* True if a program may have a ring of one of them: in its own file or in a library of the runtime's. */
bool runtimes_may_have_ring(int fd);
/* Why nothing can be traced in a program, as struct runtime says it. False: nobody knows. */
bool runtimes_explain(int fd, char *ret_reason);

#endif
