/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures that no writer of ours makes: of a later version, or of somebody who means harm. */
#include "codec/capture/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compress.h"
#include "base/leb128.h"
#include "tests/tap.h"

#define FILE_BYTES (10u << 20)

static uint8_t file[FILE_BYTES];
static size_t file_len;
static struct compress *compress;

static void begin(void)
{
	capture_put_head(file);
	file_len = CAPTURE_HEAD_BYTES;
}

/* A block of any records; `raw` is what its head says of their length. */
static void add(uint32_t type, const void *records, size_t len, uint32_t raw, uint64_t before,
		uint32_t events)
{
	uint8_t *frame = file + file_len + CAPTURE_BLOCK_BYTES;
	ssize_t n = compress_pack(compress, frame, FILE_BYTES - file_len - CAPTURE_BLOCK_BYTES,
				  records, len);
	if (n < 0)
		abort();
	struct capture_block b = {
		.type = type,
		.stored = (uint32_t)n,
		.raw = raw,
		.events = events,
		.before = before,
		.crc = compress_crc32(frame, (size_t)n),
		.first_ns = 100,
	};
	capture_block_put(&b, file + file_len);
	file_len += CAPTURE_BLOCK_BYTES + (size_t)n;
}
#define ADD(type, records, before, events) \
	add(type, records, sizeof(records), sizeof(records), before, events)

struct seen {
	int end;
	unsigned events, items, damaged;
	uint64_t lost, last_ns;
	uint64_t damaged_words;
	uint64_t reached; /* see reached() */
	uint32_t known;	  /* of the session */
	struct capture_fault fault;
	struct capture_stats stats;
};

/* The highest number that the item has in a table of the decoder, or that its last entry has. */
static uint64_t reached(const struct capture_item *item)
{
	const struct capture_frame *f = &item->frame;
	switch (item->what) {
	case CAPTURE_EVENT:
		return item->event.pid > item->event.id ? item->event.pid : item->event.id;
	case CAPTURE_STRING:
		return item->string.number;
	case CAPTURE_FRAME:
		return f->count ? f->position[f->count - 1].line : f->number;
	case CAPTURE_STACK:
		return item->stack.number + item->stack.count - 1;
	default:
		return 0;
	}
}

static struct seen read_file(void)
{
	struct seen t = {0};
	struct capture_reader *r;
	struct capture_item item;
	size_t at = 0, room;
	if (capture_reader_new(&r))
		abort();
	while ((t.end = capture_reader_next(r, &item)) == 1 || t.end == -EAGAIN) {
		if (t.end == -EAGAIN) {
			void *into = capture_reader_room(r, &room);
			size_t n = file_len - at < room ? file_len - at : room;
			memcpy(into, file + at, n);
			capture_reader_put(r, n);
			at += n;
			continue;
		}
		t.items += item.what != CAPTURE_EVENT;
		t.known = item.what == CAPTURE_SESSION ? item.session.known : t.known;
		t.reached = reached(&item) > t.reached ? reached(&item) : t.reached;
		if (item.what != CAPTURE_EVENT)
			continue;
		t.events += capture_counts(item.event.kind);
		t.damaged += item.event.kind == EBT_DAMAGE;
		t.damaged_words += item.event.kind == EBT_DAMAGE ? item.event.arg[1] : 0;
		t.lost += item.event.kind == EBT_LOST ? item.event.arg[0] : 0;
		t.last_ns = item.event.ts;
	}
	if (capture_reader_fault(r))
		t.fault = *capture_reader_fault(r);
	t.stats = *capture_reader_stats(r);
	capture_reader_free(r);
	return t;
}

/* lane 0 (pid 5, domain 0), shape 0 (begin, id 1, no flags, 2 words), 1 ns later */
#define FIRST_EVENT CAPTURE_LANE, 0, 5, 1, 0, EBT_BEGIN, 1, 0, 2, 1
#define NEXT_EVENT  0, 0, 1

/* A record that no reader knows. */
static const uint8_t nothing[] = {CAPTURE_ITEM | 99, 0};

static void test_heads(void)
{
	begin();
	file[8] = 2;
	struct seen t = read_file();
	ok(t.end == -EPROTO && t.fault.offset == 8, "another version is refused, with the place");
	is_str(t.fault.expected, "version 1", "and it is said which one was expected");
	begin();
	file[3] ^= 1;
	t = read_file();
	ok(t.end == -EBADMSG && t.fault.offset == 0, "what does not begin as a capture is none");
	ok(!capture_is(file, 16) && !capture_is(file, 3), "nor is it taken for one");
	file_len = 0;
	is(read_file().end, -EBADMSG, "an empty file is none");
	begin();
	t = read_file();
	ok(t.end == 0 && !t.stats.whole && !t.damaged,
	   "a head alone is a run that was interrupted");
}

static void test_later(void)
{
	const uint8_t records[] = {CAPTURE_ITEM | 99, 3, 1, 2, 3, FIRST_EVENT, NEXT_EVENT};
	const uint8_t longer[] = {
		CAPTURE_ITEM | CAPTURE_RECOVERED, 6, 1, 2, 0, 1, 77, 78, FIRST_EVENT};
	const uint8_t kind[] = {FIRST_EVENT, 0, 1, 60, 1, 0, 2, 1, NEXT_EVENT};
	begin();
	ADD(CAPTURE_BLOCK_EVENTS, records, 0, 2);
	ADD(7, "a later block", 2, 0);
	ADD(CAPTURE_BLOCK_EVENTS, longer, 2, 1);
	ADD(CAPTURE_BLOCK_END, records, 3, 2);
	struct seen t = read_file();
	ok(t.events == 5 && t.items == 1 && !t.lost && !t.damaged && t.stats.whole,
	   "records, fields and blocks of a later program are skipped");
	begin();
	ADD(CAPTURE_BLOCK_EVENTS, kind, 0, 3);
	ADD(CAPTURE_BLOCK_END, nothing, 3, 0);
	t = read_file();
	ok(t.events == 2 && t.lost == 1 && !t.damaged,
	   "an event of a kind that we do not know is told as lost");
}

static void test_records(void)
{
	static const struct {
		const char *name;
		uint8_t records[24];
		size_t len;
	} cases[] = {
		{"an event before there is a lane", {0, 0, 1}, 3},
		{"a lane that was left out", {CAPTURE_LANE, 1, 5, 1, 0}, 5},
		{"a shape that was left out", {CAPTURE_LANE, 0, 5, 1, 3}, 5},
		{"a domain of more than 16 bits",
		 {CAPTURE_LANE, 0, 5, 0x80, 0x80, 0x80, 1, 0, 1, 1, 0, 2, 1},
		 13},
		{"a number that never ends",
		 {CAPTURE_LANE, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		  0xff},
		 13},
		{"an event that is cut", {FIRST_EVENT}, 9},
		{"a payload longer than the block",
		 {CAPTURE_LANE, 0, 5, 1, 0, EBT_CUSTOM, 1, EBT_F_PAYLOAD, 0, 1, 4, 100, 1},
		 13},
		{"a record longer than the block", {CAPTURE_ITEM | 99, 100, 1}, 3},
		{"a string longer than its record",
		 {CAPTURE_ITEM | CAPTURE_NAME, 3, 1, 1, 100, 'a', 'b'},
		 7},
		{"more events before the trace than were lost",
		 {CAPTURE_ITEM | CAPTURE_RECOVERED, 4, 1, 2, 2, 2},
		 6},
		{"more words before the trace than were lost",
		 {CAPTURE_ITEM | CAPTURE_RECOVERED, 4, 1, 2, 1, 3},
		 6},
		{"a record shorter than its fields",
		 {CAPTURE_ITEM | CAPTURE_RECOVERED, 1, 1, 1},
		 3},
	};
	const uint8_t good[] = {FIRST_EVENT, NEXT_EVENT};
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin();
		ADD(CAPTURE_BLOCK_EVENTS, good, 0, 2);
		add(CAPTURE_BLOCK_EVENTS, cases[i].records, cases[i].len, (uint32_t)cases[i].len, 2,
		    4);
		ADD(CAPTURE_BLOCK_END, good, 6, 2);
		struct seen t = read_file();
		ok(!t.end && t.damaged == 1 && t.lost == 4 && t.events == 4, "%s is damage",
		   cases[i].name);
	}
}

static uint8_t records[CAPTURE_RAW_MAX + 64];

static uint8_t *put_entry(uint8_t *p, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p = leb128_put(p, v[i]);
	return p;
}
#define PUT(p, ...)                                   \
	put_entry(p, (const uint64_t[]){__VA_ARGS__}, \
		  sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
/* A whole item by its type, the length of its content, and that. */
static uint8_t *put_item(uint8_t *p, unsigned type, const uint8_t *content, size_t len)
{
	*p++ = (uint8_t)(CAPTURE_ITEM | type);
	p = leb128_put(p, len);
	if (len)
		memcpy(p, content, len);
	return p + len;
}

/* The i-th lane: pid i + 1, with an event of the only shape. */
static uint8_t *put_lane(uint8_t *p, uint64_t i)
{
	p = PUT(p, CAPTURE_LANE, i, i + 1, 1, 0);
	return i ? PUT(p, 1) : PUT(p, EBT_BEGIN, 0, 0, 2, 1);
}

/* The i-th shape: id i + 1, with an event of the only lane. */
static uint8_t *put_shape(uint8_t *p, uint64_t i)
{
	p = i ? PUT(p, 0) : PUT(p, CAPTURE_LANE, 0, 0, 1);
	return PUT(p, i, EBT_BEGIN, i + 1, 0, 2, 1);
}

static uint8_t *put_string(uint8_t *p, uint64_t i)
{
	(void)i;
	return put_item(p, CAPTURE_STRING, (const uint8_t *)"\1f", 2);
}

static uint8_t *put_frame(uint8_t *p, uint64_t i)
{
	(void)i;
	return put_item(p, CAPTURE_FRAME, (const uint8_t *)"\0\0\0", 3);
}

/* A frame with n positions; each line is that of its number. */
static uint8_t *put_positions(uint8_t *p, uint64_t n)
{
	uint8_t content[5 * CAPTURE_POSITIONS_MAX * 8], *c = PUT(content, 0, 0, n);
	for (uint64_t i = 0; i < n; i++)
		c = PUT(c, 0, 0, CAPTURE_HAS_LINE, i + 1, 0, 0);
	return put_item(p, CAPTURE_FRAME, content, (size_t)(c - content));
}

static uint8_t *put_run(uint8_t *p, uint64_t n)
{
	uint8_t content[6 * CAPTURE_RUN_MAX], *c = PUT(content, 0, n);
	memset(c, 1, n);
	return put_item(put_frame(p, 0), CAPTURE_STACK, content, (size_t)(c - content) + n);
}

/* Runs of stacks, as long as they may be, and one of the rest. */
static uint8_t *put_stacks(uint8_t *p, uint64_t n)
{
	for (; n > CAPTURE_RUN_MAX; n -= CAPTURE_RUN_MAX)
		p = put_run(p, CAPTURE_RUN_MAX);
	return put_run(p, n);
}

static void test_limits(void)
{
	static const struct {
		const char *name;
		uint32_t limit;
		bool one;      /* an item that holds all entries */
		uint32_t kept; /* of an item or a table that is refused */
		uint8_t *(*put)(uint8_t *p, uint64_t n);
	} rows[] = {
		{"lanes of a block", CAPTURE_LANES, false, CAPTURE_LANES, put_lane},
		{"shapes of a block", CAPTURE_SHAPES, false, CAPTURE_SHAPES, put_shape},
		{"strings of a block", CAPTURE_STRINGS, false, CAPTURE_STRINGS, put_string},
		{"frames of a block", CAPTURE_FRAMES, false, CAPTURE_FRAMES, put_frame},
		{"stacks of a block", CAPTURE_STACKS, true, CAPTURE_STACKS, put_stacks},
		{"positions of a frame", CAPTURE_POSITIONS_MAX, true, 0, put_positions},
		{"stacks of an item", CAPTURE_RUN_MAX, true, 1, put_run},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const uint64_t counts[] = {rows[i].limit, rows[i].limit + 1, 5ull * rows[i].limit};
		for (unsigned k = 0; k < 3; k++) {
			uint8_t *p = records;
			for (uint64_t n = 0; !rows[i].one && n < counts[k]; n++)
				p = rows[i].put(p, n);
			p = rows[i].one ? rows[i].put(p, counts[k]) : p;
			size_t len = (size_t)(p - records);
			begin();
			add(CAPTURE_BLOCK_EVENTS, records, len, (uint32_t)len, 0, 0);
			ADD(CAPTURE_BLOCK_END, nothing, 0, 0);
			struct seen t = read_file();
			ok(!t.end && t.damaged == (k > 0) &&
				   t.reached == (k ? rows[i].kept : rows[i].limit),
			   "%llu %s: %s", (unsigned long long)counts[k], rows[i].name,
			   k ? "damage" : "all are read");
			if (t.damaged != (k > 0) || t.end)
				diag("%u damaged, %llu reached", t.damaged,
				     (unsigned long long)t.reached);
		}
	}
}

/* An item behind one string, one frame and one stack. 1: it is read; 0: it alone is damage. */
static int is_read(unsigned type, const uint8_t *content, size_t bytes)
{
	uint8_t *p = put_item(put_run(put_string(records, 0), 1), type, content, bytes);
	size_t len = (size_t)(p - records);
	begin();
	add(CAPTURE_BLOCK_EVENTS, records, len, (uint32_t)len, 0, 0);
	ADD(CAPTURE_BLOCK_END, nothing, 0, 0);
	struct seen t = read_file();
	if (t.end || t.damaged > 1 || t.items != 4 - t.damaged)
		return -1;
	return !t.damaged;
}

/* Numbers of what comes earlier in the block. */
static void test_references(void)
{
	static const struct {
		const char *name;
		unsigned type;
		bool is_good;
		uint8_t content[12];
		size_t len;
	} rows[] = {
		{"a frame's function", CAPTURE_FRAME, true, {0, 0, 1, 1, 0, 0, 0, 0, 0}, 9},
		{"a frame's function", CAPTURE_FRAME, false, {0, 0, 1, 2, 0, 0, 0, 0, 0}, 9},
		{"a frame's file", CAPTURE_FRAME, true, {0, 0, 1, 0, 1, 0, 0, 0, 0}, 9},
		{"a frame's file", CAPTURE_FRAME, false, {0, 0, 1, 0, 2, 0, 0, 0, 0}, 9},
		{"a frame's module", CAPTURE_FRAME, true, {0, 0, 0, 1, 1, 0}, 6},
		{"a frame's module", CAPTURE_FRAME, false, {0, 0, 0, 2, 1, 0}, 6},
		{"a frame's build id", CAPTURE_FRAME, false, {0, 0, 0, 1, 2, 0}, 6},
		{"a stack's frame", CAPTURE_STACK, true, {0, 1, 1}, 3},
		{"a stack's frame", CAPTURE_STACK, false, {0, 1, 2}, 3},
		{"a stack's frame", CAPTURE_STACK, false, {0, 1, 0}, 3},
		{"the stack that a stack extends", CAPTURE_STACK, true, {1, 1, 1}, 3},
		{"the stack that a stack extends, itself", CAPTURE_STACK, false, {2, 1, 1}, 3},
		{"the stack that a stack extends", CAPTURE_STACK, false, {3, 1, 1}, 3},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ok(is_read(rows[i].type, rows[i].content, rows[i].len) == rows[i].is_good,
		   "%s is %s", rows[i].name,
		   rows[i].is_good ? "one of before" : "damage if it was not before");
}

/* A line and columns have 32 bits. */
/* 1: the event is read; 0: it is damage. */
static int is_event_read(const uint8_t *record, size_t bytes)
{
	begin();
	add(CAPTURE_BLOCK_EVENTS, record, bytes, (uint32_t)bytes, 0, 1);
	ADD(CAPTURE_BLOCK_END, nothing, 1, 0);
	struct seen t = read_file();
	return t.end || t.damaged > 1 ? -1 : !t.damaged;
}

#define EVENT 0 /* in place of an item's type */
/* A lane, a shape, and where the event was. */
#define EVENT_NUMBERS CAPTURE_LANE | CAPTURE_WHERE, 0, 5, 1, 0, EBT_BEGIN, 1, 0, 2, 1, 7, 1, 0

/* Each number as large as its field, and one more. */
static void test_numbers(void)
{
	static const struct {
		const char *name;
		unsigned type, field;
		uint64_t most;
		unsigned count;
		uint64_t number[13];
	} rows[] = {
		{"process of a lane", EVENT, 2, UINT32_MAX, 13, {EVENT_NUMBERS}},
		{"domain of a lane", EVENT, 3, UINT16_MAX, 13, {EVENT_NUMBERS}},
		{"kind of a shape", EVENT, 5, UINT16_MAX, 13, {EVENT_NUMBERS}},
		{"id of a shape", EVENT, 6, UINT32_MAX, 13, {EVENT_NUMBERS}},
		{"size of a shape", EVENT, 8, UINT32_MAX, 13, {EVENT_NUMBERS}},
		{"thread of an event", EVENT, 10, UINT32_MAX, 13, {EVENT_NUMBERS}},
		{"CPU of an event", EVENT, 11, UINT16_MAX, 13, {EVENT_NUMBERS}},
		{"process", CAPTURE_PROCESS, 0, UINT32_MAX, 9, {5}},
		{"process of an incarnation", CAPTURE_INCARNATION, 0, UINT32_MAX, 4, {5}},
		{"number of an incarnation", CAPTURE_INCARNATION, 1, UINT32_MAX, 4, {5}},
		{"process that is gone", CAPTURE_GONE, 0, UINT32_MAX, 1, {5}},
		{"process of a name", CAPTURE_NAME, 0, UINT32_MAX, 3, {5}},
		{"number of a name", CAPTURE_NAME, 1, UINT32_MAX, 3, {5}},
		{"process of a trace", CAPTURE_ALLOC_TRACE, 0, UINT32_MAX, 8, {5}},
		{"bits of a word", CAPTURE_ALLOC_TRACE, 2, UINT8_MAX, 8, {5}},
		{"domain of a trace", CAPTURE_ALLOC_TRACE, 3, UINT16_MAX, 8, {5}},
		{"process of a trigger", CAPTURE_TRIGGER, 0, UINT32_MAX, 8, {5}},
		{"domain of a trigger", CAPTURE_TRIGGER, 1, UINT16_MAX, 8, {5}},
		{"process of a mapping", CAPTURE_MAPPING, 0, UINT32_MAX, 4, {5}},
		{"line", CAPTURE_FRAME, 6, UINT32_MAX, 9, {0, 0, 1}},
		{"first column", CAPTURE_FRAME, 7, UINT32_MAX, 9, {0, 0, 1}},
		{"last column", CAPTURE_FRAME, 8, UINT32_MAX, 9, {0, 0, 1}},
		{"older of the recovered events", CAPTURE_RECOVERED, 2, 9, 4, {9, 8}},
		{"older of the recovered words", CAPTURE_RECOVERED, 3, 8, 4, {9, 8}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int read[2];
		for (unsigned k = 0; k < 2; k++) {
			uint8_t content[80];
			uint64_t number[13];
			memcpy(number, rows[i].number, sizeof(number));
			number[rows[i].field] = rows[i].most + k;
			size_t n = (size_t)(put_entry(content, number, rows[i].count) - content);
			read[k] = rows[i].type == EVENT ? is_event_read(content, n)
							: is_read(rows[i].type, content, n);
		}
		ok(read[0] == 1 && read[1] == 0,
		   "%s: %llu is read, and the number behind it is damage", rows[i].name,
		   (unsigned long long)rows[i].most);
		if (read[0] != 1 || read[1])
			diag("%d, %d", read[0], read[1]);
	}
}

/* How many bytes of a text of `bytes` are kept, with an event behind the item. */
static size_t kept_text(unsigned type, size_t bytes)
{
	static const uint8_t event[] = {FIRST_EVENT};
	struct capture_item item;
	struct capture_decoder *d = malloc(sizeof(*d));
	uint8_t *content = calloc(1, bytes + 64);
	uint8_t *raw = calloc(1, bytes + 128 + CAPTURE_PAD);
	if (!d || !content || !raw)
		abort();
	uint8_t *c = type == CAPTURE_ALLOC_TRACE ? PUT(content, 5, 0, 64, 0, bytes)
						 : PUT(content, bytes);
	memset(c, 'x', bytes);
	size_t len = (size_t)(c - content) + bytes + (type == CAPTURE_ALLOC_TRACE ? 3 : 0);
	uint8_t *p = put_item(raw, type, content, len);
	memcpy(p, event, sizeof(event));
	capture_decoder_start(d, raw, (size_t)(p - raw) + sizeof(event), 0);
	if (capture_decode(d, &item) != 1)
		abort();
	size_t kept = type == CAPTURE_ALLOC_TRACE ? item.alloc_trace.text[CAPTURE_EXECUTABLE].bytes
						  : item.string.bytes;
	bool follows = capture_decode(d, &item) == 1 && item.what == CAPTURE_EVENT &&
		       item.event.pid == 5 && !capture_decode(d, &item);
	free(raw);
	free(content);
	free(d);
	return follows ? kept : SIZE_MAX;
}

static void test_texts(void)
{
	static const struct {
		const char *name;
		unsigned type;
		size_t max;
	} rows[] = {
		{"string of a stack", CAPTURE_STRING, CAPTURE_STRING_MAX},
		{"text of an allocation trace", CAPTURE_ALLOC_TRACE, CAPTURE_TEXT_MAX},
	};
	for (unsigned i = 0; i < 2; i++) {
		size_t max = rows[i].max;
		ok(kept_text(rows[i].type, max - 1) == max - 1 &&
			   kept_text(rows[i].type, max) == max,
		   "a %s of as many bytes as it may have is whole", rows[i].name);
		ok(kept_text(rows[i].type, max + 1) == max &&
			   kept_text(rows[i].type, 5 * max) == max,
		   "a longer %s is cut there, and what follows it is read", rows[i].name);
	}
}

static void test_bombs(void)
{
	static uint8_t zeroes[8u << 20];
	const uint8_t good[] = {FIRST_EVENT};
	begin();
	add(CAPTURE_BLOCK_EVENTS, zeroes, sizeof(zeroes), sizeof(zeroes), 0, 5);
	ADD(CAPTURE_BLOCK_END, good, 5, 1);
	struct seen t = read_file();
	ok(t.events == 1 && t.damaged == 1 && t.lost == 5,
	   "a block that says that it holds more than 4 MiB is refused");
	ok(!strcmp(t.fault.expected, "the head of a block"), "by its head");
	for (uint32_t more = 0; more < 2; more++) {
		/* Items without content that no reader knows. */
		for (size_t i = 0; i < CAPTURE_RAW_MAX + 2 * more; i += 2)
			memcpy(zeroes + i, nothing, 2);
		begin();
		uint32_t bytes = CAPTURE_RAW_MAX + 2 * more;
		add(CAPTURE_BLOCK_EVENTS, zeroes, bytes, bytes, 0, 5);
		ADD(CAPTURE_BLOCK_END, good, 5, 1);
		t = read_file();
		ok(t.damaged == more && t.events == 1,
		   more ? "a block of one item more than 4 MiB is refused"
			: "one of 4 MiB is read");
	}
	memset(zeroes, 0, sizeof(zeroes));
	begin();
	add(CAPTURE_BLOCK_EVENTS, zeroes, sizeof(zeroes), 100, 0, 5);
	ADD(CAPTURE_BLOCK_END, good, 5, 1);
	t = read_file();
	ok(t.events == 1 && t.damaged == 1 && t.lost == 5,
	   "a frame that holds more than its head says is refused");
	begin();
	add(CAPTURE_BLOCK_EVENTS, zeroes, 100, 1000, 0, 5);
	ADD(CAPTURE_BLOCK_END, good, 5, 1);
	t = read_file();
	ok(t.events == 1 && t.damaged == 1 && t.lost == 5, "and so is one that holds less");
}

/* Each head names a body of all that follows: summing them all up would take hours. */
static void test_heads_without_end(void)
{
	begin();
	struct capture_block b = {.type = CAPTURE_BLOCK_EVENTS, .stored = CAPTURE_STORED_MAX};
	while (file_len + CAPTURE_BLOCK_BYTES <= FILE_BYTES) {
		capture_block_put(&b, file + file_len);
		file_len += CAPTURE_BLOCK_BYTES;
	}
	struct seen t = read_file();
	ok(!t.end && t.damaged == 1, "a file of nothing but heads of long blocks ends");
}

/* Which times of a session are known: in files that do not name them, those that are not 0. */
static void test_times(void)
{
	for (uint32_t known = 0; known < 64; known++) {
		uint8_t item[] = {CAPTURE_ITEM | CAPTURE_SESSION, 8, 0, 0, 0, 0, 0, 0, 0, 0};
		for (unsigned i = 0; i < 6; i++)
			item[4 + i] = known >> i & 1 ? (uint8_t)(i + 1) : 0;
		begin();
		ADD(CAPTURE_BLOCK_END, item, 0, 0);
		struct seen t = read_file();
		if (t.known != known || t.damaged)
			ok(0, "times %x are known, got %x", known, t.known);
	}
	uint8_t item[] = {CAPTURE_ITEM | CAPTURE_SESSION, 9, 0, 0, 1, 0, 0, 0, 0, 3, 0x12};
	begin();
	ADD(CAPTURE_BLOCK_END, item, 0, 0);
	is(read_file().known, 0x12, "where the file says it, that counts");
}

/* What the item of these bytes is, decoded alone. */
static struct capture_item decode_item(const uint8_t *item_bytes, size_t len)
{
	static struct capture_decoder d;
	uint8_t raw[4096] = {0};
	struct capture_item item = {0};
	memcpy(raw, item_bytes, len);
	capture_decoder_start(&d, raw, len, 0);
	if (capture_decode(&d, &item) != 1)
		item.what = 0;
	return item;
}

/* The name of a user event, of so many bytes. */
static size_t decode_name(size_t bytes)
{
	uint8_t item_bytes[8 + 2 * sizeof(((struct capture_name *)0)->text)], *p = item_bytes;
	*p++ = CAPTURE_ITEM | CAPTURE_NAME;
	p = leb128_put(p, bytes + (bytes < 0x80 ? 3 : 4));
	*p++ = 5;
	*p++ = 7;
	p = leb128_put(p, bytes);
	memset(p, 'n', bytes);
	struct capture_item item = decode_item(item_bytes, (size_t)(p - item_bytes) + bytes);
	return item.what == CAPTURE_NAME ? strnlen(item.name.text, sizeof(item.name.text)) : 0;
}

/* A text of exactly the bytes of its field has no room for its end. */
static void test_whole_fields(void)
{
	uint8_t item_bytes[64] = {CAPTURE_ITEM | CAPTURE_SESSION, 32 + 1 + 1 + 6 + 1, 32};
	memset(item_bytes + 3, 's', 32);
	struct capture_item item = decode_item(item_bytes, 2 + 32 + 1 + 1 + 6 + 1);
	is(sizeof(item.session.source), 32, "the source of a session has 32 bytes");
	is(strnlen(item.session.source, 32), 31, "a source of 32 bytes is cut to 31");
	is_str(item.session.clock, "", "and does not reach what is behind it");
	size_t cap = sizeof(item.name.text);
	is(decode_name(cap - 1), cap - 1, "a name that fits is whole");
	is(decode_name(cap), cap - 1, "one that leaves no room for its end is cut");
	is(decode_name(cap + 1), cap - 1, "and so is a longer one");
}

/* A length by which the place behind a text would be before it. */
static void test_lengths_that_wrap(void)
{
	static const struct {
		const char *what;
		unsigned type, before; /* numbers before the text */
	} row[] = {
		{"the source of a session", CAPTURE_SESSION, 0},
		{"the producer of a process", CAPTURE_PROCESS, 1},
		{"a name", CAPTURE_NAME, 2},
		{"a string", CAPTURE_STRING, 0},
		{"the program of a memtrace file", CAPTURE_ALLOC_TRACE, 4},
		{"the span of a trigger", CAPTURE_TRIGGER, 6},
		{"the name of a mapping", CAPTURE_MAPPING, 3},
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint8_t content[64] = {0}, item_bytes[80], *c = content;
		for (unsigned n = 0; n < row[i].before; n++)
			*c++ = 5;
		c = leb128_put(c, UINT64_MAX - 7) + 16;
		uint8_t *p = put_item(item_bytes, row[i].type, content, (size_t)(c - content));
		ok(!decode_item(item_bytes, (size_t)(p - item_bytes)).what,
		   "%s with a length that wraps is damage", row[i].what);
	}
	static struct capture_decoder d;
	uint8_t event[64 + CAPTURE_PAD] = {CAPTURE_LANE,  0, 5, 1, 0, EBT_CUSTOM, 1,
					   EBT_F_PAYLOAD, 0, 1, 4};
	uint8_t *end = leb128_put(event + 11, UINT64_MAX - 7) + 16;
	struct capture_item item;
	capture_decoder_start(&d, event, (size_t)(end - event), 0);
	is(capture_decode(&d, &item), -EBADMSG, "so is the payload of an event");
}

/* Numbers that are too large for their field are not known, rather than other ones. */
static void test_wide_numbers(void)
{
	const uint64_t wide = UINT64_C(1) << 32 | 5;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t n = i ? 5 : wide;
		uint8_t content[64], item_bytes[80];
		uint8_t *c = PUT(content, 7, 0, 0, 0, n, 0, 0, 0, 0, 0, 0, n, n);
		size_t len = (size_t)(c - content);
		uint8_t *p = put_item(item_bytes, CAPTURE_PROCESS, content, len);
		struct capture_item item = decode_item(item_bytes, (size_t)(p - item_bytes));
		const struct capture_process *is = &item.process;
		uint32_t want = i ? 5 : 0;
		ok(item.what == CAPTURE_PROCESS && is->release == want && is->own_release == want &&
			   is->page_bytes == want,
		   "releases and the size of pages are %s", i ? "known" : "not, of 33 bits");
	}
}

/* Each limit of a block's head: exactly as much is a block, one more is none. */
static void test_sizes(void)
{
	static const struct {
		uint32_t stored, raw;
		bool is_block;
	} row[] = {{CAPTURE_STORED_MAX, CAPTURE_RAW_MAX, true},
		   {CAPTURE_STORED_MAX + 1, CAPTURE_RAW_MAX, false},
		   {CAPTURE_STORED_MAX, CAPTURE_RAW_MAX + 1, false},
		   {UINT32_MAX, 0, false},
		   {0, UINT32_MAX, false}};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct capture_block b = {.stored = row[i].stored, .raw = row[i].raw}, got = {0};
		uint8_t head[CAPTURE_BLOCK_BYTES];
		capture_block_put(&b, head);
		bool is_block = capture_block_get(head, &got);
		ok(is_block == row[i].is_block && got.stored == (is_block ? b.stored : 0) &&
			   got.raw == (is_block ? b.raw : 0),
		   "a head with %u bytes of %u is %s block", b.stored, b.raw,
		   row[i].is_block ? "a" : "no");
	}
}

static void test_behind(void)
{
	const uint8_t good[] = {FIRST_EVENT};
	begin();
	ADD(CAPTURE_BLOCK_END, good, 0, 1);
	uint64_t end = file_len;
	memcpy(file + file_len, "more", 4);
	file_len += 4;
	struct seen t = read_file();
	ok(t.events == 1 && t.damaged == 1 && t.fault.offset == end && t.stats.whole,
	   "what stands behind the end is told");
	begin();
	ADD(CAPTURE_BLOCK_EVENTS, good, 0, 1);
	ADD(CAPTURE_BLOCK_EVENTS, good, 7, 1);
	ADD(CAPTURE_BLOCK_END, nothing, 8, 0);
	t = read_file();
	ok(t.events == 2 && t.lost == 6 && !t.damaged, "blocks that were taken out are missed");
	is(t.last_ns, 101, "and the time of their loss is that of the block behind it");
	/* Blocks begin at 100; the event of the first one is 50 ns behind that. */
	const uint8_t late[] = {CAPTURE_LANE, 0, 5, 1, 0, EBT_BEGIN, 1, 0, 2, 50};
	begin();
	ADD(CAPTURE_BLOCK_EVENTS, late, 0, 1);
	ADD(CAPTURE_BLOCK_END, nothing, 8, 0);
	t = read_file();
	ok(t.lost == 7 && t.last_ns == 150, "but not before the last event that was there");
}

/* Each is an item: the reader knows the first one, and how many there are. */
static void test_triggers(void)
{
	uint8_t content[64], *p = records;
	for (uint64_t i = 0; i < 3; i++) {
		uint8_t *c = PUT(content, 5 + i, 1, 10, 20 + i, 1, 2, 0, 0, 10);
		p = put_item(p, CAPTURE_TRIGGER, content, (size_t)(c - content));
	}
	size_t len = (size_t)(p - records);
	begin();
	add(CAPTURE_BLOCK_EVENTS, records, len, (uint32_t)len, 0, 0);
	ADD(CAPTURE_BLOCK_END, nothing, 0, 0);
	struct seen t = read_file();
	ok(!t.damaged && t.stats.triggers == 3 && t.stats.trigger.pid == 5 &&
		   t.stats.trigger.end_ns == 20,
	   "of several triggers the first one is told, and how many there are");
}

/* Flips a bit of the last block's body, which is behind its head, `start`. */
static void spoil(size_t start)
{
	file[start + CAPTURE_BLOCK_BYTES + 2] ^= 1;
}

/* What heads claim of how many events are before a block and in it. */
static void test_claims(void)
{
	static const uint8_t good[] = {FIRST_EVENT, NEXT_EVENT};
	begin();
	ADD(CAPTURE_BLOCK_EVENTS, good, 0, 2);
	ADD(CAPTURE_BLOCK_EVENTS, good, 1, 2);
	ADD(CAPTURE_BLOCK_END, good, 4, 2);
	struct seen t = read_file();
	ok(t.events == 6 && t.lost == 1 && !t.damaged,
	   "a block that claims fewer events before it than there were has lost none");
	begin();
	size_t first = file_len;
	ADD(CAPTURE_BLOCK_EVENTS, good, 0, 9);
	spoil(first);
	size_t second = file_len;
	ADD(CAPTURE_BLOCK_EVENTS, good, 0, 4);
	spoil(second);
	t = read_file();
	ok(t.lost == 9 && t.damaged == 1, "of damaged blocks the one that promises most counts");
	begin();
	first = file_len;
	ADD(CAPTURE_BLOCK_EVENTS, good, 0, 2);
	spoil(first);
	ADD(CAPTURE_BLOCK_EVENTS, good, 2, 2);
	second = file_len;
	ADD(CAPTURE_BLOCK_EVENTS, good, 4, 2);
	spoil(second);
	ADD(CAPTURE_BLOCK_END, good, 6, 2);
	t = read_file();
	ok(t.damaged == 2 && t.fault.count == 2 && t.fault.offset == first,
	   "the fault that is told is the first of two");
}

/* Its size is that of the block in the file, which is not that of its records. */
static void test_damage_size(void)
{
	uint8_t *p = records;
	for (unsigned i = 0; i < 10000; i++)
		p = put_item(p, 99, NULL, 0);
	*p++ = CAPTURE_ITEM | 99;
	*p++ = 100;
	size_t len = (size_t)(p - records), block;
	begin();
	add(CAPTURE_BLOCK_EVENTS, records, len, (uint32_t)len, 0, 0);
	block = file_len - CAPTURE_HEAD_BYTES - CAPTURE_BLOCK_BYTES;
	ADD(CAPTURE_BLOCK_END, nothing, 0, 0);
	struct seen t = read_file();
	ok(t.damaged == 1 && t.damaged_words == (block + 7) / 8 && block < len / 8,
	   "damage is as large as the stored records that cannot be read");
}

int main(void)
{
	if (compress_new(1, &compress))
		abort();
	test_heads();
	test_later();
	test_records();
	test_limits();
	test_references();
	test_numbers();
	test_texts();
	test_bombs();
	test_heads_without_end();
	test_times();
	test_whole_fields();
	test_lengths_that_wrap();
	test_wide_numbers();
	test_sizes();
	test_behind();
	test_claims();
	test_triggers();
	test_damage_size();
	compress_free(compress);
	return tap_done();
}
