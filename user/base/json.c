/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json.h"

#include "base/utf8.h"

static const char hex_digits[] = "0123456789abcdef";

static void put_char(struct buf *b, char c)
{
	*buf_room(b) = c;
	b->len++;
}

static void separate(struct json *j)
{
	if (j->comma)
		put_char(j->out, ',');
	j->comma = true;
}

void json_open(struct json *j, char bracket)
{
	separate(j);
	put_char(j->out, bracket);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	put_char(j->out, bracket);
	j->comma = true;
}

void json_key(struct json *j, const char *key)
{
	separate(j);
	put_char(j->out, '"');
	buf_puts(j->out, key);
	buf_put(j->out, "\":", 2);
	j->comma = false;
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
	memcpy(p, "u00", 3);
	p[3] = hex_digits[c >> 4];
	p[4] = hex_digits[c & 15];
	return p + 5;
}

/* Escapes s[*at..len) into the room of one buf_room(). */
static void put_piece(struct buf *b, const unsigned char *s, size_t len, size_t *at)
{
	char *start = buf_room(b), *p = start;
	while (*at < len && p - start <= BUF_ROOM_MAX - 6) {
		unsigned char c = s[*at];
		size_t n = c < 0x80 ? 1 : utf8_length(s + *at, len - *at);
		if (n == 1 && (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)) {
			p = put_escape(p, c);
		} else if (n == 2 && c == 0xc2 && s[*at + 1] < 0xa0) {
			p = put_escape(p, s[*at + 1]);
		} else if (n == 1) {
			*p++ = (char)c;
		} else if (n) {
			memcpy(p, s + *at, n);
			p += n;
		} else {
			memcpy(p, UTF8_REPLACEMENT, 3);
			p += 3;
			n = 1;
		}
		*at += n;
	}
	b->len += (size_t)(p - start);
}

void json_string(struct json *j, const char *s, size_t len)
{
	separate(j);
	put_char(j->out, '"');
	for (size_t at = 0; at < len;)
		put_piece(j->out, (const unsigned char *)s, len, &at);
	put_char(j->out, '"');
}

void json_u64(struct json *j, uint64_t v)
{
	separate(j);
	buf_put_u64(j->out, v);
}

void json_i64(struct json *j, int64_t v)
{
	separate(j);
	buf_put_i64(j->out, v);
}

void json_bool(struct json *j, bool v)
{
	json_raw(j, v ? "true" : "false");
}

void json_raw(struct json *j, const char *text)
{
	separate(j);
	buf_puts(j->out, text);
}

void json_hex(struct json *j, const void *data, size_t len)
{
	const unsigned char *s = data;
	separate(j);
	put_char(j->out, '"');
	for (size_t at = 0; at < len;) {
		size_t n = len - at < BUF_ROOM_MAX / 2 ? len - at : BUF_ROOM_MAX / 2;
		char *p = buf_room(j->out);
		for (size_t i = 0; i < n; i++) {
			p[2 * i] = hex_digits[s[at + i] >> 4];
			p[2 * i + 1] = hex_digits[s[at + i] & 15];
		}
		j->out->len += 2 * n;
		at += n;
	}
	put_char(j->out, '"');
}

void json_key_u64(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_u64(j, v);
}

void json_key_known(struct json *j, const char *key, bool known, uint64_t v)
{
	if (known) {
		json_key_u64(j, key, v);
		return;
	}
	json_key(j, key);
	json_raw(j, "null");
}

void json_key_i64(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_i64(j, v);
}

void json_key_str(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s, strlen(s));
}
