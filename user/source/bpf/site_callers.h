/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the functions of markers' sites return to, as an operand that a BPF program reads at the
 * site: by the call frame information of the file. Two hits of one site with the same stack pointer
 * and the same return address are of one call in one frame of the caller. A site is looked up once,
 * however many processes run the file.
 */
#ifndef SOURCE_BPF_SITE_CALLERS_H
#define SOURCE_BPF_SITE_CALLERS_H

#include "base/map.h"
#include "bpf/abi.h"
#include "elf/symbols.h"

/* Zeroed memory is empty. Fields are private. */
struct site_callers {
	struct map known; /* by a hash of file and offset: register, and distance << 8 */
	struct symbols_running running;
};

/* A file that is open. */
struct site_file {
	int fd;
	const char *path;
	struct symbols *symbols; /* NULL at first; made when they are needed */
	uint64_t hash;		 /* likewise, 0 */
};

/* The operand of the site at an offset in the file; size 0: not known. messages are kept. */
struct ebt_operand site_callers_find(struct site_callers *c, struct site_file *file,
				     uint64_t offset, const struct messages *messages);
void site_callers_close(struct site_file *file);
void site_callers_done(struct site_callers *c);

#endif
