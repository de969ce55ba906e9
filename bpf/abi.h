/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the BPF programs and the tracer tell each other. Every record in the ring buffer starts
 * with a struct ebt_event; records with a payload are followed by it at once. The programs know a
 * traced process by its slot, an index in the tracer's own table that travels in the cookie of
 * each attached site, and put it into the event's pid: the tracer puts the pid there, which is
 * then right in the tracer's own pid namespace, whatever that is.
 */
#ifndef EBTRACE_BPF_ABI_H
#define EBTRACE_BPF_ABI_H

#include <ebtrace/event.h>

/*
 * Cookie of an attached site: slot << 16 | what it is, which is an enum ebt_kind, or, from
 * EBT_SITE_CONTROL up, one of these. Control records carry the same value as their kind.
 */
enum ebt_site {
	EBT_SITE_CONTROL = 0xff00,
	EBT_SITE_RING_REQUEST = 0xff00, /* attached for its semaphore: no record */
	EBT_SITE_RING_START = 0xff01,
	EBT_SITE_RING_STOP = 0xff02,
	EBT_SITE_WATERMARK = 0xff03, /* pos is the position that the ring has reached */
};

#define EBT_COOKIE(slot, site) ((uint64_t)(slot) << 16 | (site))

/*
 * The functions of an OCaml runtime have a program of their own. Its cookie: index of the runtime
 * in the map ebt_ocaml << 16 | the function | EBT_OCAML_FLAG_IN_AX. Its records carry 1 + that
 * index in `size`, the phase as the release numbers it in `id`, and, of user events, the name as a
 * payload.
 */
enum ebt_ocaml_function {
	EBT_OCAML_BEGIN = 0,
	EBT_OCAML_END = 1,
	EBT_OCAML_COUNTER = 2,
	EBT_OCAML_LIFECYCLE = 3,
	EBT_OCAML_ALLOC_FLUSH = 4,
	EBT_OCAML_USER_WRITE = 5,
};
#define EBT_OCAML_FLAG_IN_AX 0x100u
#define EBT_OCAML_COOKIE(runtime, function, flags) \
	((uint64_t)(runtime) << 16 | (flags) | (function))
#define EBT_OCAML_MAX 1024 /* runtimes in one run */

enum ebt_ocaml_tls {
	EBT_OCAML_TLS_NONE = 0, /* a thread is taken for a domain: the domain is not told */
	EBT_OCAML_TLS_STATIC =
		1, /* pointer to the domain's state: at the thread pointer + offset */
	EBT_OCAML_TLS_MODULE = 2, /* at offset in the thread's block of a module (glibc) */
};

/*
 * One OCaml runtime in one process; or, if it is shared, in all traced processes that run the file.
 * Then `flag` and `site` are addresses in the file's own space: where a process has it follows from
 * where it hits a site. Records of a shared one carry the process's pid, not its slot, and `stack` 1.
 */
struct ebt_ocaml_runtime {
	uint64_t flag; /* address of the word that says whether its own ring is on; 0: no matter */
	int64_t tls_offset;
	uint64_t tls_module;
	uint32_t tls;	      /* enum ebt_ocaml_tls */
	uint32_t id_offset;   /* of the domain's number in its state */
	uint32_t slot;	      /* of the process */
	uint16_t domain_base; /* added to its domains' numbers */
	uint16_t user_event;  /* which argument of the user-event write is the event, from 0 */
	uint32_t serial;      /* never used twice, as the place in the map is */
	uint32_t shared;
	uint64_t site[8]; /* by enum ebt_ocaml_function */
	uint32_t dead;	  /* the process runs another program now: a link may be left still */
};

/*
 * A payload comes in the smallest of these rooms that holds it; what is longer is cut. Until the
 * tracer has made it a blob, arg[1] is its length in bytes, and EBT_F_PAYLOAD is set.
 */
#define EBT_ROOM_TINY	 64
#define EBT_ROOM_NAME	 128 /* OCaml's names of user events have room for as many bytes */
#define EBT_ROOM_BUCKETS (8 * EBT_ALLOC_BUCKETS)
#define EBT_ROOM_SMALL	 1024
#define EBT_ROOM_LARGE	 8192

/*
 * The record of an exec (EBT_PROCESS) names the file: pos is its inode, arg[0] its device as the
 * kernel numbers it, the major number from bit 20 up. In that of a fork pos says whether the child
 * runs in its parent's memory, as that of vfork() does until it calls exec: there is nothing to probe.
 */
#define EBT_FORK_SHARES_MEMORY 1

/* Records that found no room in the ring buffer, counted since load. */
struct ebt_dropped {
	uint64_t in_ring; /* events that are in a ring of their process too */
	uint64_t nowhere; /* events that are in no ring: gone */
	uint64_t control; /* records of markers and processes that are no events */
};

#endif
