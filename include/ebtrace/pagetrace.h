/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Page traces of Go (GOEXPERIMENT=pagetrace, GODEBUG=pagetrace=FILE; Go 1.20 to 1.22): which pages
 * of its heap the runtime allocated, freed and returned to the system. A reader in the order of the
 * file, for pipes; a reader in the order of time, for files; a writer. No I/O: the caller supplies
 * the bytes, and stores the blocks. The format's source is runtime/pagetrace_on.go in Go 1.22.
 *
 * A trace is a sequence of 64-bit little-endian words, by their low 2 bits:
 *
 *	0	bit 2 clear: time, base = (word >> 3) << 7 ns; bit 2 set: P, (int64_t)word >> 3
 *	1 2 3	allocated, freed, scavenged: bits 48-63 the time since the base in 128 ns,
 *		13-47 the address, 3-12 the number of pages, 2 large: the number of pages, 1024 or
 *		more, is the next word instead
 *
 * and of blocks: P, time, events and times, at most EBT_PAGETRACE_BLOCK_BYTES. A block is one P's;
 * in a P the order of the file is the order of time. What happened before there was a P is written
 * by P -1, last. Pages have EBT_PAGETRACE_PAGE_BYTES; times are of CLOCK_MONOTONIC, up to 127 ns
 * early, Go's up to 255.
 *
 * Input is untrusted. Damaged words become one event of what EBT_PAGETRACE_DAMAGE with the offset
 * in the trace and a reason; reading continues at the next word if that is certain to begin an
 * event of the same block, else at the next block. An event earlier than the one before it in its
 * block gets that one's time: it is good, and in its place. A trace has no magic number:
 * ebt_pagetrace_is() checks its first block.
 *
 * Not thread-safe: one reader or writer, one thread at a time.
 */
#ifndef EBTRACE_PAGETRACE_H
#define EBTRACE_PAGETRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#define EBT_PAGETRACE_PAGE_BYTES  8192
#define EBT_PAGETRACE_BLOCK_BYTES 32768
/* The P of events before there was one. */
#define EBT_PAGETRACE_NO_P (-1)
/* The largest P; larger ones are damage. */
#define EBT_PAGETRACE_P_MAX 65533
/* Bytes that ebt_pagetrace_is() needs. */
#define EBT_PAGETRACE_HEAD_BYTES   16
#define EBT_PAGETRACE_REASON_BYTES 160
/* Lanes that a file may have: of 16 processes with 1,024 Ps each, as lanes that overlap in time
 * need a block's memory each. */
#define EBT_PAGETRACE_LANES_MAX 16384

enum ebt_pagetrace_what {
	EBT_PAGETRACE_ALLOC = 1,    /* taken by the runtime, and no longer returned if they were */
	EBT_PAGETRACE_FREE = 2,	    /* given back to the runtime's heap */
	EBT_PAGETRACE_SCAVENGE = 3, /* free ones returned to the system */
	EBT_PAGETRACE_DAMAGE = 32,
};

struct ebt_pagetrace_event {
	uint64_t time_ns; /* DAMAGE: of the last event before it in its block */
	uint64_t addr;	  /* of the first page; below 2^48. DAMAGE: the offset in the trace */
	uint64_t pages;	  /* at least 1, and all below 2^48. DAMAGE: bytes skipped */
	int32_t p;	  /* EBT_PAGETRACE_NO_P to EBT_PAGETRACE_P_MAX; DAMAGE: of its block */
	uint32_t what;	  /* enum ebt_pagetrace_what */
};

/* What a reader found so far. */
struct ebt_pagetrace_counts {
	uint64_t blocks, events, syncs;
	uint64_t large;	 /* of the events: those of two words */
	uint64_t raised; /* of the events: those with the time of the one before, which was later */
	uint64_t damaged; /* EBT_PAGETRACE_DAMAGE events */
	uint64_t damaged_bytes;
	bool has_boot; /* a block of P -1: the program ended by itself */
};

/* True if the first EBT_PAGETRACE_HEAD_BYTES bytes are those of a page trace: a P, then a time. */
bool ebt_pagetrace_is(const void *head, size_t bytes);

/*
 * The reader in the order of the file: events of a block in the order of time, block after block.
 */
struct ebt_pagetrace_reader;

/* 0 or -ENOMEM. The caller frees the reader with ebt_pagetrace_reader_free(). */
int ebt_pagetrace_reader_new(struct ebt_pagetrace_reader **ret);
void ebt_pagetrace_reader_free(struct ebt_pagetrace_reader *r); /* NULL is allowed */

/*
 * Where the next bytes of the trace go, and how many fit, at least EBT_PAGETRACE_BLOCK_BYTES after
 * ebt_pagetrace_read() returned -EAGAIN. The caller copies bytes there, then calls
 * ebt_pagetrace_put() with their number.
 */
void *ebt_pagetrace_room(struct ebt_pagetrace_reader *r, size_t *ret_bytes);
void ebt_pagetrace_put(struct ebt_pagetrace_reader *r, size_t bytes);
/* No bytes follow those that were put. */
void ebt_pagetrace_finish(struct ebt_pagetrace_reader *r);

/* Reads up to cap > 0 events. > 0: their number; 0: the end; -EAGAIN: more bytes are needed;
 * -EBADMSG: this is no page trace; the reader is at its end then. */
ssize_t ebt_pagetrace_read(struct ebt_pagetrace_reader *r, struct ebt_pagetrace_event *ev,
			   size_t cap);
struct ebt_pagetrace_counts ebt_pagetrace_counts(const struct ebt_pagetrace_reader *r);
/* One line of what was expected where: of the first damage or the error; "" without one. */
const char *ebt_pagetrace_reason(const struct ebt_pagetrace_reader *r);

/*
 * The reader in the order of time, of a trace that can be read at any offset. A lane is a P's
 * blocks; blocks of one P that go back in time, as when two processes wrote to one file, are of
 * several lanes. Memory: 16 bytes a block, 350 a lane, and at most 50 KiB for each lane that has
 * begun and not ended; it is doubled when it grows.
 */
struct ebt_pagetrace_file;

struct ebt_pagetrace_lane {
	int32_t p;
	uint64_t blocks, events;
	uint64_t first_ns, last_ns; /* of its events */
};

/* Bytes at an offset: their number, less than asked for only at the end of the file, or -errno. */
typedef ssize_t ebt_pagetrace_pread(void *ctx, void *to, size_t bytes, uint64_t offset);

/*
 * Reads the whole trace once, to find its blocks. 0; -EBADMSG: this is no page trace (an empty file
 * is one without blocks), or one of more than EBT_PAGETRACE_LANES_MAX lanes; -EFBIG: it has 2^32
 * blocks; -ENOMEM; an error of pread. `reason`, of EBT_PAGETRACE_REASON_BYTES or NULL, is set on
 * failure. The caller frees *ret with ebt_pagetrace_close(). A file that changes meanwhile gives
 * other events or damage.
 */
int ebt_pagetrace_open(ebt_pagetrace_pread *pread, void *ctx, struct ebt_pagetrace_file **ret,
		       char *reason);
void ebt_pagetrace_close(struct ebt_pagetrace_file *f); /* NULL is allowed */

size_t ebt_pagetrace_lanes(const struct ebt_pagetrace_file *f,
			   const struct ebt_pagetrace_lane **ret);
/* The next events of one lane, in order of time: > 0, 0 at its end, or -errno. cap > 0. */
ssize_t ebt_pagetrace_read_lane(struct ebt_pagetrace_file *f, size_t lane,
				struct ebt_pagetrace_event *ev, size_t cap);
/* The next events of all lanes, in order of time, then of P, then of lane. Not together with
 * ebt_pagetrace_read_lane(). > 0, 0 at the end, or -errno. cap > 0. */
ssize_t ebt_pagetrace_read_all(struct ebt_pagetrace_file *f, struct ebt_pagetrace_event *ev,
			       size_t cap);
/* All that the lanes have found so far; blocks, syncs and has_boot are of the whole file. */
struct ebt_pagetrace_counts ebt_pagetrace_file_counts(const struct ebt_pagetrace_file *f);
/* As ebt_pagetrace_reason(). */
const char *ebt_pagetrace_file_reason(const struct ebt_pagetrace_file *f);

/*
 * The writer, for one P, in memory that the caller owns: it never allocates, locks or does I/O, and
 * hands whole blocks to a function of the caller. Its blocks are those that Go's runtime would
 * write of the same events at multiples of 128 ns; other times are cut to these.
 */
struct ebt_pagetrace_writer {
	/* Stores a block, whole. 0 or -errno, which the writer keeps. */
	int (*write)(void *ctx, const void *block, size_t bytes);
	void *ctx;
	int32_t p;
	int error;	  /* the first one; events are dropped after it */
	uint64_t base_ns; /* of the last time word */
	uint64_t last_ns; /* of the last event */
	uint32_t words;	  /* in `block` */
	uint64_t block[EBT_PAGETRACE_BLOCK_BYTES / 8];
};

/* True if a run of pages can be written: addr is a multiple of EBT_PAGETRACE_PAGE_BYTES, pages at
 * least 1, and all lie below 2^48. */
static inline bool ebt_pagetrace_is_run(uint64_t addr, uint64_t pages)
{
	const uint64_t end = UINT64_C(1) << 48;
	return !(addr & (EBT_PAGETRACE_PAGE_BYTES - 1)) && addr < end &&
	       pages - 1 < (end - addr) / EBT_PAGETRACE_PAGE_BYTES;
}

/* All other fields are private. */
void ebt_pagetrace_writer_init(struct ebt_pagetrace_writer *w, int32_t p,
			       int (*write)(void *ctx, const void *block, size_t bytes), void *ctx);
/*
 * Writes an event of `what` ALLOC, FREE or SCAVENGE of a run as ebt_pagetrace_is_run() has it.
 * now_ns: CLOCK_MONOTONIC; an earlier time than the last one is raised to it. 0; -EINVAL: an
 * argument is out of range, nothing is written; else the first error of write().
 */
int ebt_pagetrace_write(struct ebt_pagetrace_writer *w, enum ebt_pagetrace_what what, uint64_t addr,
			uint64_t pages, uint64_t now_ns);
/* Stores the block begun, if it has an event. 0 or the first error. */
int ebt_pagetrace_write_flush(struct ebt_pagetrace_writer *w);
/* Stores the block begun, or one without an event: that of EBT_PAGETRACE_NO_P at the end of a trace
 * says that the program ended by itself. 0 or the first error. */
int ebt_pagetrace_write_end(struct ebt_pagetrace_writer *w, uint64_t now_ns);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
