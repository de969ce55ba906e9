/* SPDX-License-Identifier: BSD-2-Clause */
/* An ELF file of any bytes, in search of an OCaml runtime. */
#include "tests/fuzz/ocaml_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ocaml_body(data, size);
	return 0;
}
