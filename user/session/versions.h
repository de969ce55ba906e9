/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Versions of runtimes: their text, their traits, and their numbers. A number of a version is that
 * of readers of rings (enum ebt_release), which captures keep, too; everywhere else a version is a
 * struct runtime_version.
 */
#ifndef SESSION_VERSIONS_H
#define SESSION_VERSIONS_H

#include "session/language.h"

/* The version with this number; zeroes: there is none. */
struct runtime_version versions_by_release(uint32_t release);
/* The number of a version; 0 (EBT_RELEASE_AUTO): it has none. */
uint32_t versions_release(struct runtime_version v);

/* "5.1.1" -> 5.1 of the language; later than the newest known -> that one. Zeroes: no version of
 * it. */
struct runtime_version versions_parse(const struct language *l, const char *text);
/* The version in the text that names a producer: its name, a space, a version. Zeroes: none. */
struct runtime_version versions_parse_producer(const char *producer);

/* Our option that overrides the version of a ring that does not record it; "". */
const char *versions_option(struct runtime_version v);

struct version_text {
	char text[48];
};
struct version_text
versions_text(struct runtime_version v); /* name and version; "auto": not known */

/* NULL: not known. */
const struct language *versions_language(struct runtime_version v);
/* All zero where the version is not known. */
struct traits versions_traits(struct runtime_version v);

#endif
