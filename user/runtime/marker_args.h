/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arguments of our markers. Our BPF program reads those of every marker from the same fixed
 * registers, without the site's note; here the note is checked for just these arguments, so that a
 * site with others, as <sys/sdt.h> or another build of the library would make, is not misread.
 */
#ifndef RUNTIME_MARKER_ARGS_H
#define RUNTIME_MARKER_ARGS_H

#include <stdbool.h>

#include "elf/notes.h"

#define MARKER_ARGS_BYTES 96

/* Writes the argument string that the notes of our marker `name` have to ret_text
 * (MARKER_ARGS_BYTES). False: we have no marker of this name. */
bool marker_args_expected(const char *name, char *ret_text);
/* True if it is a marker of ours, and its arguments are those expected. */
bool marker_args_match(const struct notes_site *site);

#endif
