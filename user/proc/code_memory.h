/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of a process that maps a module: what is in the module's file is read there, as the
 * process may have ended, and all else in the process.
 */
#ifndef PROC_CODE_MEMORY_H
#define PROC_CODE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/elf.h"

struct memory_reader;

struct code_memory {
	struct elf *elf;	      /* NULL: it cannot be read */
	uint64_t bias;		      /* of the module's addresses in the process */
	struct memory_reader *reader; /* NULL: reads without a worker */
	pid_t pid;
};

/* Copies bytes at an address of the process; memory: a struct code_memory. Their number, which may
 * be less, or -errno. */
int code_memory_read(void *memory, uint64_t address, void *ret, size_t bytes);

#endif
