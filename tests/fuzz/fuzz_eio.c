/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of Eio, of any bytes. */
#include "tests/fuzz/eio_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	eio_body(data, size);
	return 0;
}
