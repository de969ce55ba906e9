/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A capture: everything that a stream of events holds, compressed (.ebt). Pure: bytes to items and
 * back, no I/O, no globals. Each block stands alone, so a capture of which bytes are missing or
 * wrong gives all of its other blocks, and says how many events it does not give.
 *
 * All numbers are little-endian; `v` is an unsigned LEB128 number of at most 10 bytes, `z` the same
 * of a signed one folded by (n << 1 ^ n >> 63), `s` a string: v its length, then its bytes.
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
 * A record whose first byte is below 0x80 is an event, and that byte tells what it brings:
 *	0x01 LANE   v lane: it is not the lane of the event before. The number of lanes so far makes
 *	            a new one: v pid, v domain + 1 (16 bits). A block starts with none.
 *	     always v shape: kind, flags and the like of an event. The number of shapes so far makes
 *	            a new one: v kind, v id, v flags, v size (0 with a payload)
 *	0x02 BACK   the time goes back
 *	     always v difference of its ts to that of the event before; to first_ns at first
 *	0x04 WHERE  v tid, v cpu + 1 (16 bits), v stack: not those of the lane's last event (0,
 *	            EBT_NO_CPU, 0)
 *	0x08 POS    z pos minus the expected one: pos + size of the lane's last event, EBT_NO_POS
 *	            where it had no pos and at first
 *	0x10 SEQ    z seq minus the expected one: 1 more than that of the lane's last event with
 *	            EBT_F_SEQ, 0 at first and without the flag
 *	0x20 ARG0, 0x40 ARG1
 *	            z arg[0], arg[1] minus those of the shape's last event, 0 at first
 *	     with EBT_F_PAYLOAD, instead of both: v size, v length, then the bytes
 * Losses, damage and changes of processes leave the lane's expectations of pos and seq as they are.
 *
 * Other records are 0x80 + type, v length, content; readers skip what they do not know, and what
 * follows the fields that they know; end_ns may be missing. What an event refers to precedes it in its own block.
 *	1 SESSION   s source, s clock, v start_ns, v run_begin_ns, v run_end_ns, v monotonic_ns,
 *	            v realtime_ns, v boottime_ns, v known: 1, 2, 4 … for each of these numbers in
 *	            their order. Files written before `known` existed have 0 where it is not
 *	2 PROCESS   v pid, s producer, s runtime, s comm, v release whose numbers of phases it uses
 *	            (0: the canonical ones), v usage known, v user_ns, v system_ns, v peak_rss_bytes,
 *	            v end_ns, v known (1: peak_rss_bytes, 2: end_ns), v release of its runtime (0:
 *	            not known). Files written before `known` existed have 0 where it is not
 *	3 NAME      v pid, v id, s name of the user event
 *	4 RECOVERED v events, v words: no longer lost, they come late
 *	5 TOTALS    v events, lost_events, lost_words, history_events, history_words, late, damaged,
 *	            first_ns, last_ns, timed: of the whole run, in the END block; in this order in
 *	            `totals`. timed (how many have a time) is absent in files written before it existed
 *	6 INCARNATION v pid, v number, v start known, v start (ns, CLOCK_BOOTTIME): from here to the
 *	            end of the block events and items with this pid are of the process with this
 *	            number, another one for each process of the file; 0: of the one that has none.
 *	            Needed where a pid had meant another process in the file, or a start is known. A
 *	            reader that skips it takes all processes of a pid for one
 *	7 STRING    s text: string number n of the block, the first is 1
 *	8 FRAME     v address known, v address, v count of positions in the source, the outermost
 *	            inlined first, each: v function, v file (strings; 0: not known), v what is known
 *	            (1: line, 2: columns), v line, v first, v last column. Numbered as strings are
 *	9 STACK     v parent (0: none), v count, then so many v frame: each makes a stack of its own,
 *	            one frame longer than the one before, the first than the parent. Numbered as
 *	            strings are; an event's stack that no item of its block made is none
 */
#ifndef CODEC_CAPTURE_H
#define CODEC_CAPTURE_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CAPTURE_VERSION	    1
#define CAPTURE_HEAD_BYTES  16
#define CAPTURE_BLOCK_BYTES 44
#define CAPTURE_RAW_MAX	    (4u << 20)
#define CAPTURE_STORED_MAX  (CAPTURE_RAW_MAX + (64u << 10))
/* What a longer payload keeps; it gets EBT_F_CUT. */
#define CAPTURE_PAYLOAD_MAX (1u << 20)
#define CAPTURE_NAME_MAX    1023
#define CAPTURE_TOTAL_COUNT 10
/* Of a block, at most. A string of a stack that is longer is cut. */
#define CAPTURE_STRING_MAX    2047
#define CAPTURE_STRINGS	      (64u << 10)
#define CAPTURE_FRAMES	      (64u << 10)
#define CAPTURE_STACKS	      (256u << 10)
#define CAPTURE_POSITIONS_MAX 255 /* of a frame */
#define CAPTURE_RUN_MAX	      256 /* stacks of one item */

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
	bool usage_known, peak_rss_known, end_known;
	uint64_t user_ns, system_ns, peak_rss_bytes, end_ns;
};

/* Several processes had this pid, one after the other; or it says when its process began. */
struct capture_incarnation {
	uint32_t pid, number;
	bool start_known;
	uint64_t start_boot_ns;
};

struct capture_name {
	uint32_t pid, id;
	char text[CAPTURE_NAME_MAX + 1];
};

/* Their numbers are those in their block: set by the reader, and by the writer on its own. What they
 * point to is valid until the next call. */
struct capture_string {
	uint32_t number;
	const char *text; /* no NUL behind it */
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
};

struct capture_stack {
	uint32_t number; /* of the first */
	uint32_t parent; /* 0: none */
	uint32_t count;
	const uint32_t *frame;
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
		struct capture_name name;
		struct {
			uint64_t events, words;
		} recovered;
		uint64_t totals[CAPTURE_TOTAL_COUNT];
		struct capture_string string;
		struct capture_frame frame;
		struct capture_stack stack;
	};
};

/* Whether a file that begins so is meant to be a capture. */
bool capture_is(const void *head, size_t len);

/* Writing. Items go into the open block; closing it gives its bytes. */
struct capture_writer;

/* level: zstd's. 0 or -ENOMEM. */
int capture_writer_new(int level, struct capture_writer **ret);
void capture_writer_free(struct capture_writer *w);
/* The CAPTURE_HEAD_BYTES that a file begins with. */
void capture_put_head(void *ret);
/* Each: 0 or -ENOMEM. FINAL is not kept of an event; the payload may be NULL without the flag. */
int capture_put_event(struct capture_writer *w, const struct ebt_event *ev, const void *payload,
		      size_t payload_bytes);
/* Any item but an event. */
int capture_put_item(struct capture_writer *w, const struct capture_item *item);
/* How many items of a kind that is numbered the open block has: the number of the last one. */
uint32_t capture_last_number(const struct capture_writer *w, enum capture_what what);
/* The open block has room for an item of stacks, and before it for one frame with its strings. */
bool capture_takes_run(const struct capture_writer *w);
/* The block of `w`, which is empty, will follow the open block of another writer of the same file. */
void capture_follow(struct capture_writer *w, const struct capture_writer *other);
/* Bytes in the open block. */
size_t capture_open_bytes(const struct capture_writer *w);
/* The tables of the block have no room for one more event of any kind: it must be closed. */
bool capture_is_full(const struct capture_writer *w);
/* Ends the block; the next begins. *ret_bytes is valid until the next call. Length or -errno. */
ssize_t capture_close_block(struct capture_writer *w, enum capture_block_type type,
			    const void **ret_bytes);

/* Reading. The caller puts the bytes of a file in, in any portions, and takes items out. */
struct capture_reader;

/* Where a capture was not what was expected. */
struct capture_fault {
	uint64_t offset;
	const char *expected; /* static */
	uint64_t count;	      /* of places; the fields are those of the first */
};

struct capture_stats {
	uint64_t blocks, raw_bytes, stored_bytes, file_bytes;
	uint64_t missing; /* events of damaged blocks, told as lost */
	uint32_t version;
	bool whole; /* the END block was seen */
	bool ended; /* nothing is left to be read */
};

int capture_reader_new(struct capture_reader **ret); /* 0 or -ENOMEM */
void capture_reader_free(struct capture_reader *r);
/* Where to put more bytes, at least 1; NULL: no memory. Call it only after -EAGAIN. */
void *capture_reader_room(struct capture_reader *r, size_t *ret_room);
/* So many bytes were put there; 0: the file ends here. */
void capture_reader_put(struct capture_reader *r, size_t bytes);
/*
 * 1: *ret is the next item; 0: the end; -EAGAIN: more bytes are needed; -EBADMSG: no capture;
 * -EPROTO: another version; -ENOMEM. Bytes that are not understood come out as EBT_DAMAGE (arg[0]:
 * file offset, arg[1]: bytes / 8, rounded up), events that are known to be missing as EBT_LOST.
 */
int capture_reader_next(struct capture_reader *r, struct capture_item *ret);
/* NULL: none so far. */
const struct capture_fault *capture_reader_fault(const struct capture_reader *r);
const struct capture_stats *capture_reader_stats(const struct capture_reader *r);

#endif
