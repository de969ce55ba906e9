/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring file of any bytes. */
#include "tests/fuzz/ring_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ring_body(data, size);
	return 0;
}
