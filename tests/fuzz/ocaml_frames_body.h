/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads every word of a memory of any bytes as if a frame descriptor of OCaml were there. The first
 * byte selects the release. Shared by the fuzz target and by the test that shows how far its seeds
 * reach. The seeds are frame tables of tests/ocaml/sites.ml.
 */
#ifndef FUZZ_OCAML_FRAMES_BODY_H
#define FUZZ_OCAML_FRAMES_BODY_H

#include "runtime/ocaml/frames.h"
#include <stdbool.h>
#include <string.h>

#define OCAML_FRAMES_BASE 0x10000

struct ocaml_frames_body {
	const uint8_t *data;
	size_t size;
	size_t positions, inlined, allocations, lines;
};

static int ocaml_frames_read(void *ctx, uint64_t address, void *ret, size_t bytes)
{
	const struct ocaml_frames_body *b = ctx;
	uint64_t at = address - OCAML_FRAMES_BASE;
	if (at >= b->size)
		return -1;
	size_t n = b->size - at < bytes ? b->size - at : bytes;
	memcpy(ret, b->data + at, n);
	return (int)n;
}

static struct ocaml_frames_body ocaml_frames_body(const uint8_t *data, size_t size)
{
	struct ocaml_frames_body b = {.data = data + 1, .size = size ? size - 1 : 0};
	static struct ocaml_position position[OCAML_POSITIONS_MAX];
	struct ocaml_memory m = {.read = ocaml_frames_read,
				 .ctx = &b,
				 .version = {.minor = size && data[0] < 52 ? 1 : 3}};
	for (uint64_t at = 8; at < b.size && at < 8192; at += 8) {
		uint32_t words;
		int i = ocaml_frames_allocation(&m, OCAML_FRAMES_BASE + at, 3, &words);
		unsigned n = ocaml_frames_positions(&m, OCAML_FRAMES_BASE + at, i, position);
		for (unsigned k = 0; k < n; k++)
			b.lines += !strcmp(position[k].file, "sites.ml") &&
				   position[k].line < 200 &&
				   !strncmp(position[k].function, "Sites", 5);
		b.allocations += i >= 0;
		b.positions += n;
		b.inlined += n > 1;
	}
	return b;
}

#endif
