/* SPDX-License-Identifier: BSD-2-Clause */
/* Frame descriptors of OCaml in any memory. */
#include "tests/fuzz/ocaml_frames_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ocaml_frames_body(data, size);
	return 0;
}
