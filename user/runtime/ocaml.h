/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OCaml 5: which release a file holds (ocaml_version.h) and where it can be probed (ocaml_probes.h);
 * why a program of OCaml 4 or without symbols cannot.
 */
#ifndef RUNTIME_OCAML_H
#define RUNTIME_OCAML_H

#include "runtime/runtime.h"

extern const struct runtime runtime_ocaml;

#endif
