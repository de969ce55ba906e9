/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe sites in the runtime of an OCaml 5 program. Its functions caml_ev_begin, caml_ev_end
 * and so on are called whether or not the program records events, so any program can be traced. For
 * each function this finds the cheapest instruction at which the arguments are still in their
 * registers; also the flag that is set while the program's own ring is on, and how to read a
 * thread's domain. Executables and shared libraries, native code and the bytecode interpreter; only
 * symbols are needed, and those that the runtime exports survive strip.
 */
#ifndef RUNTIME_OCAML_PROBES_H
#define RUNTIME_OCAML_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/maps.h"
#include "session/traits.h"

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
	uint64_t address; /* in the file's address space */
	bool emulated;	  /* the kernel emulates it instead of single-stepping */
	bool flag_in_ax;  /* the flag's value is in %rax at the site */
};

/* How to find the domain's state of a thread. */
enum ocaml_tls {
	OCAML_TLS_NONE,	  /* not known: each thread counts as a domain */
	OCAML_TLS_STATIC, /* its address is at the thread pointer + offset */
	OCAML_TLS_SLOT,	  /* as STATIC, but `offset` is the address of a slot with the offset */
	/* in the block of a module; `offset` is the address of its number's slot */
	OCAML_TLS_MODULE,
};

struct ocaml_runtime {
	struct runtime_version version;
	bool is_program; /* not a library: the offset of its thread-local storage is fixed */
	struct ocaml_site site[OCAML_FUNCTIONS];
	unsigned sites;
	uint64_t flag; /* address of runtime_events_enabled in the file's address space */
	enum ocaml_tls tls;
	int64_t offset;	    /* see enum ocaml_tls */
	uint64_t in_module; /* OCAML_TLS_MODULE: offset in the block */
	uint32_t id_offset; /* of the domain's number in its state */
	int32_t self;	    /* from caml_state to domain_self; 0: not known */
};

/*
 * Finds the sites in a file. 0; -ENOENT: no OCaml 5 runtime; -ENOEXEC: not an ELF file; -ENOTSUP:
 * the runtime's code is unknown; -errno.
 */
int ocaml_probes_read(int fd, struct ocaml_runtime *ret);
struct elf;
struct memory_reader;
/* ocaml_probes_read() for a file that is open already. */
int ocaml_probes_read_elf(struct elf *elf, struct ocaml_runtime *ret);

/* Sets how to find caml_state, where the domain's number may be read elsewhere: by its symbol, and
 * by the release. */
void ocaml_probes_use_state(struct elf *elf, struct ocaml_runtime *r);

struct ocaml_location {
	uint64_t flag;	    /* address in the process */
	enum ocaml_tls tls; /* not OCAML_TLS_SLOT: it is resolved */
	int64_t offset;
	uint64_t module; /* number of the module, for OCAML_TLS_MODULE */
};

/*
 * Computes the addresses in a process that maps the file at `e`. If its memory cannot be read where
 * that is needed, domains are not known (OCAML_TLS_NONE).
 */
void ocaml_probes_locate(int fd, const struct ocaml_runtime *r, struct memory_reader *memory,
			 pid_t pid, const struct maps_entry *e, struct ocaml_location *ret);
/* 1: the program's own ring is on; 0: it is off; -errno: its memory cannot be read. */
int ocaml_probes_ring_is_on(struct memory_reader *memory, pid_t pid,
			    const struct ocaml_location *p);
/* That is asked for when the mappings of the process have been read next: they are read together
 * (memory_reader_expect()). */
void ocaml_probes_expect_ring(struct memory_reader *memory, pid_t pid,
			      const struct ocaml_location *p);

#endif
