/* SPDX-License-Identifier: BSD-2-Clause */
/* The origins of a run's events: a set, since one run may join several. */
#ifndef SESSION_ORIGIN_H
#define SESSION_ORIGIN_H

enum origin {
	ORIGIN_RING = 1 << 0,
	ORIGIN_BPF = 1 << 1,
	ORIGIN_MEMTRACE = 1 << 2,
	ORIGIN_PAGETRACE = 1 << 3,
	ORIGIN_CAPTURE = 1 << 4,
};

#define ORIGIN_TEXT_BYTES 48

/* Writes the set as outputs show it, "ring+bpf", to `scratch` and returns it. */
const char *origin_text(unsigned origins, char scratch[ORIGIN_TEXT_BYTES]);
/* Parses such a text; 0 if a part of it is not an origin. */
unsigned origin_parse(const char *text);

#endif
