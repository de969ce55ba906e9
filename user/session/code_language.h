/* SPDX-License-Identifier: BSD-2-Clause */
/* The languages of code in stacks, by the names of its files and functions. */
#ifndef SESSION_CODE_LANGUAGE_H
#define SESSION_CODE_LANGUAGE_H

#include <stddef.h>

#include "session/traits.h"

/* The language of a source file; NULL: of no known language, or `file` is NULL. */
const struct traits_frames *code_language(const char *file);
/* True if a file is of such a language, its source or what it is made from: ".mly". */
bool code_language_is_near(const char *file);

/* What code of the language calls for a phase; NULL: nothing. frames may be NULL. */
static inline const char *code_language_call(const struct traits_frames *frames, uint32_t phase)
{
	return frames && phase < frames->calls ? frames->call[phase] : NULL;
}

#endif
