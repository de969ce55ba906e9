// SPDX-License-Identifier: BSD-2-Clause
#include "proc/code_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"

int code_memory_read(void *memory, uint64_t address, void *ret, size_t bytes)
{
	const struct code_memory *m = memory;
	uint64_t in_file = address - m->bias;
	if (m->elf && elf_offset(m->elf, in_file))
		return elf_read(m->elf, in_file, ret, bytes);
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/mem", m->pid);
	int fd = file_open(AT_FDCWD, path, 0);
	if (fd < 0)
		return fd;
	ssize_t n = pread(fd, ret, bytes, (off_t)address);
	int got = n < 0 ? -errno : (int)n;
	close(fd);
	return got;
}
