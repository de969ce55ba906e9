/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/foreign_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#define UNREAD "which ebtrace writes, but does not read; a capture can be read again: -o FILE.ebt"

static const struct {
	const char *text, *magic;
	size_t bytes;
} kinds[] = {
	{"is a gzip file: unpack it first, with gunzip", "\x1f\x8b", 2},
	{"is a zstd file: unpack it first, with unzstd", "\x28\xb5\x2f\xfd", 4},
	{"is an xz file: unpack it first, with unxz", "\xfd\x37zXZ", 6},
	{"is a bzip2 file: unpack it first, with bunzip2", "BZh", 3},
	{"is an lz4 file: unpack it first, with unlz4", "\x04\x22\x4d\x18", 4},
	{"is a zip file: unpack it first, with unzip", "PK\x03\x04", 4},
	{"is a recording of perf, which ebtrace does not read; perf script shows it", "PERFILE2",
	 8},
	{"is a recording of perf, which ebtrace does not read; perf script shows it", "2ELIFREP",
	 8},
	{"is an FXT trace, " UNREAD, "\x10\x00\x04\x46\x78\x54\x16\x00", 8},
	{"is an SVG picture, " UNREAD, "<svg", 4},
	{"is an HTML page, " UNREAD, "<!DOCTYPE", 9},
};

/* A Perfetto trace has no magic number: it is a message with packets in its field 1. */
static bool is_perfetto(const uint8_t *head, size_t bytes)
{
	size_t at = 1;
	if (bytes < 8 || head[0] != 0x0a || utf8_is_text(head, bytes))
		return false;
	while (at < 6 && head[at] & 0x80)
		at++;
	unsigned field = head[at + 1] >> 3, type = head[at + 1] & 7;
	return at < 6 && field && (type <= 2 || type == 5);
}

static bool is_json(const uint8_t *head, size_t bytes)
{
	size_t at = 1;
	if (bytes < 2 || (head[0] != '{' && head[0] != '['))
		return false;
	while (at < bytes && head[at] && strchr(" \t\r\n", head[at]))
		at++;
	return at == bytes || (head[at] && strchr("{[]}\"", head[at]));
}

const char *foreign_file(const void *head, size_t bytes)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (bytes >= kinds[i].bytes && !memcmp(head, kinds[i].magic, kinds[i].bytes))
			return kinds[i].text;
	if (is_json(head, bytes))
		return "is JSON, " UNREAD;
	return is_perfetto(head, bytes) ? "is a Perfetto trace, " UNREAD : NULL;
}
