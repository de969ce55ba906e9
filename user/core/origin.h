/* SPDX-License-Identifier: BSD-2-Clause */
/* What the events of a run are read from: a set, since one run may join several. */
#ifndef CORE_ORIGIN_H
#define CORE_ORIGIN_H

enum origin {
	ORIGIN_RING = 1 << 0,
	ORIGIN_BPF = 1 << 1,
	ORIGIN_MEMTRACE = 1 << 2,
	ORIGIN_PAGETRACE = 1 << 3,
	ORIGIN_CAPTURE = 1 << 4,
};

#define ORIGIN_TEXT_BYTES 48

/* The set as outputs show it, "ring+bpf", in `scratch`, which is returned. */
const char *origin_text(unsigned origins, char scratch[ORIGIN_TEXT_BYTES]);
/* The set that such a text names; 0 if a part of it is none of them. */
unsigned origin_parse(const char *text);

#endif
