/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A language runtime: how it is recognised in the files that a process maps, and what must be known
 * of such a file before it can be traced. One file of this folder is one runtime, and a row of the
 * table `runtimes`; its constants are a row of `languages` (language.h).
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/marker_names.h"
#include "runtime/ocaml/probes.h"
#include "session/language.h"

struct elf;

/* What the runtimes found of themselves in one file. */
struct runtime_file {
	uint32_t markers;		/* ebtrace-probes: its markers */
	uint32_t refused_markers;	/* of provider ebtrace, with other names or arguments */
	uint32_t alloc_markers;		/* of sampled allocations, which any program may have */
	struct marker_counts asked;	/* those that the user asks for */
	struct runtime_version runtime; /* of ocaml's; zeroes: none */
	int probes_error;		/* 0: `ocaml` is valid; else as of ocaml_probes_read() */
	struct ocaml_runtime ocaml;
};

#define RUNTIME_TEXT_BYTES 128

struct runtime {
	const struct language *language;
	/* Prefixes of the names of shared libraries that contain it, then NULL. */
	const char *const *libraries;
	/* Fills its part of *ret, which is zeroed. elf: the same file; NULL: it is no ELF file. */
	void (*recognise)(int fd, struct elf *elf, struct runtime_file *ret);
	/* True if the file contains it although recognise() cannot find it. May be NULL. */
	bool (*is_hidden)(int fd);
	/* True if allocations can be sampled of a program that was not prepared. May be NULL. */
	bool (*is_sampled)(int fd);
	/* The next two write the rest of a sentence about the file, which is its subject, to
	 * ret_text (RUNTIME_TEXT_BYTES); false: they have nothing to report. Both may be NULL. */
	/* Why a program of the language cannot be traced. */
	bool (*explain)(int fd, char *ret_text);
	/* What a file is that is no ELF file, yet runs in an interpreter that can be traced. */
	bool (*describe)(int fd, char *ret_text);
};

#define RUNTIMES 2
extern const struct runtime *const runtimes[RUNTIMES];

#endif
