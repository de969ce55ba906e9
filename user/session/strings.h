/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interned strings: equal texts have one id and one copy in memory. Id 0 is "no string".
 *
 * References are counted: strings_put() and strings_hold() add one, strings_drop() removes one, and
 * the last drop frees the string. Its id may then be reused. Not thread-safe.
 */
#ifndef SESSION_STRINGS_H
#define SESSION_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strings;

int strings_new(struct strings **ret); /* 0 or -ENOMEM */
void strings_free(struct strings *t);  /* NULL is allowed */

/* The id of a text of `bytes` bytes without NUL, which the caller now holds. 0: no memory. */
uint32_t strings_put(struct strings *t, const char *text, size_t bytes);
/* Add and remove a reference to a string; nothing with id 0. strings_drop(): true if it was the
 * last one. */
void strings_hold(struct strings *t, uint32_t id);
bool strings_drop(struct strings *t, uint32_t id);

/* The text with a NUL behind it, valid until the last drop; NULL for id 0. */
const char *strings_text(const struct strings *t, uint32_t id);
/* The number of strings with references. */
uint32_t strings_count(const struct strings *t);

#endif
