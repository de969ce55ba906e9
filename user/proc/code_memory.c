// SPDX-License-Identifier: BSD-2-Clause
#include "proc/code_memory.h"

#include "proc/memory_reader.h"

int code_memory_read(void *memory, uint64_t address, void *ret, size_t bytes)
{
	const struct code_memory *m = memory;
	uint64_t in_file = address - m->bias;
	if (m->elf && elf_offset(m->elf, in_file))
		return elf_read(m->elf, in_file, ret, bytes);
	return (int)memory_reader_read(m->reader, m->pid, "mem", address, ret, bytes);
}
