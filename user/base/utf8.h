/* SPDX-License-Identifier: BSD-2-Clause */
/* What is UTF-8 and what only looks like it. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* What stands for bytes that are not UTF-8. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/*
 * Length of the UTF-8 sequence at s, 0 if it is none: too long, a surrogate, beyond U+10FFFF or cut
 * off by `left`.
 */
size_t utf8_length(const unsigned char *s, size_t left);
/*
 * Copies s to `to`, at most cap bytes, each byte that is not UTF-8 replaced, no NUL added. Returns the
 * bytes written; *ret_cut says whether not all of s fitted, of which no sequence is left in half.
 */
size_t utf8_copy(char *to, size_t cap, const char *s, size_t len, bool *ret_cut);

#endif
