/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A language runtime: how it is recognised in the files that a process maps, and what is to be known
 * of such a file before it can be traced. One file of this folder is one runtime, and a row of the
 * table `runtimes`. What its events mean stands in events.def, which all share.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/ocaml_probes.h"

struct elf;

/* What the runtimes have found of themselves in one file. */
struct runtime_file {
	uint32_t markers;	  /* ebtrace-probes: markers of provider ebtrace */
	enum ebt_release release; /* ocaml: of an OCaml 5 runtime; AUTO: none */
	int ocaml_error;	  /* 0: `ocaml` is valid; else as of ocaml_probes_read() */
	struct ocaml_runtime ocaml;
};

#define RUNTIME_REASON_BYTES 128

struct runtime {
	const char *name;
	const char *const
		*libraries; /* beginnings of names of shared ones that hold it; then NULL */
	/* Fills its part of *ret, which is zeroed. `elf` is the same file, NULL: it is none. */
	void (*recognise)(int fd, struct elf *elf, struct runtime_file *ret);
	/* It is there, but recognise() cannot see it. May be NULL. */
	bool (*is_hidden)(int fd);
	/* Why a program of the language has nothing to trace: the rest of a sentence that begins with
	 * the program, in ret_reason (RUNTIME_REASON_BYTES). False: it is none. May be NULL. */
	bool (*explain)(int fd, char *ret_reason);
};

#define RUNTIMES 2
extern const struct runtime *const runtimes[RUNTIMES];

#endif
