/* SPDX-License-Identifier: BSD-2-Clause */
/* The argument string of a USDT note, of any bytes. */
#include "tests/fuzz/usdt_args_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	usdt_args_body(data, size);
	return 0;
}
