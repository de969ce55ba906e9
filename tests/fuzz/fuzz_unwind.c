/* SPDX-License-Identifier: BSD-2-Clause */
/* A stack of any memory. */
#include "tests/fuzz/unwind_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unwind_body(data, size);
	return 0;
}
