/* SPDX-License-Identifier: BSD-2-Clause */
/* A page trace of any bytes; the first one sets the size of the pieces. */
#include "tests/fuzz/pagetrace_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		pagetrace_body(data + 1, size - 1, 1 + data[0] * 16);
	return 0;
}
