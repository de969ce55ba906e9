/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The interface between the BPF programs and the tracer: cookies of attached sites, values of maps
 * and the records of the ring buffer. A record is a struct ebt_record, the body of its type, and,
 * if head.size is not 0, a payload of head.size bytes. A program identifies a traced process by
 * its slot, an index in the tracer's own table. The tracer makes events of records.
 */
#ifndef EBTRACE_BPF_ABI_H
#define EBTRACE_BPF_ABI_H

#include <ebtrace/event.h>

#define EBT_NO_SLOT    UINT32_MAX
#define EBT_FREE_SLOTS 4096 /* put aside for children; more forks between two polls are a loss */

enum ebt_record_type {
	EBT_RECORD_MARKER = 1,	/* struct ebt_marker_record; site: an enum ebt_kind or ebt_site */
	EBT_RECORD_OCAML = 2,	/* struct ebt_ocaml_record; site: enum ebt_ocaml_function */
	EBT_RECORD_PROCESS = 3, /* struct ebt_process_record; site: enum ebt_process_change */
	EBT_RECORD_ALLOC = 4,	/* struct ebt_alloc_record; site: enum ebt_alloc_site_kind */
	EBT_RECORD_PAGES = 5,	/* struct ebt_page_record; site: enum ebt_page_change */
	EBT_RECORD_OFFCPU = 6,	/* struct ebt_offcpu_record; site: enum ebt_offcpu_reason */
	EBT_RECORD_STACK = 7,	/* struct ebt_stack_record; site: enum ebt_stack_frames */
	EBT_RECORD_THREAD = 8,	/* struct ebt_thread_record */
	EBT_RECORD_LANE = 9,	/* struct ebt_lane_record */
	EBT_RECORD_USDT = 10,	/* struct ebt_usdt_record; site: an enum ebt_kind */
	EBT_RECORD_SAMPLE = 11, /* struct ebt_sample_record; site: enum ebt_sample_where */
	EBT_RECORD_MAPPED = 12, /* struct ebt_mapped_record */
};

/*
 * The time follows the head of each record, and then `dropped`: the lower 32 bits of
 * ebt_dropped.nowhere, read behind the reservation of the record. What a thread drops is counted
 * before it reserves its next record. A domain is one thread at a time. So if two records of a
 * thread or a domain have the same count, no event of it was dropped between them.
 */
struct ebt_record {
	uint16_t type; /* enum ebt_record_type */
	uint16_t size; /* bytes of the payload after the body; the room for it may be larger */
	uint32_t slot; /* of the process */
	uint16_t site; /* the site that was hit; enum by type */
	uint16_t cpu;
	uint32_t tid; /* in the tracer's pid namespace; 0: it has no number there */
};

/*
 * What the kernel counted of a thread in a pause of its mutator: the payload of the end of the
 * outermost phase, of markers and of OCaml. What a kernel does not count is EBT_PAUSE_UNKNOWN.
 */
#define EBT_PAUSE_UNKNOWN UINT64_MAX
struct ebt_pause_counts {
	uint64_t run_delay;		 /* ns, waiting on a run queue */
	uint64_t voluntary, involuntary; /* context switches */
	uint64_t minor_faults, major_faults;
	uint64_t migrations; /* to another CPU */
	uint64_t fault_ns;   /* on a CPU, in page faults; only if they are measured */
};

/* Copies of the program's registers, unchecked. The end of a pause has a struct ebt_pause_counts as
 * payload. */
struct ebt_marker_record {
	struct ebt_record head;
	uint64_t ts; /* ns */
	uint32_t dropped;
	uint32_t id;
	uint64_t pos;	/* of its record in the ring; EBT_NO_POS */
	uint64_t ring;	/* its number in the lowest 16 bits, the event's ordinal in the upper 32 */
	uint64_t value; /* of kinds with a payload: its bytes in the program; of others: anything */
};

/* To the thread that stops programs at their exec: before the record of it, with its time. */
struct ebt_exec_notice {
	uint64_t ts;  /* ns */
	uint32_t pid; /* in the tracer's pid namespace */
	uint32_t pad; /* 0 */
};

/* Of user events the payload is the name, with its final 0; of the end of a pause a struct
 * ebt_pause_counts. */
struct ebt_ocaml_record {
	struct ebt_record head;
	uint64_t ts; /* ns */
	uint32_t dropped;
	uint32_t id;	  /* phase, counter or lifecycle in the numbering of its runtime */
	uint64_t value;	  /* undefined for kinds without a value */
	uint16_t kind;	  /* enum ebt_kind */
	uint16_t domain;  /* EBT_NO_DOMAIN: not known */
	uint16_t release; /* struct ebt_ocaml_runtime.release */
};

struct ebt_process_record {
	struct ebt_record head;
	uint64_t ts; /* ns */
	uint32_t dropped;
	uint32_t pid; /* in the tracer's pid namespace */
	/* The start of that process, of EBT_PROCESS_FORK of the child: CLOCK_BOOTTIME of the
	 * initial time namespace, ns; 0: not known. */
	uint64_t start_boot_ns;
	/* By how much the CLOCK_MONOTONIC of the child, or of the new program, is ahead of the
	 * tracer's; 0 at an exit. */
	int64_t clock_ahead_ns;

	/* EBT_PROCESS_FORK; slot EBT_NO_SLOT: a process that was there, of all that are traced, and
	 * that the tracer did not know */
	uint32_t child_pid, child_slot;
	uint32_t shares_memory; /* true for the child of vfork() until its exec */
	/* With a final 0: of EBT_PROCESS_FORK the name that the child has of its parent, empty if
	 * that is a thread's own, or with slot EBT_NO_SLOT the child's; of EBT_PROCESS_EXEC the new
	 * program's. */
	char comm[16];

	/* EBT_PROCESS_EXEC: the executable's file; the payload is its path as exec() was given it,
	 * with its final 0, or nothing if that is longer than EBT_ROOM_PATH */
	uint64_t device; /* in the kernel's form: the major number from bit 20 up */
	uint64_t inode;
	uint64_t mm; /* the new address space, as in struct ebt_page_record */
};

/*
 * Cookie of an attached marker: slot << 16 | site, which is an enum ebt_kind, or, from
 * EBT_SITE_CONTROL up, one of these: their records wake the tracer.
 */
enum ebt_site {
	EBT_SITE_CONTROL = 0xff00,
	EBT_SITE_RING_REQUEST = 0xff00, /* attached for its semaphore: no record */
	EBT_SITE_RING_START = 0xff01,
	EBT_SITE_RING_STOP = 0xff02,
	EBT_SITE_WATERMARK = 0xff03, /* pos is the position that the ring has reached */
	EBT_SITE_RING_NEEDED =
		0xff04, /* no marker: from now on a ring alone has the thread's events */
};

/* slot: EBT_NO_SLOT: that of the process, by its pid */
#define EBT_COOKIE(slot, site) ((uint64_t)(slot) << 16 | (site))

/*
 * The upper 16 bits of all cookies. Of a link that probes all processes that run the file: the key
 * that counts its hits by those that are not traced, with EBT_SHARED_COOKIE. Of a link in one
 * process that is made while such a link goes: the key of that one. Of others: 0.
 */
#define EBT_SHARED_KEYS	       (1u << 15)
#define EBT_KEY_SHIFT	       48
#define EBT_SHARED_COOKIE      (1ull << 63)
#define EBT_COOKIE_KEY(cookie) ((uint32_t)((cookie) >> EBT_KEY_SHIFT) & (EBT_SHARED_KEYS - 1))

/*
 * A shared link goes, and the processes have links of their own: both are there for a while. Hits
 * before from_ns are of the shared one, others of theirs. 0: all are of the shared one; the least
 * time that is not: all are of theirs. One word, so that all CPUs have both at once, of the map
 * ebt_handover by the key modulo EBT_HANDOVERS; key 0: no link goes.
 */
#define EBT_HANDOVERS		       8u
#define EBT_HANDOVER_ALL_NS	       ((uint64_t)EBT_SHARED_KEYS)
#define EBT_HANDOVER(key, from_ns)     (((from_ns) & ~(EBT_SHARED_KEYS - 1ull)) | (key))
#define EBT_HANDOVER_KEY(handover)     ((uint32_t)(handover) & (EBT_SHARED_KEYS - 1))
#define EBT_HANDOVER_FROM_NS(handover) ((handover) & ~(EBT_SHARED_KEYS - 1ull))

/*
 * The functions of an OCaml runtime have a program of their own. Its cookie: key of the runtime in
 * the map ebt_ocaml << 16 | the function | EBT_OCAML_FLAG_IN_AX.
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

enum ebt_ocaml_tls {
	EBT_OCAML_TLS_NONE = 0, /* the domain is unknown; the thread stands for it */
	EBT_OCAML_TLS_STATIC =
		1, /* pointer to the domain's state: at the thread pointer + offset */
	EBT_OCAML_TLS_MODULE = 2, /* at offset in the thread's block of a module (glibc) */
};

/*
 * Versions of runtimes number phases in different ways. The tracer numbers the ways: 0 has the ids
 * of events.def, and above them those of languages with phases of their own.
 */
#define EBT_NUMBERINGS 4   /* a power of 2 */
#define EBT_PHASE_IDS  256 /* a power of 2; what has a larger one is unknown */

/* A bit each by their number. */
struct ebt_phase_set {
	uint64_t bits[EBT_PHASE_IDS / 64];
};

/* How the stacks of its native code are walked. */
struct ebt_ocaml_stacks {
	uint64_t frames; /* address of the table of frame descriptors; 0: they are not */
	uint32_t current_stack, c_stack; /* offsets in the state */
	uint32_t first_frame;		 /* of a stack, from its saved stack pointer */
	uint32_t is_indirect; /* `frames` is a pointer to {descriptors, mask}, as in 5.0 */
};

/*
 * One OCaml runtime in one process; or, where slot is EBT_NO_SLOT, in all traced processes that run
 * the file: the slot then is that of the process in ebt_traced, and `flag` and `site` are addresses
 * in the file's own space; the load address in a process follows from the address of a hit. Threads
 * cache the result: removing a runtime increments ebt_ocaml_generation.
 */
struct ebt_ocaml_runtime {
	uint64_t flag; /* address of the word that is set while its own ring is on; 0: ignore it */
	int64_t tls_offset;
	uint64_t tls_module;
	uint32_t tls;	      /* enum ebt_ocaml_tls */
	uint32_t id_offset;   /* of the domain's number in its state */
	uint32_t slot;	      /* of the process */
	uint16_t domain_base; /* added to its domains' numbers */
	uint16_t user_event;  /* index of the event among the arguments of the user-event write */
	uint16_t release;     /* the tracer's own number; records carry it */
	uint16_t numbering;   /* of its phases */
	/* The distance from there to a pointer to the runtime's own record of the thread's domain.
	 * The second word of that record is the domain's state, also while the thread is in a
	 * blocking section. 0: not known. */
	int32_t domain_self;
	struct ebt_ocaml_stacks stacks;
	uint64_t site[8]; /* by enum ebt_ocaml_function */
	/* Addresses between which the runtime calls C and has saved where OCaml's stack is; for
	 * samples. */
	uint64_t glue, glue_end;
};

/*
 * Sites at which sampled allocations and pages of a heap are reported have a program of their own,
 * which finds their arguments as each site's note has them. Its cookie: key of the file in the map
 * ebt_alloc_files << 16 | the index of the site's description there. Those of otel_memory are
 * OpenTelemetry's.
 */
enum ebt_alloc_site_kind {
	EBT_ALLOC_SITE_ALLOC = 0,	/* object, words, samples, source, ring, ts */
	EBT_ALLOC_SITE_PROMOTE = 1,	/* object, ring, ts */
	EBT_ALLOC_SITE_COLLECT = 2,	/* object, ring, ts */
	EBT_ALLOC_SITE_OTEL_ALLOC = 3,	/* address, bytes, bytes that the sample stands for */
	EBT_ALLOC_SITE_OTEL_FREE = 4,	/* address */
	EBT_ALLOC_SITE_OTEL_WEIGHT = 5, /* as OTEL_ALLOC, of an allocation reported by ALLOC, too */
	EBT_ALLOC_SITE_PAGE_ALLOC = 6,	/* address, pages, ring, ts */
	EBT_ALLOC_SITE_PAGE_FREE = 7,
	EBT_ALLOC_SITE_PAGE_SCAVENGE = 8,
	/* Of an OCaml runtime that was not prepared, made by the program of struct
	 * ebt_ocaml_allocs: words that it stands for, domain, words of the object, words that were
	 * free above the trigger, release << 16 | enum ebt_ocaml_alloc_flag, period; the payload is
	 * a stack of struct ebt_ocaml_frame. */
	EBT_ALLOC_SITE_OCAML_MINOR = 9,
	EBT_ALLOC_SITE_OCAML_MAJOR = 10,
	/* Words of such a runtime that are in no sample: words, 0, 0, 0, enum ebt_ocaml_rest,
	 * period. */
	EBT_ALLOC_SITE_OCAML_REST = 11,
};
#define EBT_ALLOC_COOKIE(key, index) ((uint64_t)(key) << 16 | (index))

enum ebt_operand_where { EBT_OPERAND_CONSTANT, EBT_OPERAND_REGISTER, EBT_OPERAND_MEMORY };
#define EBT_OPERAND_NONE 0xff

/* The lowest `size` bytes of a constant, a register without its lowest `drop` bits, or the memory
 * at base + (index << shift) + number. Registers: the 64-bit words of struct pt_regs by index. */
struct ebt_operand {
	uint8_t size, is_signed, where; /* enum ebt_operand_where */
	uint8_t reg, index, shift;	/* EBT_OPERAND_NONE: no base, no index */
	uint8_t drop, reserved;
	int64_t number;
};

#define EBT_ALLOC_ARGS	6
#define EBT_ALLOC_SITES 16 /* of a file, with different arguments */

struct ebt_alloc_site {
	uint32_t kind; /* enum ebt_alloc_site_kind */
	uint32_t args;
	struct ebt_operand arg[EBT_ALLOC_ARGS];
};

/* Of a file in one process. */
struct ebt_alloc_file {
	uint32_t slot;
	uint32_t sites;
	struct ebt_alloc_site site[EBT_ALLOC_SITES];
};

/*
 * Markers of any program that the user asks for. A site's cookie, EBT_COOKIE, has in place of the
 * site the key of a struct ebt_usdt_spec in the map ebt_usdt_specs, below EBT_USDT_SPECS. Sites
 * with the same arguments share it.
 */
#define EBT_USDT_ARGS	    12
#define EBT_USDT_TEXTS	    4
#define EBT_USDT_TEXT_BYTES 256 /* of each, with its final 0 */
#define EBT_USDT_SPECS	    65536

struct ebt_usdt_spec {
	uint32_t request; /* the tracer's own number */
	uint16_t kind;	  /* enum ebt_kind of its events */
	uint8_t args, texts;
	uint16_t is_signed, reserved[3];
	struct ebt_operand arg[EBT_USDT_ARGS];
	struct ebt_operand text[EBT_USDT_TEXTS]; /* their addresses: copies of such an `arg` */
	struct ebt_operand caller; /* where the site's function returns to; size 0: not known */
};

/* The texts are the payload, EBT_USDT_TEXT_BYTES each, room for one or for all that a marker can
 * have. */
struct ebt_usdt_record {
	struct ebt_record head;
	uint64_t ts; /* ns, read by the kernel */
	uint32_t dropped;
	uint32_t request;
	uint32_t spec;
	uint16_t args;
	uint16_t is_signed, missing; /* bits by argument; missing: it could not be read */
	uint16_t reserved[3];
	uint16_t text[EBT_USDT_TEXTS]; /* its bytes with the final 0; 0: it could not be read */
	uint64_t ip;		       /* of the site */
	uint64_t frame;	 /* where the return address of its function is; else its stack pointer */
	uint64_t caller; /* that address, of spans; 0: not known */
	uint64_t arg[EBT_USDT_ARGS];
};

#define EBT_STACK_FRAMES 127 /* the kernel's own limit, unless it was changed */

/* The payload of an allocation is its stack, as of a struct ebt_stack_record of C. */
struct ebt_alloc_record {
	struct ebt_record head;
	uint64_t ts; /* ns, read by the kernel */
	uint32_t dropped, reserved;
	uint64_t arg[EBT_ALLOC_ARGS];
};

/*
 * Allocations of an OCaml runtime that was not prepared have a program of their own, at functions
 * that native code reaches when its minor heap is used up. Its cookie: key in the map
 * ebt_ocaml_allocs << 16 | the function.
 */
enum ebt_ocaml_alloc_function {
	EBT_OCAML_ALLOC_SMALL = 0, /* half of the minor heap, or all of it, is used up */
	EBT_OCAML_ALLOC_LARGE = 1, /* an allocation outside of the minor heap */
	EBT_OCAML_ALLOC_LIFE = 2,  /* a domain begins or ends */
	EBT_OCAML_ALLOC_EXIT = 3,  /* the program ends */
	EBT_OCAML_ALLOC_INPUT = 4, /* a marshalled value is about to be read */
	EBT_OCAML_ALLOC_READ = 5,  /* it was read */
	EBT_OCAML_ALLOC_FUNCTIONS
};
#define EBT_OCAML_ALLOC_COOKIE(key, function) ((uint64_t)(key) << 16 | (function))

enum ebt_ocaml_alloc_flag {
	EBT_OCAML_BY_OCAML = 1, /* native code allocates, not C */
	EBT_OCAML_CUT = 2,	/* the stack is not whole */
};

enum ebt_ocaml_rest {
	EBT_OCAML_REST_MINOR = 0, /* of domains since their last sample, or before they were seen */
	EBT_OCAML_REST_MAJOR = 1, /* of large allocations beyond the limit of the rate */
	EBT_OCAML_REST_OTHER = 2, /* of the major heap, allocated where nothing is probed */
};

/* How a thread's domain state is found: at the thread pointer + offset, or in a module's block. */
struct ebt_ocaml_state {
	int64_t tls_offset;
	uint64_t tls_module;
	uint32_t tls;	    /* enum ebt_ocaml_tls */
	uint32_t id_offset; /* of the domain's number in the state */
};

/* One OCaml runtime in one process. */
struct ebt_ocaml_allocs {
	struct ebt_ocaml_stacks stacks;
	struct ebt_ocaml_state state;
	uint32_t slot;	  /* of the process */
	uint32_t trigger; /* offset in the state */
	uint16_t domain_base;
	uint16_t release; /* the tracer's own number */
	/* A sample for so many words; 0 until the first hit, which sets it to half of a minor
	 * heap. */
	uint32_t period;
	/* Offsets in the state. minor_words: words in minor heaps that were emptied, then those
	 * that were promoted, then those of the major heap, but for the last ones:
	 * allocated_words. */
	uint32_t minor_words, allocated_words;
	uint32_t counts_before; /* what the program has allocated before it was probed counts */
	uint64_t small_rest, large_rest; /* words in no sample, but for those of domains */
	uint64_t large; /* words that were seen to be allocated outside of minor heaps */
	uint64_t
		large_ended; /* words so allocated, as domains that ended have counted themselves */
	uint32_t inputs;     /* marshalled values that are being read */
	uint32_t unused;
};

/* What a domain has allocated, in words; the key is the runtime's << 32 | the domain's number. */
struct ebt_ocaml_domain {
	uint64_t state;	  /* its address */
	uint64_t sampled; /* samples stand for them up to here */
	uint64_t now;	  /* at its last hit */
	/* Outside of the minor heap, promotions apart: before it was known, and at its last hit. */
	uint64_t large_first, large_now;
	uint64_t large_read; /* what was counted when it last began to read a marshalled value */
	uint32_t inputs;     /* those that it is reading, its threads in turn */
	uint32_t unused;
};

struct ebt_ocaml_frame {
	uint64_t address;    /* to which it returns */
	uint64_t descriptor; /* the address of its frame descriptor */
};

#define EBT_OCAML_FRAMES 127

/*
 * What happens to the pages of a traced process. A system call that removes pages is recorded when
 * it is entered, as what another thread then maps at the same addresses is recorded behind it; and
 * again when it returns, as DONE, or CHECK if it failed. Addresses are the program's own,
 * unchecked.
 */
enum ebt_page_change {
	EBT_PAGES_FAULT = 0, /* a fault has mapped them */
	EBT_PAGES_UNMAP = 1, /* munmap, brk, a mmap over them */
	EBT_PAGES_DROP = 2,  /* given back at once: MADV_DONTNEED */
	EBT_PAGES_LAZY = 3,  /* given back when memory is short: MADV_FREE */
	EBT_PAGES_MOVE = 4,  /* mremap has succeeded */
	EBT_PAGES_CHECK =
		5, /* whether they are mapped must be read: populated, or the call failed */
	EBT_PAGES_DONE = 6, /* what the thread's last UNMAP, DROP or LAZY says has been done */
};

struct ebt_page_record {
	struct ebt_record head;
	uint64_t ts; /* ns */
	uint32_t dropped, reserved;
	uint64_t mm; /* differs between address spaces that exist at one time; no address */
	uint64_t addr, bytes;  /* of a fault: the whole page, huge or not */
	uint64_t to, to_bytes; /* MOVE: their new address; else 0 */
};

#define EBT_COMM_BYTES 16

/* An interval in which a thread (head.tid) did not run: from `from` to `ts`, when it runs on
 * head.cpu; times by the same clock. Numbers of threads are those of the tracer's namespace, 0:
 * none. The payload, if stacks are wanted, is a struct ebt_sample_record of its begin with its own
 * payload. Of that record's head only site and size are defined, and its time is not. */
struct ebt_offcpu_record {
	struct ebt_record head;
	uint64_t ts;
	uint32_t dropped;
	uint32_t pid; /* of the process, as a thread that ends may run behind its process's end */
	uint64_t from;
	uint64_t woken;	    /* it could run since then; 0: it still cannot */
	uint64_t run_delay; /* by the kernel's account, in the interval */
	uint32_t waker, runner;
	int32_t syscall;     /* -1: none */
	uint32_t open;	     /* it still does not run */
	uint16_t interrupt;  /* it was woken in one, while waker ran */
	uint16_t runner_cpu; /* where runner ran; of no meaning without one */
	uint32_t reserved;   /* names are written by words */
	char waker_comm[EBT_COMM_BYTES], runner_comm[EBT_COMM_BYTES];
};

/* A process begins another thread, which has not run yet. Where threads are watched alone. */
struct ebt_thread_record {
	struct ebt_record head;
	uint64_t ts;
	uint32_t dropped, reserved;
};

/* A process, traced or not, has mapped a file as code. */
struct ebt_mapped_record {
	struct ebt_record head; /* slot: EBT_NO_SLOT */
	uint64_t ts;
	uint32_t dropped, pid;
};

/* The events of a lane are counted (counts.h), from this one on. */
struct ebt_lane_record {
	struct ebt_record head;
	uint64_t ts;
	uint32_t dropped;
	uint32_t where, exec; /* of its key */
	uint32_t release;     /* as in struct ebt_ocaml_record; 0: our own probes */
};

/*
 * The stack of an event, before the event's own record, which is the next of that thread and has
 * the same time. The payload: a struct ebt_stack_memory; then of C a struct ebt_stack_links, of
 * OCaml a struct ebt_ocaml_callbacks and a struct ebt_ocaml_frame for each frame, the innermost
 * first.
 */
enum ebt_stack_frames {
	EBT_STACK_OF_C = 0,
	EBT_STACK_OF_OCAML = 1,
	EBT_STACK_OF_OCAML_CUT = 2, /* it is not whole */
};

struct ebt_stack_record {
	struct ebt_record head;
	uint64_t ts;
	uint32_t dropped;
	uint32_t release; /* of OCaml, as in struct ebt_ocaml_record */
};

#define EBT_STACK_WORDS 128 /* a power of 2 */
#define EBT_TAIL_WORDS	128

/* Registers, and the stack from its pointer on. */
struct ebt_stack_memory {
	uint64_t ip, sp, fp;
	uint64_t
		/* where the C on top of OCaml begins; 0: it is the program's or thread's own */
		high;
	uint64_t words; /* that could be copied */
	uint64_t word[EBT_STACK_WORDS];
};

/*
 * Two words for each frame pointer that was followed, from the register on: at sp + at[i] is the
 * next frame pointer, which is sp + at[i + 1], of the last one `next`, and behind it address[i].
 * And the stack behind the last one and the memory above.
 */
struct ebt_stack_links {
	uint64_t links;
	uint64_t next;
	uint64_t tail, tail_words;
	uint64_t address[EBT_STACK_FRAMES];
	uint32_t at[EBT_STACK_FRAMES];
	uint32_t reserved;
	uint64_t tail_word[EBT_TAIL_WORDS];
};

/*
 * A timer has interrupted a thread. Its instruction is any, so what its function has on the stack
 * is not known here. The payload: a struct ebt_stack_memory; then of C a struct ebt_stack_links and
 * a struct ebt_sample_more; else a struct ebt_sample_more, a struct ebt_sample_caller, a struct
 * ebt_ocaml_callbacks, a struct ebt_sample_starts, and a struct ebt_ocaml_frame for each frame, the
 * innermost first.
 */
enum ebt_sample_where {
	EBT_SAMPLE_C = 0,	   /* no OCaml, as far as is known */
	EBT_SAMPLE_C_BY_OCAML = 1, /* C that OCaml has called */
	EBT_SAMPLE_OCAML = 2,	   /* on a stack of OCaml */
};

#define EBT_KERNEL_STACKS 4096
#define EBT_KERNEL_FRAMES 64
/* Whether a sample was in the kernel. */
enum ebt_sample_kernel {
	EBT_SAMPLE_USER = 0,
	EBT_SAMPLE_KERNEL = 1,	     /* its stack there is not known */
	EBT_SAMPLE_KERNEL_STACK = 2, /* plus a number below EBT_KERNEL_STACKS: its stack there */
};

struct ebt_sample_record {
	struct ebt_record head;
	uint64_t ts;
	uint32_t dropped;
	uint32_t release; /* of OCaml, as in struct ebt_ocaml_record */
	uint16_t domain;  /* EBT_NO_DOMAIN: not known */
	uint16_t kernel;  /* enum ebt_sample_kernel, or behind EBT_SAMPLE_KERNEL_STACK */
	uint32_t whole;	  /* the frames of OCaml reach the outermost stack */
	/* Of C_BY_OCAML: the address to which the outermost function of C returns. What OCaml had
	 * saved of its stack is valid if that is in the runtime's code. */
	uint64_t returns;
};

#define EBT_SAMPLE_WORDS 896 /* of C, behind those of a struct ebt_stack_memory */
struct ebt_sample_more {
	uint64_t words; /* that could be copied */
	uint64_t word[EBT_SAMPLE_WORDS];
};

/*
 * Of C that OCaml has called without saving where its own stack is: that may be `sp`, which is in a
 * register that C preserves, or where C has saved it. Then the frames are those from there on, as
 * of OCAML.
 */
#define EBT_SAMPLE_CALLER_WORDS 64
struct ebt_sample_caller {
	uint64_t kept; /* that register */
	uint64_t sp;   /* 0: OCaml has saved it, or it was not found */
	uint64_t words;
	uint64_t word[EBT_SAMPLE_CALLER_WORDS];
};

/*
 * Where the addresses of the first frames were, each as the stack pointer behind its return
 * address. Of OCAML the first frame was searched for, upwards: it, and those that it leads to, may
 * be stale. The first frame whose stack pointer is that of a caller is right, and so are all behind
 * it. `end` is the stack pointer where the frames of a callback or of a stack end, with `ends`
 * frames inside; 0: none.
 */
#define EBT_SAMPLE_STARTS 32
struct ebt_sample_starts {
	uint64_t sp[EBT_SAMPLE_STARTS];
	uint64_t end, ends;
};

/* Hits of the timers since load. */
struct ebt_sample_counts {
	uint64_t taken;	    /* of traced threads, those that were lost included */
	uint64_t of_others; /* of other threads, and of idle CPUs */
};

#define EBT_SAMPLE_FRAMES 1023 /* of OCaml: many programs recurse deeply */

#define EBT_OCAML_CALLBACKS 3 /* the innermost */
#define EBT_CALLBACK_WORDS  64

/* Where C that OCaml had called has called OCaml: `frames` frames are inside of that call. The
 * memory of the C stack from the call's link up; `high` is that of C's own call. */
struct ebt_ocaml_callback {
	uint64_t link, high;
	uint64_t frames;
	uint64_t words;
	uint64_t word[EBT_CALLBACK_WORDS];
};

struct ebt_ocaml_callbacks {
	uint64_t count;
	struct ebt_ocaml_callback callback[EBT_OCAML_CALLBACKS];
};

/* Which events get a stack: bits by enum ebt_kind, of all events of a kind, and of single ids by
 * numbering. */
struct ebt_stack_choice {
	uint64_t kinds;
	uint64_t ids[EBT_NUMBERINGS][EBT_PHASE_IDS];
	uint64_t pause_ns; /* and ends of pauses that lasted so long; 0: of none */
};

/* A payload occupies the smallest of these rooms that holds it; a longer one is cut. */
#define EBT_ROOM_TINY	 64
#define EBT_ROOM_NAME	 128 /* the room of OCaml's names of user events */
#define EBT_ROOM_BUCKETS (8 * EBT_ALLOC_BUCKETS)
#define EBT_ROOM_PATH	 512
#define EBT_ROOM_SMALL	 1024
#define EBT_ROOM_LARGE	 8192

/*
 * What is recorded under a budget. EVENTS: all. RINGS: what is in no ring of its process, as the
 * tracer reads the rings. COUNTS: nothing; events that are in no ring are counted as dropped.
 */
enum ebt_level { EBT_LEVEL_EVENTS = 0, EBT_LEVEL_RINGS = 1, EBT_LEVEL_COUNTS = 2 };

/* Hits of probes on one CPU, by kind. in_ring: those hits of markers that a ring has as events. */
enum ebt_hits_probe {
	EBT_HITS_MARKER = 0,
	EBT_HITS_RUNTIME = 1,
	EBT_HITS_ALLOC = 2,
	EBT_HITS_RUNTIME_ALLOC = 3,
	EBT_HITS_PROBES = 4, /* a power of 2 */
};
#define EBT_HITS_CPUS 128 /* a power of 2; CPUs beyond it share those of others */
struct ebt_hits {
	uint64_t hits[EBT_HITS_PROBES];
	uint64_t in_ring;
	uint64_t reserved[3]; /* a cache line */
};

/* Records for which the ring buffer had no room, or the budget, counted since load. */
struct ebt_dropped {
	uint64_t in_ring;  /* events that are in a ring of their process too */
	uint64_t nowhere;  /* events that are in no ring: lost */
	uint64_t control;  /* control records, which are no events */
	uint64_t stacks;   /* of events, which may be there without */
	uint64_t children; /* no records: children of traced processes for which no slot was left */
};

#endif
