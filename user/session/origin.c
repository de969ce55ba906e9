/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/origin.h"

#include <string.h>

static const char *const names[] = {"ring", "bpf", "memtrace", "pagetrace", "capture"};
#define NAMES (sizeof(names) / sizeof(*names))

const char *origin_text(unsigned origins, char scratch[ORIGIN_TEXT_BYTES])
{
	char *p = scratch;
	*p = '\0';
	for (unsigned i = 0; i < NAMES; i++) {
		if (!(origins & 1u << i))
			continue;
		if (p != scratch)
			*p++ = '+';
		p = stpcpy(p, names[i]);
	}
	return scratch;
}

unsigned origin_parse(const char *text)
{
	unsigned origins = 0;
	for (;;) {
		size_t len = strcspn(text, "+"), i = 0;
		while (i < NAMES && (strlen(names[i]) != len || memcmp(names[i], text, len)))
			i++;
		if (i == NAMES)
			return 0;
		origins |= 1u << i;
		if (!text[len])
			return origins;
		text += len + 1;
	}
}
