/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A streaming JSON writer on a buffer: no tree, no allocation. It writes the commas; the caller
 * must write the key of each value in an object, and close what it opens, innermost first, which is
 * asserted as far as one bit a level allows. Strings may hold any bytes: bytes that are not UTF-8
 * become U+FFFD, and control characters, including U+0080 to U+009F, are escaped.
 *
 * The json_format_ functions, and the buf_format_ ones for numbers, are for the hot path: they
 * write to memory without a check and return the byte behind their output. json_begin() returns
 * that memory, json_end() commits what was written.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"
#include <stdbool.h>

#define JSON_DEPTH_MAX	32
#define JSON_KEY_MAX	512 /* bytes */
#define JSON_WORD_BYTES 21  /* 20 digits and a comma */

struct json {
	struct buf *out;
	uint32_t arrays; /* a bit a level, the innermost lowest; set: an array */
	uint8_t depth;
	bool comma; /* the next value or key needs one before it */
};

/* BUF_ROOM_MAX - 1 writable bytes behind the comma, if one is due. Never NULL. */
static inline char *json_begin(struct json *j)
{
	char *p = buf_room(j->out);
	*p = ',';
	return p + j->comma;
}

/* Commits the bytes from json_begin() to `end`; comma: they end with a value. */
static inline void json_end(struct json *j, const char *end, bool comma)
{
	j->out->len = (size_t)(end - j->out->data);
	j->comma = comma;
}

static inline char *json_format_raw(char *p, const char *text, size_t len)
{
	memcpy(p, text, len);
	return p + len;
}
/* Of a literal. */
#define JSON_FORMAT_RAW(p, text) json_format_raw(p, "" text, sizeof(text) - 1)

/* Appends `len` bytes by copying `cap`, which should be a constant of the compiler. */
static inline char *json_format_part(char *p, const char *text, size_t cap, size_t len)
{
	memcpy(p, text, cap);
	return p + len;
}

/* The inside of an array of n 64-bit words, which need not be aligned: at most
 * JSON_WORD_BYTES each. */
char *json_format_words(char *p, const void *words, size_t n);

/* ,"KEY":VALUE behind another member; KEY is a literal. */
#define JSON_FORMAT_KEY(p, key)	       JSON_FORMAT_RAW(p, ",\"" key "\":")
#define JSON_FORMAT_KEY_U64(p, key, v) buf_format_u64(JSON_FORMAT_KEY(p, key), v)
#define JSON_FORMAT_KEY_I64(p, key, v) buf_format_i64(JSON_FORMAT_KEY(p, key), v)

void json_open(struct json *j, char bracket);  /* '{' or '[', as a value */
void json_close(struct json *j, char bracket); /* '}' or ']' */
void json_string(struct json *j, const char *s, size_t len);
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
/* With six digits behind the point; null if it is not finite. */
void json_double(struct json *j, double v);
/* With the fewest digits that read back as the same number; null if it is not finite. */
void json_exact(struct json *j, double v);
/* Bytes as a string of hexadecimal digits. */
void json_hex(struct json *j, const void *data, size_t len);
/* An array of n 64-bit words, which need not be aligned. */
void json_words(struct json *j, const void *words, size_t n);
/* A value that is JSON text already. */
void json_raw(struct json *j, const char *text);

static inline void json_bool(struct json *j, bool v)
{
	json_raw(j, v ? "true" : "false");
}

/* A key made of plain ASCII, of at most JSON_KEY_MAX bytes; a value must follow. */
static inline void json_key(struct json *j, const char *key)
{
	char *p = json_begin(j);
	*p++ = '"';
	p = json_format_raw(p, key, strlen(key));
	json_end(j, JSON_FORMAT_RAW(p, "\":"), false);
}

/* Key and value together. */
static inline void json_key_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	json_open(j, bracket);
}

static inline void json_key_u64(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_u64(j, v);
}

static inline void json_key_i64(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_i64(j, v);
}

static inline void json_key_double(struct json *j, const char *key, double v)
{
	json_key(j, key);
	json_double(j, v);
}

static inline void json_key_exact(struct json *j, const char *key, double v)
{
	json_key(j, key);
	json_exact(j, v);
}

static inline void json_key_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

static inline void json_key_null(struct json *j, const char *key)
{
	json_key(j, key);
	json_raw(j, "null");
}

/* null if it is not known. */
static inline void json_key_known(struct json *j, const char *key, bool known, uint64_t v)
{
	if (known)
		json_key_u64(j, key, v);
	else
		json_key_null(j, key);
}

static inline void json_key_str(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s, strlen(s));
}

#endif
