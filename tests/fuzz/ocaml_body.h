/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks for an OCaml runtime in an ELF file of any bytes, and where it would lie in a process.
 * The seeds are a runtime in miniature, with the functions that are looked for and no others, as a
 * stripped library and as a program.
 */
#ifndef FUZZ_OCAML_BODY_H
#define FUZZ_OCAML_BODY_H

#include "runtime/ocaml/allocs.h"

#include <sys/mman.h>
#include <unistd.h>

/* The sites that were found. */
static unsigned ocaml_body(const uint8_t *data, size_t size)
{
	struct ocaml_runtime r = {0};
	int fd = memfd_create("elf", MFD_CLOEXEC);
	if (pwrite(fd, data, size, 0) == (ssize_t)size && !ocaml_probes_read(fd, &r)) {
		struct maps_entry e = {.start = 0x1000, .end = 0x2000};
		struct ocaml_location place;
		struct ocaml_allocs allocs;
		ocaml_probes_locate(fd, &r, NULL, getpid(), &e, &place);
		struct ocaml_runtime again = r;
		ocaml_allocs_read(fd, &again, &allocs);
	}
	close(fd);
	return r.sites;
}

#endif
