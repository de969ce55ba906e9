/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source positions of code, from the debug information and the symbol tables of an ELF file.
 * Each compilation unit is indexed when the first address in it is looked up. libdw enters through
 * this module; as it is not made for hostile files, only symbols_worker.h calls it, in a process
 * that can do no harm: a file can make it crash, or run without end.
 */
#ifndef ELF_DEBUG_INFO_H
#define ELF_DEBUG_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/unwind.h"

#define DEBUG_INFO_POSITIONS_MAX 64

struct debug_info_position {
	const char *function, *file; /* NULL: not known */
	uint32_t line, column;	     /* 0: not known */
};

struct debug_info;

struct debug_info_files {
	int module;	   /* the file that is executed */
	int debug;	   /* its separate debug file; -1: none */
	bool symbols_only; /* do not read DWARF */
};

/* The descriptors stay the caller's, open until debug_info_close(). 0, -ENOEXEC or -ENOMEM. */
int debug_info_open(const struct debug_info_files *files, struct debug_info **ret);
void debug_info_close(struct debug_info *d); /* NULL is allowed */
/*
 * Writes the positions of the instruction at an offset of the module's file, the outermost first;
 * of more than DEBUG_INFO_POSITIONS_MAX the innermost. Returns their number, 0: nothing is known.
 * Strings are valid, and equal ones of one name have one address, until debug_info_close().
 */
unsigned debug_info_find(struct debug_info *d, uint64_t offset,
			 struct debug_info_position ret[DEBUG_INFO_POSITIONS_MAX]);
/* How the stack is unwound from the instruction at an offset. */
struct unwind_rule debug_info_unwind(struct debug_info *d, uint64_t offset);

#endif
