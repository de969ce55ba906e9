/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocation traces of memtrace (.ctf), Jane Street's format for sampled allocations: a reader of
 * versions 1 to 3 and a writer of version 3. No I/O: the caller supplies the bytes of a trace in
 * order, from a file, a pipe or memory, and reads events, or writes events and stores the packets.
 * The format's source is github.com/janestreet/memtrace.
 *
 * Input is untrusted. A damaged packet becomes one event of what EBT_MEMTRACE_DAMAGE with the
 * offset in the trace and a reason, and reading continues at the next packet. Backtraces are coded
 * as differences, so frames that cannot be known after damage have the code EBT_MEMTRACE_UNKNOWN
 * until the trace defines them anew; they are never guessed. Where the clock of the program stepped
 * back, events have the time of the last one before until it has passed that again.
 *
 * Memory is bounded by the trace's own content: 300 KiB for each domain that allocates, and the
 * source positions that the trace defines.
 *
 * Not thread-safe: one reader, one thread at a time.
 */
#ifndef EBTRACE_MEMTRACE_H
#define EBTRACE_MEMTRACE_H

#include <ebtrace/event.h>
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

/* A frame whose code was in a part of the trace that is damaged. */
#define EBT_MEMTRACE_UNKNOWN INT64_MAX
/* The most frames of a backtrace. */
#define EBT_MEMTRACE_DEPTH (1u << 24)
/* The most bytes of a packet; memtrace reads no longer one. */
#define EBT_MEMTRACE_PACKET_BYTES 32768

/* The probability that a word is sampled where nobody chose one. */
#define EBT_MEMTRACE_RATE 1e-5

/* What the trace records of the program. Strings are never NULL. */
struct ebt_memtrace_info {
	double sample_rate; /* probability that a word is sampled */
	uint16_t version;   /* of the format: 1 to 3 */
	uint16_t domain;    /* of the thread that began the trace */
	uint8_t word_bits;  /* of the program: 64 or 32 */
	uint64_t pid;
	uint64_t start_us;	/* since the Unix epoch */
	const char *executable; /* its path, as the program was started */
	const char *host;
	const char *runtime_params;
	const char *context; /* what the program calls the trace; "": nothing */
};

/* One position in the source. A frame has several if functions were inlined into each other. */
struct ebt_memtrace_location {
	const char *file, *function; /* NULL: not known because of damage */
	uint32_t line;		     /* at most 2^20 - 1 */
	uint16_t first_char, last_char;
};

enum ebt_memtrace_what {
	EBT_MEMTRACE_ALLOC = 2,
	EBT_MEMTRACE_PROMOTE = 3,
	EBT_MEMTRACE_COLLECT = 4,
	EBT_MEMTRACE_DAMAGE = 32,
};

/* Of a PROMOTE and a COLLECT only time_us, obj, what, domain and frames (0) are set. */
struct ebt_memtrace_event {
	uint64_t time_us; /* since the Unix epoch; of a damage: of the last event before it */
	uint64_t obj;	  /* the number of the object; of a damage: its offset in the trace */
	uint8_t what;	  /* enum ebt_memtrace_what */
	uint8_t source;	  /* ALLOC: enum ebt_alloc_source */
	uint16_t domain;
	/*
	 * ALLOC: the backtrace is the first `common` frames of the last one of the same domain,
	 * then `frames` codes from `frame`, outermost first, valid until the next call of the
	 * reader. `common` is at most the number of frames of that last one, unless frames of it
	 * are unknown, or `again` is true: the backtrace is the last one unchanged then, and the
	 * codes are frames behind some that the writer cut. Where backtraces are skipped `frames`
	 * is 0, and `again` and `frame` are not set.
	 */
	uint32_t frames;
	uint32_t common; /* at most EBT_MEMTRACE_DEPTH */
	bool again;
	const int64_t *frame;
	/* ALLOC: without the header, as recorded, so it may be negative; DAMAGE: bytes skipped. */
	int64_t words;
	int64_t samples; /* ALLOC: how many words of it were sampled; DAMAGE: allocations lost */
};

/* What a reader skipped so far. */
struct ebt_memtrace_counts {
	uint64_t packets;
	uint64_t other_pid;    /* packets of another process, as after a fork */
	uint64_t truncated;    /* packets that end behind the trace: the last one */
	uint64_t damaged;      /* EBT_MEMTRACE_DAMAGE events */
	uint64_t lost_allocs;  /* in damaged packets, as their heads count them */
	uint64_t lost_packets; /* damaged packets of which the events are not counted */
	uint64_t raised;       /* events with a later time than their own: the clock stepped back */
};

struct ebt_memtrace_reader;

/* Skips the codes of backtraces, which is faster: events have no frames. */
#define EBT_MEMTRACE_SKIP_BACKTRACES 1u

/* 0 or -ENOMEM. The caller frees the reader with ebt_memtrace_reader_free(). */
int ebt_memtrace_reader_new(unsigned flags, struct ebt_memtrace_reader **ret);
void ebt_memtrace_reader_free(struct ebt_memtrace_reader *r); /* NULL is allowed */

/* Events of this domain only; the packets of others are skipped but for their positions. Before the
 * first event. */
void ebt_memtrace_select(struct ebt_memtrace_reader *r, uint16_t domain);

/*
 * Where the next bytes of the trace go, and how many fit; at least 64 KiB after
 * ebt_memtrace_read() returned -EAGAIN. The caller copies bytes there, then calls
 * ebt_memtrace_put() with their number.
 */
void *ebt_memtrace_room(struct ebt_memtrace_reader *r, size_t *ret_bytes);
void ebt_memtrace_put(struct ebt_memtrace_reader *r, size_t bytes);
/* No bytes follow those that were put. */
void ebt_memtrace_finish(struct ebt_memtrace_reader *r);

/*
 * Reads up to cap > 0 events, in the order of the trace: by time within a domain, packet by packet
 * between domains. > 0: their number; 0: the end; -EAGAIN: more bytes are needed; -EBADMSG: this is
 * no memtrace trace, or it has no readable head; -EPROTO: of a version that is not known; -ENOMEM.
 * After an error but -EAGAIN the reader is at its end.
 */
ssize_t ebt_memtrace_read(struct ebt_memtrace_reader *r, struct ebt_memtrace_event *ev, size_t cap);

/* NULL before the first event, or before ebt_memtrace_read() returned 0. */
const struct ebt_memtrace_info *ebt_memtrace_info(const struct ebt_memtrace_reader *r);
/* The positions of a code, outermost first; 0 if the trace does not define it, or as unknown. They
 * are valid until the next call of ebt_memtrace_read(), the strings until the reader is freed. */
size_t ebt_memtrace_locations(const struct ebt_memtrace_reader *r, int64_t code,
			      const struct ebt_memtrace_location **ret);
struct ebt_memtrace_counts ebt_memtrace_counts(const struct ebt_memtrace_reader *r);
/* One line of what was expected where: of the last error or damage; "" without one. */
const char *ebt_memtrace_reason(const struct ebt_memtrace_reader *r);

/*
 * The writer: of version 3, for one domain; the writers of one trace share a struct
 * ebt_memtrace_trace. It works in memory that the caller owns and never allocates, locks or does
 * I/O: it hands whole packets to a function of the caller. One writer, one thread at a time.
 *
 * A trace begins with the packet of ebt_memtrace_write_info(). A reader needs positions before the
 * packet that uses a code: the writer asks for those of a code that it sees for the first time.
 */
struct ebt_memtrace_trace {
	/* Writes a packet, whole and in the order of calls for each domain; may be called by
	 * several threads. 0 or -errno, which the writer keeps. */
	int (*write)(void *ctx, const void *packet, size_t bytes);
	/*
	 * The positions of a code, outermost first: returns how many there are, at most 255, and
	 * sets *ret, valid during the call; the names must stay valid as long as the writer. 0: not
	 * known.
	 */
	size_t (*locations)(void *ctx, int64_t code, const struct ebt_memtrace_location **ret);
	void *ctx;
	uint64_t pid;
	uint64_t start_us;
	uint64_t next_id; /* 0 at first; changed atomically by the writers */
};

/* The packet that begins a trace; also sets pid and start_us of the trace. 0, -EMSGSIZE: its
 * strings do not fit a packet; else the error of write(). */
int ebt_memtrace_write_info(struct ebt_memtrace_trace *t, const struct ebt_memtrace_info *info);

struct ebt_memtrace_writer;
/* The memory of a writer, 1 MiB or less; alignment of max_align_t. */
size_t ebt_memtrace_writer_bytes(void);
/* Makes a writer of zeroed memory. It needs no release. */
struct ebt_memtrace_writer *ebt_memtrace_writer_init(void *memory, struct ebt_memtrace_trace *t,
						     uint16_t domain, uint64_t now_us);

/* ALLOC: the writer numbers the object. */
#define EBT_MEMTRACE_NEW_OBJ UINT64_MAX

/*
 * Writes an ALLOC, PROMOTE or COLLECT; events of one writer are in order of time. 0 or the first
 * error of write(), after which events are dropped.
 *
 * The backtrace of an ALLOC is the first `common` frames of the last one of this writer, then the
 * codes, which are not 0; `again` and `domain` have no effect. What does not fit 4,096
 * bytes is cut at the inner end; the next `common` still counts what was cut. obj
 * EBT_MEMTRACE_NEW_OBJ is replaced by the object's number, for promote and collect; another number
 * is kept.
 */
int ebt_memtrace_write(struct ebt_memtrace_writer *w, struct ebt_memtrace_event *e);
/* Writes what is buffered. 0 or the first error. */
int ebt_memtrace_write_flush(struct ebt_memtrace_writer *w, uint64_t us);
/* Frames that were cut so far. */
uint64_t ebt_memtrace_writer_cut(const struct ebt_memtrace_writer *w);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
