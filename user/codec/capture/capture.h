/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A capture: a complete stream of events, compressed (.ebt). Pure: encodes items as bytes and back,
 * no I/O, no globals. Blocks are independent: if bytes are missing or wrong, all other blocks are
 * still read, and the number of missing events is known.
 *
 * All numbers are little-endian; `v` is an unsigned LEB128 number of at most 10 bytes, `z` a signed
 * number n written as v of (n << 1 ^ n >> 63), `s` a string: v its length, then its bytes.
 * Differences are taken modulo 2^64.
 *
 *	file   := head block*                      the last block is of type END, if the run ended
 *	head   := "\xebEBT\r\n\x1a\n" u32 version (1) u32 0
 *	block  := u32 magic (0xb10ceb7e)
 *	          u32 type         1 events, 2 END: nothing follows
 *	          u32 stored       bytes of the frame
 *	          u32 raw          bytes that the frame holds, at most CAPTURE_RAW_MAX
 *	          u64 first_ns     no event of the block is older
 *	          u64 before       events in all blocks before this one (see `events`)
 *	          u32 events       in this block, without losses, damage and changes of processes
 *	          u32 crc32 of the frame
 *	          u32 crc32 of the 40 bytes before this one
 *	          frame            zstd, one whole frame: record*
 *
 * A record with a first byte below 0x80 is an event, and that byte lists its fields:
 *	0x01 LANE   v lane: not the lane of the previous event. A number equal to the count of
 *	            lanes so far defines a new one: v pid, v domain + 1 (16 bits). A block starts
 *	            with none
 *	     always v shape: kind, flags, id and size of an event. A number equal to the count of
 *	            shapes so far defines a new one: v kind, v id, v flags, v size (0 with a
 *	            payload)
 *	0x02 BACK   ts is smaller than that of the previous event
 *	     always v difference of ts to that of the previous event; of the first to first_ns
 *	0x04 WHERE  v tid, v cpu + 1 (16 bits), v stack: not those of the lane's last event (at
 *	            first 0, EBT_NO_CPU, 0)
 *	0x08 POS    z pos minus the expected one: pos + size of the lane's last event, EBT_NO_POS
 *	            if that had no pos and at first
 *	0x10 SEQ    z seq minus the expected one: 1 more than that of the lane's last event with
 *	            EBT_F_SEQ, 0 at first and without the flag
 *	0x20 ARG0, 0x40 ARG1
 *	            z arg[0], arg[1] minus those of the shape's last event, 0 at first
 *	     with EBT_F_PAYLOAD, instead of both: v size, v length, then the bytes
 * Losses, damage and changes of processes do not change the lane's expected pos and seq.
 *
 * Other records are 0x80 + type, v length, content. Readers skip unknown types, and bytes behind
 * the fields that they know; end_ns may be missing. An event refers only to records before it in
 * its own block.
 *	1 SESSION   s source, s clock, v start_ns, v run_begin_ns, v run_end_ns, v monotonic_ns,
 *	            v realtime_ns, v boottime_ns, v known: 1, 2, 4 … for each of these numbers in
 *	            order. In files written before `known` existed, 0 is "not known"
 *	2 PROCESS   v pid, s producer, s runtime, s comm, v release that numbers its phases (0: the
 *	            canonical ids), v usage known, v user_ns, v system_ns, v peak_rss_bytes,
 *	            v end_ns, v known (1: peak_rss_bytes, 2: end_ns), v release of its runtime
 *	            (0: not known), v bytes of a page of its heap (0: not known). In files written
 *	            before `known` existed, 0 is "not known"
 *	3 NAME      v pid, v id, s name of the user event
 *	4 RECOVERED v events, v words: counted as lost before, they follow late; v events, v words:
 *	            how many of both were of the history, absent in files written before they
 *	            existed
 *	5 TOTALS    v events, lost_events, lost_words, history_events, history_words, late, damaged,
 *	            first_ns, last_ns, timed: of the whole run, in the END block; in this order in
 *	            `totals`. timed (how many have a time) is absent in files written before it
 *	            existed
 *	6 INCARNATION
 *	            v pid, v number, v start known, v start (ns, CLOCK_BOOTTIME): from here to the
 *	            end of the block, events and items with this pid belong to the process with
 *	            this number, which is unique in the file; 0: to the process without a number.
 *	            Written if the pid had another process in the file, or the start is known. For
 *	            a reader that skips it all processes of a pid are one
 *	7 STRING    s text: string number n of the block, the first is 1
 *	8 FRAME     v address known, v address, v count of positions in the source, the outermost
 *	            inlined first, each: v function, v file (strings; 0: not known), v known
 *	            (1: line, 2: columns), v line, v first, v last column; then of the module that
 *	            the code was mapped from v path, v build id (strings; 0: not known), v offset
 *	            in its file, absent in files written before it existed. Numbered like strings
 *	9 STACK     v parent (0: none), v count, then `count` v frame: each defines a stack that is
 *	            one frame longer than the previous one, the first longer than the parent.
 *	            Numbered like strings; a stack number that its block does not define is 0
 *	10 GONE     v pid: its process has ended, and no event or item of it follows; an item or
 *	            event with this pid that follows is of another process. Absent where the run
 *	            ended first
 *	11 ALLOC_TRACE
 *	            v pid, v sample rate (the bits of a double), v bits of a word, v domain that
 *	            began the trace, s executable, s host, s parameters of the runtime, s context:
 *	            of what the process's alloc, promote and collect are samples. Behind the
 *	            PROCESS, before the first of these events; absent where it is not known
 *	12 TRIGGER  v pid, v domain + 1 (16 bits), v begin_ns, v end_ns, v from_ns, v kept_ns,
 *	            s span, s condition: why this part of a run was kept: this span of the process
 *	            and domain met the condition. The part was to begin at from_ns, and begins at
 *	            kept_ns.
 *	            The begins of phases that were open then are before it. v ns: the length of
 *	            the span; end_ns - begin_ns in files written before it existed
 *	13 MAPPING  v pid, v address, v bytes, s name: a named mapping of the process's address
 *	            space. Before the process's GONE, or at the end of the file; absent where its
 *	            pages are not traced
 */
#ifndef CODEC_CAPTURE_CAPTURE_H
#define CODEC_CAPTURE_CAPTURE_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CAPTURE_VERSION	    1
#define CAPTURE_HEAD_BYTES  16
#define CAPTURE_BLOCK_BYTES 44
#define CAPTURE_RAW_MAX	    (4u << 20)
#define CAPTURE_STORED_MAX  (CAPTURE_RAW_MAX + (64u << 10))
/* A longer payload is cut to this, with EBT_F_CUT. */
#define CAPTURE_PAYLOAD_MAX (1u << 20)
#define CAPTURE_NAME_MAX    1023
#define CAPTURE_TOTAL_COUNT 10
/* Limits of a block. A longer string of a stack is cut. */
#define CAPTURE_STRING_MAX    2047
#define CAPTURE_STRINGS	      (64u << 10)
#define CAPTURE_FRAMES	      (64u << 10)
#define CAPTURE_STACKS	      (256u << 10)
#define CAPTURE_POSITIONS_MAX 255 /* of a frame */
#define CAPTURE_RUN_MAX	      256 /* stacks of one item */
/* A longer text of an ALLOC_TRACE is cut. */
#define CAPTURE_TEXT_MAX    32767
#define CAPTURE_ALLOC_TEXTS 4
/* More than any item has bytes, but those of stacks. */
#define CAPTURE_ITEM_MAX (256u << 10)

enum capture_block_type {
	CAPTURE_BLOCK_EVENTS = 1,
	CAPTURE_BLOCK_END = 2,
};

enum capture_what {
	CAPTURE_EVENT = 0,
	CAPTURE_SESSION = 1,
	CAPTURE_PROCESS = 2,
	CAPTURE_NAME = 3,
	CAPTURE_RECOVERED = 4,
	CAPTURE_TOTALS = 5,
	CAPTURE_INCARNATION = 6,
	CAPTURE_STRING = 7,
	CAPTURE_FRAME = 8,
	CAPTURE_STACK = 9,
	CAPTURE_GONE = 10,
	CAPTURE_ALLOC_TRACE = 11,
	CAPTURE_TRIGGER = 12,
	CAPTURE_MAPPING = 13,
};

/* Which numbers of a session are known. */
enum capture_knows {
	CAPTURE_KNOWS_START = 1 << 0,
	CAPTURE_KNOWS_RUN_BEGIN = 1 << 1,
	CAPTURE_KNOWS_RUN_END = 1 << 2,
	CAPTURE_KNOWS_MONOTONIC = 1 << 3,
	CAPTURE_KNOWS_REALTIME = 1 << 4,
	CAPTURE_KNOWS_BOOTTIME = 1 << 5,
};

struct capture_session {
	char source[32], clock[32];
	uint64_t start_ns, run_begin_ns, run_end_ns;
	uint64_t monotonic_ns, realtime_ns, boottime_ns;
	uint32_t known; /* enum capture_knows */
};

struct capture_process {
	uint32_t pid;
	char producer[64], runtime[64], comm[32];
	uint32_t release;     /* enum ebt_release: of the numbers of its phases; 0: canonical */
	uint32_t own_release; /* enum ebt_release: of its runtime; 0: not known */
	uint32_t page_bytes;  /* of its page events; 0: not known */
	bool usage_known, peak_rss_known, end_known;
	uint64_t user_ns, system_ns, peak_rss_bytes, end_ns;
};

/* Distinguishes processes of one pid; also records when a process began. */
struct capture_incarnation {
	uint32_t pid, number;
	bool start_known;
	uint64_t start_boot_ns;
};

struct capture_name {
	uint32_t pid, id;
	char text[CAPTURE_NAME_MAX + 1];
};

/* Numbers count within the block: the reader sets them, the writer assigns its own. Pointers are
 * valid until the next call. */
struct capture_string {
	uint32_t number;
	const char *text; /* without a NUL */
	size_t bytes;
};

struct capture_position {
	uint32_t function, file; /* numbers of strings; 0: not known */
	uint32_t line, start_char, end_char;
	bool has_line, has_chars;
};

struct capture_frame {
	uint32_t number;
	uint64_t address;
	bool has_address;
	uint32_t count;
	const struct capture_position *position;
	uint32_t path, build_id; /* of the module: numbers of strings; 0: not known */
	uint64_t offset;
};

struct capture_stack {
	uint32_t number; /* of the first */
	uint32_t parent; /* 0: none */
	uint32_t count;
	const uint32_t *frame;
};

struct capture_text {
	const char *text; /* without a NUL */
	size_t bytes;
};

/* The order of an ALLOC_TRACE's texts. */
enum capture_alloc_text {
	CAPTURE_EXECUTABLE,
	CAPTURE_HOST,
	CAPTURE_PARAMETERS,
	CAPTURE_CONTEXT,
};

struct capture_alloc_trace {
	uint32_t pid;
	uint16_t domain;
	uint8_t word_bits;
	double sample_rate;
	struct capture_text text[CAPTURE_ALLOC_TEXTS];
};

struct capture_trigger {
	uint32_t pid;
	uint16_t domain;
	uint64_t begin_ns, end_ns, from_ns, kept_ns;
	uint64_t ns; /* its length: a pause may be shorter than from its begin to its end */
	char span[64], condition[96]; /* longer ones are cut */
};

struct capture_mapping {
	uint32_t pid;
	uint64_t addr, bytes;
	char name[48]; /* longer ones are cut */
};

struct capture_item {
	enum capture_what what;
	union {
		struct {
			struct ebt_event event;
			const void *payload; /* with EBT_F_PAYLOAD; valid until the next call */
			size_t payload_bytes;
		};
		struct capture_session session;
		struct capture_process process;
		struct capture_incarnation incarnation;
		uint32_t gone; /* a pid */
		struct capture_name name;
		struct {
			uint64_t events, words;
			uint64_t history_events, history_words; /* of them */
		} recovered;
		uint64_t totals[CAPTURE_TOTAL_COUNT];
		struct capture_string string;
		struct capture_frame frame;
		struct capture_stack stack;
		struct capture_alloc_trace alloc_trace;
		struct capture_trigger trigger;
		struct capture_mapping mapping;
	};
};

/* True if these first bytes of a file are those of a capture of any version. */
bool capture_is(const void *head, size_t len);

/* Writing. Items are added to the open block; closing it returns its bytes. */
struct capture_writer;

/* level: zstd's. 0 or -ENOMEM. */
int capture_writer_new(int level, struct capture_writer **ret);
void capture_writer_free(struct capture_writer *w);
/* The CAPTURE_HEAD_BYTES that a file begins with. */
void capture_put_head(void *ret);
/* 0 or -ENOMEM. Drops EBT_F_FINAL; the payload may be NULL without EBT_F_PAYLOAD. */
int capture_put_event(struct capture_writer *w, const struct ebt_event *ev, const void *payload,
		      size_t payload_bytes);
/* Any item but an event. */
int capture_put_item(struct capture_writer *w, const struct capture_item *item);
/* The number of the last item of a numbered kind in the open block; 0: none. */
uint32_t capture_last_number(const struct capture_writer *w, enum capture_what what);
/* True if the open block has room for a STACK, and for one FRAME with its strings before it. */
bool capture_takes_run(const struct capture_writer *w);
/* The block of `w`, which is empty, will follow the open block of another writer of the same
 * file. */
void capture_follow(struct capture_writer *w, const struct capture_writer *other);
/* Bytes in the open block. */
size_t capture_open_bytes(const struct capture_writer *w);
/* True if the open block must be closed: it has `bytes` bytes, or may not have room for another
 * event. */
bool capture_is_full(const struct capture_writer *w, size_t bytes);
/* Closes the block and opens the next. *ret_bytes is valid until the next call. Length or
 * -errno. */
ssize_t capture_close_block(struct capture_writer *w, enum capture_block_type type,
			    const void **ret_bytes);

/* Gives a whole block its place in another file: behind `before` events. Returns the number of its
 * own. */
uint32_t capture_block_move(void *block, uint64_t before);

/* Reading. The caller feeds the bytes of a file in any portions, and reads items. */
struct capture_reader;

/* Where a capture is damaged. */
struct capture_fault {
	uint64_t offset;
	const char *expected; /* static */
	uint64_t count;	      /* of damaged places; offset and expected are of the first */
};

struct capture_stats {
	uint64_t blocks, raw_bytes, stored_bytes, file_bytes;
	uint64_t missing; /* events of damaged blocks, emitted as lost */
	uint64_t triggers;
	struct capture_trigger trigger; /* the first of them */
	uint32_t version;
	bool whole; /* the END block was seen */
	bool ended; /* the whole file was read */
};

int capture_reader_new(struct capture_reader **ret); /* 0 or -ENOMEM */
void capture_reader_free(struct capture_reader *r);
/* The buffer for more bytes, at least 1; NULL: no memory. Call it only after -EAGAIN. */
void *capture_reader_room(struct capture_reader *r, size_t *ret_room);
/* `bytes` bytes were written to the buffer; 0: the file ends. */
void capture_reader_put(struct capture_reader *r, size_t bytes);
/*
 * 1: *ret is the next item; 0: the end; -EAGAIN: more bytes are needed; -EBADMSG: no capture;
 * -EPROTO: another version; -ENOMEM. Damaged bytes become EBT_DAMAGE (arg[0]: file offset, arg[1]:
 * bytes / 8, rounded up), events known to be missing EBT_LOST.
 */
int capture_reader_next(struct capture_reader *r, struct capture_item *ret);
/* NULL: none so far. */
const struct capture_fault *capture_reader_fault(const struct capture_reader *r);
const struct capture_stats *capture_reader_stats(const struct capture_reader *r);

#endif
