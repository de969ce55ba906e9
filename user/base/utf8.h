/* SPDX-License-Identifier: BSD-2-Clause */
/* Validates and repairs UTF-8: names and payloads come from traced programs. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, for bytes that are none */

/*
 * Length of the UTF-8 sequence at s; 0 if it is not valid: overlong, a surrogate, beyond U+10FFFF,
 * or cut off by `left`, which is at least 1.
 */
size_t utf8_length(const unsigned char *s, size_t left);
/* The number of bytes from s on that are safe for a terminal: up to a control character (including
 * U+0080 to U+009F, and those that change the direction of text) or a byte that is not UTF-8. */
size_t utf8_plain(const char *s, size_t len);
/* Replaces what is not safe for a terminal by question marks. */
void utf8_disarm(char *s);
/* True if it is not empty and UTF-8 without control characters except tab and newline. */
bool utf8_is_text(const void *data, size_t len);
/*
 * Copies s to `to`, at most cap bytes, each byte that is not UTF-8 replaced, without a NUL. Returns
 * the bytes written; *ret_cut: s was cut, between two sequences.
 */
size_t utf8_copy(char *to, size_t cap, const char *s, size_t len, bool *ret_cut);

#endif
