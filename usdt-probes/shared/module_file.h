/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the headers of a mapped program or shared library say of its file: where its code is in it,
 * and its build id. They are read in memory, without the dynamic linker's lock, a system call or an
 * allocation. The module must stay mapped meanwhile, as one does whose code is on the stack of the
 * calling thread.
 */
#ifndef EBT_MODULE_FILE_H
#define EBT_MODULE_FILE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBT_MODULE_SEGMENTS	  4
#define EBT_MODULE_BUILD_ID_BYTES 32
/* "0xOFFSET:BUILDID" as <ebtrace/recorder.h> has it, with its end. */
#define EBT_MODULE_FUNCTION_BYTES (2 + 16 + 1 + 2 * EBT_MODULE_BUILD_ID_BYTES + 1)

struct ebt_module_file {
	uint64_t start, end; /* of its mapping */
	struct ebt_module_segment {
		uint64_t start, end, offset;
	} segment[EBT_MODULE_SEGMENTS];
	uint8_t build_id[EBT_MODULE_BUILD_ID_BYTES];
	uint8_t build_id_bytes;
	const uint8_t *build_id_at; /* in the module; NULL: it has none */
};

struct ebt_module_file ebt_module_file_read(const struct dl_find_object *at);
/* True if the module there is the one that was read. Its name is for the caller to compare. */
bool ebt_module_file_is_at(const struct ebt_module_file *m, const struct dl_find_object *at);
bool ebt_module_file_equal(const struct ebt_module_file *a, const struct ebt_module_file *b);
/* False: the address is not in its code. */
bool ebt_module_file_offset(const struct ebt_module_file *m, uint64_t address,
			    uint64_t *ret_offset);
/* The function of a position. m: NULL for an offset in no module. */
void ebt_module_file_function(const struct ebt_module_file *m, uint64_t offset,
			      char ret[EBT_MODULE_FUNCTION_BYTES]);

#endif
