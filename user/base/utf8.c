/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t utf8_length(const unsigned char *s, size_t left)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80	     ? 1
		   : s[0] >> 5 == 6  ? 2
		   : s[0] >> 4 == 14 ? 3
		   : s[0] >> 3 == 30 ? 4
				     : 0;
	if (n <= 1 || n > left)
		return n <= left ? n : 0;
	uint32_t code = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		code = code << 6 | (s[i] & 0x3fu);
	}
	return code < least[n] || code > 0x10ffff || code >> 11 == 0x1b ? 0 : n;
}

/* U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069: they change the order of what is
 * shown around them. */
static bool is_bidi_control(const unsigned char *s, size_t bytes)
{
	if (bytes == 2)
		return s[0] == 0xd8 && s[1] == 0x9c;
	if (bytes != 3 || s[0] != 0xe2)
		return false;
	return s[1] == 0x80 ? s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xaa && s[2] <= 0xae)
			    : s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9;
}

size_t utf8_plain(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = 0;
	for (size_t n; at < len; at += n) {
		n = s[at] < 0x80 ? 1 : utf8_length(s + at, len - at);
		bool control = n == 1 ? s[at] < 0x20 || s[at] == 0x7f
				      : n == 2 && s[at] == 0xc2 && s[at + 1] < 0xa0;
		if (!n || control || is_bidi_control(s + at, n))
			break;
	}
	return at;
}

void utf8_disarm(char *s)
{
	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = utf8_plain(s, left);
		if (n < left)
			s[n++] = '?';
	}
}

bool utf8_is_text(const void *data, size_t len)
{
	const unsigned char *s = data;
	for (size_t at = 0, n; at < len; at += n) {
		n = utf8_length(s + at, len - at);
		if (!n || (s[at] < 0x20 && s[at] != '\t' && s[at] != '\n') || s[at] == 0x7f)
			return false;
	}
	return len > 0;
}

size_t utf8_copy(char *to, size_t cap, const char *s, size_t len, bool *ret_cut)
{
	size_t at = 0, used = 0;
	while (at < len) {
		if ((unsigned char)s[at] < 0x80 && used < cap) {
			to[used++] = s[at++];
			continue;
		}
		size_t n = utf8_length((const unsigned char *)s + at, len - at);
		const char *from = n ? s + at : UTF8_REPLACEMENT;
		size_t bytes = n ? n : strlen(UTF8_REPLACEMENT);
		if (bytes > cap - used)
			break;
		memcpy(to + used, from, bytes);
		used += bytes;
		at += n ? n : 1;
	}
	*ret_cut = at < len;
	return used;
}
