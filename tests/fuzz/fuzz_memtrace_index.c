/* SPDX-License-Identifier: BSD-2-Clause */
/* The index of the packets of a memtrace trace of any bytes. */
#include "tests/fuzz/memtrace_index_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		free(memtrace_index_body(data, size));
	return 0;
}
