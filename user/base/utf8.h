/* SPDX-License-Identifier: BSD-2-Clause */
/* What is UTF-8 and what only claims to be: names and payloads come from other people's programs. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, for bytes that are none */

/*
 * Length of the UTF-8 sequence at s, 0 if it is none: too long, a surrogate, beyond U+10FFFF or cut
 * off by `left`, which is at least 1.
 */
size_t utf8_length(const unsigned char *s, size_t left);
/* How many bytes from s on may reach a terminal: up to a control character, U+0080 to U+009F among
 * them, or a byte that is no UTF-8. */
size_t utf8_plain(const char *s, size_t len);
/* What may not becomes a question mark. */
void utf8_disarm(char *s);
/* All of it is UTF-8 without control characters other than tab and newline, and there is some. */
bool utf8_is_text(const void *data, size_t len);
/*
 * Copies s to `to`, at most cap bytes, each byte that is not UTF-8 replaced, no NUL added. Returns the
 * bytes written; *ret_cut says whether not all of s fitted, of which no sequence is left in half.
 */
size_t utf8_copy(char *to, size_t cap, const char *s, size_t len, bool *ret_cut);

#endif
