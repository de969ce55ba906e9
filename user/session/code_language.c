/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/code_language.h"

#include <string.h>

#include "session/languages.h"

const struct traits_frames *code_language(const char *file)
{
	size_t bytes = file ? strlen(file) : 0;
	for (const struct language *const *l = languages; *l; l++) {
		const struct traits_frames *f = (*l)->traits.frames;
		size_t len = f && f->source ? strlen(f->source) : bytes;
		if (bytes > len && !strcmp(file + bytes - len, f->source))
			return f;
	}
	return NULL;
}

bool code_language_is_near(const char *file)
{
	const char *dot = strrchr(file, '.');
	for (const struct language *const *l = languages; *l && dot; l++) {
		const struct traits_frames *f = (*l)->traits.frames;
		if (f && f->source && !strncmp(dot, f->source, strlen(f->source)))
			return true;
	}
	return false;
}
