/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts the linker's names of functions to those of the source: C++ (Itanium ABI, with
 * parameters), Rust's older scheme without its hash, and OCaml (4.x and 5.x) with modules separated
 * by dots: camlStdlib__Map__add_123 and camlStdlib__Map.add_123 become Stdlib.Map.add_123. OCaml's
 * numbers are kept: they alone distinguish functions of one name, and functions without a name.
 *
 * Names come from traced programs. Time and memory are bounded: a C++ name that would take the
 * library long, or that has more than about 1,000 characters, is left as it is.
 */
#ifndef BASE_DEMANGLE_H
#define BASE_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_BYTES 4096 /* of a name with its NUL */

/*
 * Writes the name of the source with a NUL, at most `cap` bytes, which are at least 4; one that is
 * longer ends with "...". Returns its length; 0: the name is not mangled.
 */
size_t demangle(const char *name, char *ret, size_t cap);

#endif
