/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of OCaml 5 runtimes. A runtime is probed while its own ring is off, and left alone
 * while it is on: the ring then has its events, at a hundredth of the cost. Which of the two holds is
 * asked at every update; in between the BPF program itself reads the ring's flag, so no event comes
 * twice.
 */
#ifndef SOURCE_ATTACH_OCAML_H
#define SOURCE_ATTACH_OCAML_H

#include "source/attacher.h"

/* Numbers of the domains of the second runtime in a process start here, of the third at twice this. */
#define ATTACH_OCAML_DOMAINS 128

extern const struct attacher attach_ocaml;

#endif
