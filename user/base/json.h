/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A streaming JSON writer on a buffer: no tree, no allocation. It sets the commas; that what is
 * opened is closed is the caller's duty. Strings may hold any bytes: what is not UTF-8 becomes
 * U+FFFD, and every control character, U+0080 to U+009F among them, is escaped.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"
#include <stdbool.h>

struct json {
	struct buf *out;
	bool comma; /* the next value or key needs one before it */
};

void json_open(struct json *j, char bracket);  /* '{' or '[', as a value */
void json_close(struct json *j, char bracket); /* '}' or ']' */
/* A key made of plain ASCII; a value must follow. */
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *s, size_t len);
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
void json_bool(struct json *j, bool v);
/* Bytes as a string of hexadecimal digits. */
void json_hex(struct json *j, const void *data, size_t len);
/* Text that is JSON already, as a value. */
void json_raw(struct json *j, const char *text);

/* Key and value together. */
void json_key_u64(struct json *j, const char *key, uint64_t v);
/* null where it is not known. */
void json_key_known(struct json *j, const char *key, bool known, uint64_t v);
void json_key_i64(struct json *j, const char *key, int64_t v);
void json_key_str(struct json *j, const char *key, const char *s);

#endif
