/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/xml.h"

#include "base/utf8.h"

/* Of a valid sequence of n bytes, n > 1. */
static bool is_allowed(const unsigned char *s, size_t n)
{
	if (n == 2)
		return s[0] != 0xc2 || s[1] >= 0xa0;
	if (n == 4)
		return true;
	uint32_t code = (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
	bool is_mark = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
	bool is_separator = code == 0x2028 || code == 0x2029;
	return code < 0xfffe && !is_mark && !is_separator;
}

static const char *replaced(unsigned char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return c < 0x20 || c == 0x7f ? UTF8_REPLACEMENT : NULL;
}

void xml_put(struct buf *b, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t plain = 0; /* bytes before this one are written */
	for (size_t at = 0, n; at < len; at += n) {
		n = utf8_length(s + at, len - at);
		const char *other = n == 1			 ? replaced(s[at])
				    : n && is_allowed(s + at, n) ? NULL
								 : UTF8_REPLACEMENT;
		n = n ? n : 1;
		if (!other)
			continue;
		buf_put(b, text + plain, at - plain);
		buf_puts(b, other);
		plain = at + n;
	}
	buf_put(b, text + plain, len - plain);
}
