/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The USDT markers of an ELF file, from its section .note.stapsdt: where each stands in the file,
 * where its semaphore is, and its argument string. The file may be anything and may change under
 * us: every byte is read by pread() into private memory, each offset and count is checked, and
 * what is bad is skipped. 64-bit files of this machine's byte order; PIE or not, static, shared,
 * stripped. Nothing is kept of the descriptor.
 */
#ifndef PROC_NOTES_H
#define PROC_NOTES_H

#include <stdbool.h>
#include <stdint.h>

/* At most so many markers of a file are kept. */
#define NOTES_MAX 65536

struct notes_site {
	uint64_t offset;    /* of the instruction in the file */
	uint64_t semaphore; /* offset in the file; 0: none */
	const char *provider, *name, *args;
};

struct notes {
	struct notes_site *site;
	uint32_t sites;
	uint32_t skipped; /* notes that could not be understood, or were too many */
	char *strings;	  /* private: what the sites' names point into */
};

/*
 * Reads the markers of `provider` (NULL: of all) in file order. 0, also if there are none; -ENOEXEC:
 * no ELF file of this machine; -EBADMSG: its tables are damaged; -errno. The caller calls notes_done().
 */
int notes_read(int fd, const char *provider, struct notes *ret);
void notes_done(struct notes *n);

#endif
