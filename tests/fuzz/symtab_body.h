/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks up the functions of a module of any bytes in its symbol tables. Shared by the fuzz target
 * and by the test that shows how far its seeds reach. The seeds are a shared object of two
 * functions without libc, and the same stripped. Not debug information: libdw reads behind strings
 * that do not end, so whatever reads it is a process by itself (elf/symbols_worker.h,
 * test_symbols.c).
 */
#ifndef FUZZ_SYMTAB_BODY_H
#define FUZZ_SYMTAB_BODY_H

#include "elf/debug_info.h"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct symtab_body {
	size_t functions, chars;
};

static struct symtab_body symtab_body(const uint8_t *data, size_t size)
{
	struct symtab_body b = {0};
	struct debug_info_position p[DEBUG_INFO_POSITIONS_MAX];
	struct debug_info *d;
	struct debug_info_files files = {
		.module = memfd_create("elf", MFD_CLOEXEC), .debug = -1, .symbols_only = true};
	if (pwrite(files.module, data, size, 0) != (ssize_t)size || debug_info_open(&files, &d)) {
		close(files.module);
		return b;
	}
	for (uint64_t at = 0; at < size && at < 4096; at += 8)
		if (debug_info_find(d, at, p) == 1) {
			b.functions++;
			b.chars += strlen(p[0].function);
		}
	debug_info_close(d);
	close(files.module);
	return b;
}

#endif
