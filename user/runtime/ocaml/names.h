/* SPDX-License-Identifier: BSD-2-Clause */
/* What the linker's names of functions in a program of OCaml say. */
#ifndef RUNTIME_OCAML_NAMES_H
#define RUNTIME_OCAML_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* True for a function of OCaml. */
bool ocaml_name_is_code(const char *symbol);
/* Of a function that calls C: true if the place of OCaml's own stack was saved before, as functions
 * of the runtime do. Code of OCaml that calls a "noalloc" function does not save it, and other
 * functions of the runtime leave an older one there. */
bool ocaml_name_saves_stack(const char *symbol);
/* The name of a function of OCaml as frame descriptors have it, but for those around it: without
 * the compiler's number. False: it is none of OCaml. */
bool ocaml_name_function(const char *symbol, char *ret, size_t cap);

#endif
