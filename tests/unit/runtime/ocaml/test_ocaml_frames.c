// SPDX-License-Identifier: BSD-2-Clause
/* The positions of frame descriptors, in memory that this test makes. */
#include "runtime/ocaml/frames.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdbool.h>

#define BASE 0x7000

static _Alignas(8) uint8_t image[1024];
static size_t image_bytes = sizeof(image);
static struct ocaml_position position[OCAML_POSITIONS_MAX];

static int read_image(void *ctx, uint64_t address, void *ret, size_t bytes)
{
	(void)ctx;
	uint64_t at = address - BASE;
	if (at >= image_bytes)
		return -EFAULT;
	size_t n = image_bytes - at < bytes ? image_bytes - at : bytes;
	memcpy(ret, image + at, n);
	return (int)n;
}

static struct ocaml_memory memory(uint16_t minor)
{
	return (struct ocaml_memory){.read = read_image, .version = {.minor = minor}};
}

static void put(size_t at, const void *data, size_t bytes)
{
	memcpy(image + at, data, bytes);
}
#define PUT(type, at, value) put(at, &(type){value}, sizeof(type))

/* A descriptor with two live values and these allocations, and its debug information, of which each
 * one's words are at `words` and the names at 512. */
static void put_descriptor(uint8_t allocations, const uint8_t *length, const uint64_t *words)
{
	memset(image, 0, sizeof(image));
	PUT(uint16_t, 8, 48 | 1 | (allocations ? 2 : 0));
	PUT(uint16_t, 10, 2);
	size_t at = 16, count = allocations ? allocations : 1;
	if (allocations) {
		image[at++] = allocations;
		put(at, length, allocations);
		at += allocations;
	}
	at = (at + 3) & ~3ull;
	for (size_t i = 0; i < count; i++, at += 4) {
		size_t to = 256 + 16 * i;
		if (!words[i])
			continue;
		PUT(uint32_t, at, (uint32_t)(to - at));
		PUT(uint64_t, to, words[i] | (512 - to));
	}
	PUT(int32_t, 512, 128);
	put(516, "Map.add", 8);
	put(640, "map.ml", 7);
}

static bool is_position(unsigned i, const char *function, uint32_t line, uint32_t start,
			uint32_t end)
{
	const struct ocaml_position *p = &position[i];
	return !strcmp(p->function, function) && !strcmp(p->file, "map.ml") && p->line == line &&
	       p->start_char == start && p->end_char == end;
}

static void test_layouts(void)
{
	struct ocaml_memory older = memory(1), newer = memory(3);
	/* line, begin and end: 20, 8 and 10 bits */
	uint64_t word = 70000ull << 44 | 200ull << 36 | 900ull << 26;
	put_descriptor(0, NULL, &word);
	ok(ocaml_frames_positions(&older, BASE, -1, position) == 1 &&
		   is_position(0, "Map.add", 70000, 200, 900),
	   "OCaml 5.1: line and characters in one word");
	/* line, lines to the end, begin, end, and the end's offset: 12, 3, 6, 7 and 9 bits */
	word = 3000ull << 51 | 2ull << 48 | 60ull << 42 | 100ull << 35 | 400ull << 26;
	put_descriptor(0, NULL, &word);
	ok(ocaml_frames_positions(&newer, BASE, -1, position) == 1 &&
		   is_position(0, "Map.add", 3000, 60, 500),
	   "from 5.2 on: the end is counted from the first line's begin");
	word = 1ull << 63 | 400000ull << 44;
	put_descriptor(0, NULL, &word);
	PUT(uint16_t, 516, 300);
	PUT(int32_t, 520, 1234);
	put(524, "Map.find", 9);
	ok(ocaml_frames_positions(&newer, BASE, -1, position) == 1 &&
		   is_position(0, "Map.find", 400000, 300, 1234),
	   "what does not fit is beside the name");
	PUT(int32_t, 520, -1);
	ok(ocaml_frames_positions(&newer, BASE, -1, position) == 1 &&
		   is_position(0, "Map.find", 400000, 300, 0),
	   "an end before its begin is none");
}

static void test_inlined(void)
{
	struct ocaml_memory m = memory(3);
	uint64_t word = 10ull << 51 | 1;
	put_descriptor(0, NULL, &word);
	PUT(uint64_t, 264, 20ull << 51 | (512 - 264));
	ok(ocaml_frames_positions(&m, BASE, -1, position) == 2 &&
		   is_position(0, "Map.add", 20, 0, 0) && is_position(1, "Map.add", 10, 0, 0),
	   "of inlined functions the outermost comes first");
	for (size_t at = 256; at < 1024; at += 8)
		PUT(uint64_t, at, 1 | 4);
	is(ocaml_frames_positions(&m, BASE, -1, position), OCAML_POSITIONS_MAX,
	   "a chain without end is cut");
}

static void test_allocations(void)
{
	static const uint8_t length[] = {1, 3, 0};
	const uint64_t words[] = {1ull << 51, 2ull << 51, 0};
	struct ocaml_memory m = memory(3);
	static const struct {
		uint64_t free;
		int allocation;
		uint32_t words;
	} rows[] = {{0, 2, 1}, {1, 2, 1}, {2, 1, 4}, {6, 1, 4}, {7, 0, 2}, {9, 0, 2}, {99, 0, 2}};
	put_descriptor(3, length, words);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t n = 0;
		int got = ocaml_frames_allocation(&m, BASE, rows[i].free, &n);
		ok(got == rows[i].allocation && n == rows[i].words,
		   "with %d words free allocation %d, of %u words, is the one that needs more",
		   (int)rows[i].free, rows[i].allocation, rows[i].words);
	}
	ok(ocaml_frames_positions(&m, BASE, 1, position) == 1 && position[0].line == 2,
	   "each has its own position");
	ok(ocaml_frames_positions(&m, BASE, 2, position) == 1 && position[0].line == 1,
	   "or that of another one, if it has none");
	is(ocaml_frames_positions(&m, BASE, 3, position), 0, "one that is not there has none");
	put_descriptor(0, NULL, words);
	uint32_t n;
	is(ocaml_frames_allocation(&m, BASE, 0, &n), -ENOENT, "a call allocates nothing");
}

static void test_damage(void)
{
	struct ocaml_memory m = memory(3);
	uint64_t word = 10ull << 51;
	unsigned found = 0;
	put_descriptor(0, NULL, &word);
	for (image_bytes = 0; image_bytes < 640; image_bytes++)
		found += ocaml_frames_positions(&m, BASE, -1, position);
	is(found, 0, "where memory ends before the file's name there is no position");
	image_bytes = 643;
	ok(ocaml_frames_positions(&m, BASE, -1, position) == 1 && !strcmp(position[0].file, "map"),
	   "where it ends in a name, the name ends too");
	image_bytes = sizeof(image);
	memset(image + 640, 'm', 300);
	is(ocaml_frames_positions(&m, BASE, -1, position) == 1 ? strlen(position[0].file) : 0,
	   OCAML_NAME_BYTES - 1, "a name is cut where it is longer than there is room for it");
	PUT(uint16_t, 8, 0xffff);
	is(ocaml_frames_positions(&m, BASE, -1, position), 0, "a return to C has none");
}

int main(void)
{
	test_layouts();
	test_inlined();
	test_allocations();
	test_damage();
	return tap_done();
}
