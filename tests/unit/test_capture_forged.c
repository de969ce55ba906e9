/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures that no writer of ours makes: of a later version, or of somebody who means harm. */
#include "codec/capture_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compress.h"
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

struct tally {
	int end;
	unsigned events, items, damaged;
	uint64_t lost, last_ns;
	struct capture_fault fault;
	struct capture_stats stats;
};

static struct tally read_file(void)
{
	struct tally t = {0};
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
		if (item.what != CAPTURE_EVENT)
			continue;
		t.events += capture_counts(item.event.kind);
		t.damaged += item.event.kind == EBT_DAMAGE;
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
	struct tally t = read_file();
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
	const uint8_t longer[] = {CAPTURE_ITEM | CAPTURE_RECOVERED, 4, 1, 2, 77, 78, FIRST_EVENT};
	const uint8_t kind[] = {FIRST_EVENT, 0, 1, 60, 1, 0, 2, 1, NEXT_EVENT};
	begin();
	ADD(CAPTURE_BLOCK_EVENTS, records, 0, 2);
	ADD(7, "a later block", 2, 0);
	ADD(CAPTURE_BLOCK_EVENTS, longer, 2, 1);
	ADD(CAPTURE_BLOCK_END, records, 3, 2);
	struct tally t = read_file();
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
		struct tally t = read_file();
		ok(!t.end && t.damaged == 1 && t.lost == 4 && t.events == 4, "%s is damage",
		   cases[i].name);
	}
}

static void test_bombs(void)
{
	static uint8_t zeroes[8u << 20];
	const uint8_t good[] = {FIRST_EVENT};
	begin();
	add(CAPTURE_BLOCK_EVENTS, zeroes, sizeof(zeroes), sizeof(zeroes), 0, 5);
	ADD(CAPTURE_BLOCK_END, good, 5, 1);
	struct tally t = read_file();
	ok(t.events == 1 && t.damaged == 1 && t.lost == 5,
	   "a block that says that it holds more than 4 MiB is refused");
	ok(!strcmp(t.fault.expected, "the head of a block"), "by its head");
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
	struct tally t = read_file();
	ok(!t.end && t.damaged == 1, "a file of nothing but heads of long blocks ends");
}

static void test_behind(void)
{
	const uint8_t good[] = {FIRST_EVENT};
	begin();
	ADD(CAPTURE_BLOCK_END, good, 0, 1);
	uint64_t end = file_len;
	memcpy(file + file_len, "more", 4);
	file_len += 4;
	struct tally t = read_file();
	ok(t.events == 1 && t.damaged == 1 && t.fault.offset == end && t.stats.whole,
	   "what stands behind the end is told");
	begin();
	ADD(CAPTURE_BLOCK_EVENTS, good, 0, 1);
	ADD(CAPTURE_BLOCK_EVENTS, good, 7, 1);
	ADD(CAPTURE_BLOCK_END, nothing, 8, 0);
	t = read_file();
	ok(t.events == 2 && t.lost == 6 && !t.damaged, "blocks that were taken out are missed");
	is(t.last_ns, 101, "and the time of their loss is that of the block behind it");
}

int main(void)
{
	if (compress_new(1, &compress))
		abort();
	test_heads();
	test_later();
	test_records();
	test_bombs();
	test_heads_without_end();
	test_behind();
	compress_free(compress);
	return tap_done();
}
