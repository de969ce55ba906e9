/* SPDX-License-Identifier: BSD-2-Clause */
/* A module with any symbol tables. */
#include "tests/fuzz/symtab_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	symtab_body(data, size);
	return 0;
}
