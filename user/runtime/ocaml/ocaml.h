/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OCaml 5: the release in a file (version.h), the sites of its probes (probes.h), and
 * why programs of OCaml 4 or without symbols cannot be traced.
 */
#ifndef RUNTIME_OCAML_OCAML_H
#define RUNTIME_OCAML_OCAML_H

#include "runtime/runtime.h"

extern const struct runtime runtime_ocaml;

#endif
