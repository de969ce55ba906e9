/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of all languages, and sentences that name all of them. */
#ifndef SESSION_LANGUAGES_H
#define SESSION_LANGUAGES_H

#include <stddef.h>

#include "session/language.h"

#define LANGUAGES_MAX 8
/* The rows; NULL behind the last. */
extern const struct language *const languages[LANGUAGES_MAX + 1];

/* The language of this name, of `len` bytes; NULL: there is none. */
const struct language *languages_find(const char *name, size_t len);

/* The next language with rings in its programs; NULL: there is none. *at: 0 at first. */
static inline const struct language *languages_next_ring(unsigned *at)
{
	while (languages[*at] && !languages[*at]->ring)
		++*at;
	return languages[*at] ? languages[(*at)++] : NULL;
}

/* What a program must do: "be ... or ..."; and what makes it traceable: "start it with ...". */
extern const char languages_requirement[], languages_advice[];
/* What can be probed in programs that were not prepared: functions for events, allocations; and
 * the programs in which allocations can be sampled. */
extern const char languages_functions[], languages_allocs[], languages_sampled[];
/* The variable of the ring directory that programs of all languages with rings read. */
extern const char languages_common_dir[];

#endif
