/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bpf/attachers.h"

const struct attacher *const attachers[ATTACHERS] = {&attach_markers, &attach_ocaml,
						     &attach_alloc,   &attach_ocaml_alloc,
						     &attach_usdt,    &attach_ocaml_samples};
