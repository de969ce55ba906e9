/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json.h"

#include "base/utf8.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ESCAPE_MAX 6 /* bytes */

static const char hex_digits[] = "0123456789abcdef";

void json_open(struct json *j, char bracket)
{
	assert(j->depth < JSON_DEPTH_MAX);
	j->depth++;
	j->arrays = j->arrays << 1 | (bracket == '[');
	char *p = json_begin(j);
	*p = bracket;
	json_end(j, p + 1, false);
}

void json_close(struct json *j, char bracket)
{
	assert(j->depth && (j->arrays & 1) == (bracket == ']'));
	j->depth--;
	j->arrays >>= 1;
	char *p = buf_room(j->out);
	*p = bracket;
	json_end(j, p + 1, true);
}

static char *put_escape(char *p, unsigned char c)
{
	static const char shorts[][2] = {{'"', '"'},  {'\\', '\\'}, {'\n', 'n'}, {'\t', 't'},
					 {'\r', 'r'}, {'\b', 'b'},  {'\f', 'f'}};
	*p++ = '\\';
	for (size_t i = 0; i < sizeof(shorts) / sizeof(*shorts); i++) {
		if (c == (unsigned char)shorts[i][0]) {
			*p++ = shorts[i][1];
			return p;
		}
	}
	p = JSON_FORMAT_RAW(p, "u00");
	*p++ = hex_digits[c >> 4];
	*p++ = hex_digits[c & 15];
	return p;
}

/* Writes a character that is not plain ASCII or must be escaped; returns its length in the
 * input. */
static size_t put_special(char **p, const unsigned char *s, size_t left)
{
	size_t n = *s < 0x80 ? 1 : utf8_length(s, left);
	if (n == 1)
		*p = put_escape(*p, *s);
	else if (n == 2 && *s == 0xc2 && s[1] < 0xa0)
		*p = put_escape(*p, s[1]);
	else if (n)
		*p = json_format_raw(*p, (const char *)s, n);
	else
		*p = JSON_FORMAT_RAW(*p, UTF8_REPLACEMENT);
	return n ? n : 1;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void json_string(struct json *j, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	char *p = json_begin(j);
	*p++ = '"';
	for (size_t at = 0; at < len;) {
		/* As much as surely fits with the closing quote. */
		const char *last = j->out->data + j->out->len + BUF_ROOM_MAX - ESCAPE_MAX - 1;
		while (at < len && p < last) {
			if (is_plain(s[at]))
				*p++ = (char)s[at++];
			else
				at += put_special(&p, s + at, len - at);
		}
		if (at < len) {
			json_end(j, p, false);
			p = buf_room(j->out);
		}
	}
	*p++ = '"';
	json_end(j, p, true);
}

void json_u64(struct json *j, uint64_t v)
{
	json_end(j, buf_format_u64(json_begin(j), v), true);
}

void json_i64(struct json *j, int64_t v)
{
	json_end(j, buf_format_i64(json_begin(j), v), true);
}

void json_double(struct json *j, double v)
{
	if (!isfinite(v)) {
		json_raw(j, "null");
		return;
	}
	/* The longest has 309 digits before the point. */
	char *p = json_begin(j);
	json_end(j, p + snprintf(p, BUF_ROOM_MAX - 1, "%.6f", v), true);
}

void json_exact(struct json *j, double v)
{
	char *p = json_begin(j);
	int len = snprintf(p, BUF_ROOM_MAX - 1, "null");
	/* Any number needs 17 digits at most. */
	for (int digits = 1; isfinite(v) && digits <= 17; digits++) {
		len = snprintf(p, BUF_ROOM_MAX - 1, "%.*g", digits, v);
		if (strtod(p, NULL) == v)
			break;
	}
	json_end(j, p + len, true);
}

void json_raw(struct json *j, const char *text)
{
	json_end(j, json_begin(j), true);
	buf_puts(j->out, text);
}

char *json_format_words(char *p, const void *words, size_t n)
{
	const char *from = words;
	for (size_t i = 0; i < n; i++) {
		uint64_t v;
		memcpy(&v, from + i * sizeof(v), sizeof(v));
		p = buf_format_u64(p, v);
		*p++ = ',';
	}
	return n ? p - 1 : p;
}

void json_words(struct json *j, const void *words, size_t n)
{
	const size_t most = (BUF_ROOM_MAX - 3) / JSON_WORD_BYTES; /* and a comma, and brackets */
	const char *from = words;
	char *p = json_begin(j);
	*p++ = '[';
	for (; n > most; n -= most, from += most * sizeof(uint64_t)) {
		p = json_format_words(p, from, most);
		*p++ = ',';
		json_end(j, p, true);
		p = buf_room(j->out);
	}
	p = json_format_words(p, from, n);
	*p++ = ']';
	json_end(j, p, true);
}

void json_hex(struct json *j, const void *data, size_t len)
{
	const unsigned char *s = data;
	char *p = json_begin(j);
	*p++ = '"';
	json_end(j, p, true);
	for (size_t at = 0; at < len;) {
		size_t n = len - at < BUF_ROOM_MAX / 2 ? len - at : BUF_ROOM_MAX / 2;
		p = buf_room(j->out);
		for (size_t i = 0; i < n; i++) {
			*p++ = hex_digits[s[at + i] >> 4];
			*p++ = hex_digits[s[at + i] & 15];
		}
		json_end(j, p, true);
		at += n;
	}
	p = buf_room(j->out);
	*p = '"';
	json_end(j, p + 1, true);
}
