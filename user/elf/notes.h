/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the USDT markers of an ELF file from its section .note.stapsdt: the file offsets of each
 * marker and its semaphore, and its argument string. The file is not trusted and may change while
 * it is read: every byte is copied with pread(), each offset and count is checked, and bad notes
 * are skipped. 64-bit files of this machine's byte order; PIE or not, static, shared, stripped. The
 * descriptor stays the caller's.
 */
#ifndef ELF_NOTES_H
#define ELF_NOTES_H

#include <stdbool.h>
#include <stdint.h>

/* Markers of one file that are kept at most. */
#define NOTES_MAX 65536

struct notes_site {
	uint64_t offset;    /* of the instruction in the file */
	uint64_t address;   /* of it in the file's address space */
	uint64_t semaphore; /* offset in the file; 0: none */
	const char *provider, *name, *args;
};

struct notes {
	struct notes_site *site;
	uint32_t sites;
	uint32_t skipped; /* malformed notes, and those beyond the limit */
	char *strings;	  /* private: the memory of the sites' names */
};

/*
 * Reads the markers of `provider` (NULL: of all) in file order. 0, also if there are none;
 * -ENOEXEC: not an ELF file of this machine; -EBADMSG: its tables are damaged; -errno. On success
 * the caller calls notes_done().
 */
int notes_read(int fd, const char *provider, struct notes *ret);
void notes_done(struct notes *n);

#endif
