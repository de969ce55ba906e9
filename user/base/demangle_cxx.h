/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust, through libiberty. Contract: demangle.h. */
#ifndef BASE_DEMANGLE_CXX_H
#define BASE_DEMANGLE_CXX_H

#include <stddef.h>

size_t demangle_cxx(const char *name, char *ret, size_t cap);

#endif
