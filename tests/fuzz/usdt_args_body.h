/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses an argument string of any bytes, and checks that its result is one. Shared by the fuzz
 * target and by the test that shows how far its seeds reach. The seeds are strings of Debian's
 * postgres 15 and of <sys/sdt.h>.
 */
#ifndef FUZZ_USDT_ARGS_BODY_H
#define FUZZ_USDT_ARGS_BODY_H

#include "elf/usdt_args.h"
#include <stdlib.h>
#include <string.h>

struct usdt_args_body {
	int err;
	unsigned arguments, at;
};

static bool usdt_args_find(void *ctx, const char *name, size_t bytes, uint64_t *ret)
{
	(void)ctx;
	*ret = bytes;
	return *name != 'x';
}

static struct usdt_args_body usdt_args_body(const uint8_t *data, size_t size)
{
	const struct usdt_site site = {.address = 7, .find = usdt_args_find};
	struct usdt_args_body b = {0};
	struct usdt_args args = {0};
	char *text = malloc(size + 1); /* of its own, so that a sanitizer knows its end */
	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = 0;
	b.err = usdt_args_parse_at(text, &site, &args, &b.at);
	b.arguments = args.count;
	free(text);
	if (b.at > size || b.arguments > USDT_ARGS_MAX)
		abort();
	for (unsigned i = 0; i < b.arguments; i++)
		if (args.arg[i].where > USDT_MEMORY || !args.arg[i].size || args.arg[i].size > 8)
			abort();
	return b;
}

#endif
