/* SPDX-License-Identifier: BSD-2-Clause */
/* A memtrace trace of any bytes; the first one sets the size of the pieces and whether backtraces
 * are skipped. */
#include "tests/fuzz/memtrace_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memtrace_body b = {0};
	if (!size)
		return 0;
	memtrace_body(&b, data + 1, size - 1, 1 + data[0] / 2 * 64,
		      data[0] & 1 ? EBT_MEMTRACE_SKIP_BACKTRACES : 0);
	ebt_memtrace_reader_free(b.reader);
	return 0;
}
