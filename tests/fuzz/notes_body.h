/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the markers of an ELF file of any bytes, all of them and one provider's, and looks at each
 * byte of what it gets. Shared by the fuzz target and by the test that shows how far its seeds
 * reach. The seeds are tests/prog/markers_x86_64.c, not linked, as a stripped shared object without
 * libc, and that one with the size of a note's name damaged.
 */
#ifndef FUZZ_NOTES_BODY_H
#define FUZZ_NOTES_BODY_H

#include "elf/notes.h"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct notes_body {
	size_t sites, skipped, chars;
};

static void notes_body_read(int fd, const char *provider, struct notes_body *b)
{
	struct notes n;
	if (notes_read(fd, provider, &n))
		return;
	for (uint32_t i = 0; i < n.sites; i++)
		b->chars += strlen(n.site[i].provider) + strlen(n.site[i].name) +
			    strlen(n.site[i].args);
	b->sites += n.sites;
	b->skipped += n.skipped;
	notes_done(&n);
}

static struct notes_body notes_body(const uint8_t *data, size_t size)
{
	struct notes_body b = {0};
	int fd = memfd_create("elf", MFD_CLOEXEC);
	if (pwrite(fd, data, size, 0) == (ssize_t)size) {
		notes_body_read(fd, NULL, &b);
		notes_body_read(fd, "ebtrace", &b);
	}
	close(fd);
	return b;
}

#endif
