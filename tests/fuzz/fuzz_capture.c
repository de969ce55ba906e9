/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture, or a block's records, of any bytes. */
#include "tests/fuzz/capture_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	capture_body(data, size);
	return 0;
}
