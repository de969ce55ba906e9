/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring file: layout and protocol, stated once.
 *
 * The layout is that of OCaml 5.1-5.5's runtime_events (runtime/caml/runtime_events.h), so that
 * OCaml's readers read our files and we read theirs. Our additions are in bits that their readers
 * ignore: the low half of an event's header word, the pad words of a ring's header, and a block
 * after the names. Native byte order, every field 8 bytes:
 *
 *   0x00    struct ebt_ring_file                         64 bytes
 *   headers_offset + ring_header_size * r                struct ebt_ring_header of ring r
 *   data_offset + ring_size_bytes * r                    the words of ring r
 *   custom_events_offset + 128 * id                      name of user event id, NUL-padded; 8192
 *   custom_events_offset + EBT_RING_NAMES_BYTES          struct ebt_ring_ext (ours only)
 *
 * An event is a header word, a timestamp word (CLOCK_MONOTONIC ns), and its payload:
 *
 *   63        54 53   52   49 48      36 35    32 31                0
 *   +-----------+----+-------+----------+--------+-------------------+
 *   | words     |user| type  | id       | 0      | seq (ours only)   |
 *   +-----------+----+-------+----------+--------+-------------------+
 *
 * `words` includes the header and the timestamp. An event never straddles the end of the ring: a
 * padding record fills the words to the end. It is a header word with type 0 and user 0, without a
 * timestamp; words >= 1, and the content of the others is undefined.
 *
 * Custom payload (user type 4): the bytes, then unused bytes up to a word; the very last byte is
 * the number of unused bytes before it: bytes = 8 * payload_words - 1 - last.
 *
 * head and tail are running counts of words, never wrapped; a word's index is count & (elements-1).
 * The *position* of an event is the count at its header word.
 *
 * Protocol. One writer a ring. To write n words at tail t with padding p:
 *   W1  if t + n + p - head >= elements: move head to a later record, until that is not so
 *       store head (relaxed); fence(release) [F1]
 *   W2  write the words (relaxed)
 *   W3  store tail = t + n + p (release)
 * F1 orders the new head before the words that overwrite the released records: a reader that sees
 * any of the new words, and then (after an acquire fence [F2], its partner) reads head, sees a head
 * past them. Reader:
 *   R1  load tail (acquire; partner of W3)       R2  copy the words [cursor, tail)
 *   R3  fence(acquire) [F2], load head           R4  words below head may be torn: they are lost
 * A writer may release more than it needs at once (ours a block, 1/64 of the ring): a full ring
 * holds that much less. head is always the position of a record, so the intact rest of the copy
 * starts at a record. A system call that copies from the file orders nothing: a reader that uses
 * read() acquires by fences.
 *
 * seq is the ordinal of the event in its ring, modulo 2^32. An event that the writer dropped (a
 * probe inside a probe) uses an ordinal too, so a jump of seq between two records is exactly the
 * number of events that are missing there, for whatever reason.
 *
 * `writing` is 1 from before the timestamp is read until after the event's marker has fired: a
 * reader that finds 0 at time T knows that this ring will have no more events older than T.
 */
#ifndef EBTRACE_RING_H
#define EBTRACE_RING_H

#include <stdint.h>

#define EBT_RING_VERSION	 1
#define EBT_RING_HEADERS_OFFSET	 64
#define EBT_RING_MAX_DOMAINS	 4096
#define EBT_RING_MIN_LOG_WORDS	 9   /* an event is at most 1023 words: see EBT_RING_MAX_EVENT */
#define EBT_RING_MAX_LOG_WORDS	 27  /* 1 GiB a ring */
#define EBT_RING_NAME_BYTES	 128 /* with its NUL */
#define EBT_RING_NAMES		 8192
#define EBT_RING_NAMES_BYTES	 (EBT_RING_NAMES * EBT_RING_NAME_BYTES)
#define EBT_RING_MAX_EVENT_WORDS 1023

/*
 * A process whose environment has this variable, and that cannot make its ring, leaves a note in
 * the directory of the rings: the file ".RUN.PID.ERRNO.no-ring" with its name (comm). RUN is the
 * value of the variable, at most EBT_RING_RUN_BYTES - 1 digits, letters and '-', and ERRNO why.
 */
#define EBT_RING_RUN	   "EBTRACE_RUN"
#define EBT_RING_RUN_BYTES 48
#define EBT_RING_NOTE_END  ".no-ring"

/* Runtime (user = 0) and user (user = 1) event types. */
enum ebt_ring_type {
	EBT_RING_INTERNAL = 0,
	EBT_RING_LIFECYCLE = 1,
	EBT_RING_BEGIN = 2,
	EBT_RING_END = 3,
	EBT_RING_COUNTER = 4,
	EBT_RING_ALLOC = 5,
	EBT_RING_FLUSH = 6,
};
enum ebt_ring_user_type {
	EBT_RING_USER_UNIT = 0,
	EBT_RING_USER_INT = 1,
	EBT_RING_USER_SPAN_BEGIN = 2,
	EBT_RING_USER_SPAN_END = 3,
	EBT_RING_USER_CUSTOM = 4,
};

struct ebt_ring_file {
	uint64_t version; /* 1 */
	uint64_t max_domains;
	uint64_t ring_header_size; /* bytes; 80 */
	uint64_t ring_size_bytes;
	uint64_t ring_size_elements;   /* words; a power of two */
	uint64_t headers_offset;       /* 64 */
	uint64_t data_offset;	       /* headers_offset + ring_header_size * max_domains */
	uint64_t custom_events_offset; /* data_offset + ring_size_bytes * max_domains; 5.0: 0 */
};

struct ebt_ring_header {
	uint64_t head;
	uint64_t tail;
	/* padding in OCaml's files; ours when the file has a struct ebt_ring_ext */
	uint64_t events;     /* written into this ring */
	uint64_t dropped;    /* because of a probe inside a probe */
	uint64_t owner_tid;  /* the thread that writes now; 0: none */
	uint64_t generation; /* threads that have owned this ring */
	uint64_t writing;    /* see above */
	uint64_t last_tid;   /* the last owner, also when it has ended; 0: not known */
	uint64_t spare[2];
};

static inline uint64_t ebt_ring_event_header(uint64_t words, uint64_t user, uint64_t type,
					     uint64_t id, uint32_t seq)
{
	return words << 54 | user << 53 | type << 49 | id << 36 | seq;
}
static inline uint32_t ebt_ring_event_words(uint64_t header)
{
	return (uint32_t)(header >> 54);
}
static inline uint32_t ebt_ring_event_user(uint64_t header)
{
	return (uint32_t)(header >> 53 & 1);
}
static inline uint32_t ebt_ring_event_type(uint64_t header)
{
	return (uint32_t)(header >> 49 & 15);
}
static inline uint32_t ebt_ring_event_id(uint64_t header)
{
	return (uint32_t)(header >> 36 & 8191);
}
static inline uint32_t ebt_ring_event_seq(uint64_t header)
{
	return (uint32_t)header;
}

/*
 * The extension block. Every string is NUL-padded. It is written completely before the file gets
 * its name; only the counters, the runtime's name and `left_over` change afterwards. Three name
 * tables follow it: phases, counters, lifecycles; EBT_RING_EXT_NAME_BYTES each name.
 */
#define EBT_RING_EXT_MAGIC	0x3130545845544245ull /* "EBTEXT01" in the file */
#define EBT_RING_EXT_NAME_BYTES 64
#define EBT_RING_EXT_MAX_NAMES	1024 /* of each table, at most */

enum ebt_ring_clock { EBT_RING_CLOCK_MONOTONIC = 0 };

struct ebt_ring_ext {
	uint64_t magic;
	uint64_t size;	     /* bytes of this block with the tables */
	uint64_t byte_order; /* 0x0102030405060708 as the producer stores it */
	uint32_t word_bytes; /* 8 */
	uint32_t clock;	     /* enum ebt_ring_clock */
	uint64_t pid;	     /* in the process's own pid namespace */
	uint64_t start_time; /* field 22 of /proc/PID/stat: with pid, it identifies a process */
	uint64_t start_ns;   /* when the file was made */
	char boot_id[40];
	char producer[64];		       /* "ebtrace-probes 1.0" */
	char runtime[64];		       /* as set by ebt_runtime_name(); empty: not set */
	uint32_t phases, counters, lifecycles; /* names in each table */
	uint32_t left_over; /* 1: the process has ended, and the tracer is to remove the file */
	uint64_t no_ring_events; /* events of threads that found no free ring */
	char comm[16];		 /* the process's name when the file was made; empty: not known */
	/* The number of the first ring's domain, less than EBT_RING_MAX_DOMAINS; the others follow.
	 * 0 for the first copy of the producer in a process; the next one's are behind them. */
	uint64_t first_domain;
	uint64_t reserved[4];
};

#endif
