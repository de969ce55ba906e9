/* SPDX-License-Identifier: BSD-2-Clause */
/* An ELF file of any bytes. */
#include "tests/fuzz/notes_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	notes_body(data, size);
	return 0;
}
