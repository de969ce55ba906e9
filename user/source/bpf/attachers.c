// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/attach_alloc.h"
#include "source/bpf/attach_markers.h"
#include "source/bpf/attach_ocaml.h"
#include "source/bpf/attach_ocaml_alloc.h"

const struct attacher *const attachers[ATTACHERS] = {&attach_markers, &attach_ocaml, &attach_alloc,
						     &attach_ocaml_alloc};
