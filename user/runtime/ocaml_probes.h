/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the runtime of an OCaml 5 program can be probed. Its functions caml_ev_begin, caml_ev_end
 * and their like are called whether or not the program records events, so a program that was never
 * prepared can be watched. For each function it finds the cheapest instruction at which the
 * arguments are still in their registers; it finds the flag that says whether the program's own
 * ring is on; and how a thread's domain is read. Executables and shared libraries, native code and
 * the bytecode interpreter; only symbols are needed, and those that the runtime exports survive
 * strip.
 */
#ifndef RUNTIME_OCAML_PROBES_H
#define RUNTIME_OCAML_PROBES_H

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/maps.h"

enum ocaml_function {
	OCAML_BEGIN,	   /* phase */
	OCAML_END,	   /* phase */
	OCAML_COUNTER,	   /* counter, value */
	OCAML_LIFECYCLE,   /* lifecycle, data */
	OCAML_ALLOC_FLUSH, /* nothing */
	OCAML_USER_WRITE,  /* 5.1: event, value; from 5.2: buffer, event, value */
	OCAML_FUNCTIONS
};

struct ocaml_site {
	enum ocaml_function function;
	uint64_t offset;  /* of the instruction in the file */
	uint64_t address; /* of it in the file's own space */
	bool emulated;	  /* by the kernel: cheap */
	bool flag_in_ax;  /* the flag's value is in %rax there */
};

/* How the domain's state is found from a thread. */
enum ocaml_tls {
	OCAML_TLS_NONE,	  /* not known: a thread is taken for a domain */
	OCAML_TLS_STATIC, /* at the thread pointer + offset */
	OCAML_TLS_SLOT,	  /* the same; `offset` is the address of a slot that holds the offset */
	OCAML_TLS_MODULE, /* in the block of a module; `offset` is the address of its number's slot */
};

struct ocaml_runtime {
	enum ebt_release release;
	bool is_program; /* no library: where its thread-local storage lies depends on it alone */
	struct ocaml_site site[OCAML_FUNCTIONS];
	unsigned sites;
	uint64_t flag; /* address of runtime_events_enabled in the file's own space */
	enum ocaml_tls tls;
	int64_t offset;	    /* see enum ocaml_tls */
	uint64_t in_module; /* OCAML_TLS_MODULE: offset in the block */
	uint32_t id_offset; /* of the domain's number in its state */
};

/*
 * Reads what the file holds. 0; -ENOENT: no OCaml 5 runtime; -ENOEXEC: no ELF file; -ENOTSUP: one
 * whose code is not understood; -errno.
 */
int ocaml_probes_read(int fd, struct ocaml_runtime *ret);
/* The same of a file that is open already. */
struct elf;
int ocaml_probes_read_elf(struct elf *elf, struct ocaml_runtime *ret);

struct ocaml_place {
	uint64_t flag;	    /* address in the process */
	enum ocaml_tls tls; /* no SLOT any more: */
	int64_t offset;
	uint64_t module; /* number of the module, for OCAML_TLS_MODULE */
};

/*
 * Where the runtime lies in a process that maps the file as `e` says. What must be read from the
 * process's memory and cannot leaves the domains unknown (OCAML_TLS_NONE).
 */
void ocaml_probes_place(int fd, const struct ocaml_runtime *r, pid_t pid,
			const struct maps_entry *e, struct ocaml_place *ret);
/* 1: the program's own ring is on; 0: it is off; -errno: its memory cannot be read. */
int ocaml_probes_ring_is_on(pid_t pid, const struct ocaml_place *p);

#endif
