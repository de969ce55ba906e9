/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of functions as reports show them (base/demangle.h), by the session's strings; each is
 * demangled once. Outputs of events keep the raw names. It holds the strings that it was asked for.
 */
#ifndef SESSION_DISPLAY_NAMES_H
#define SESSION_DISPLAY_NAMES_H

#include <stdint.h>

struct display_names;
struct strings;

/* Keeps `strings`, which must outlive it. 0 or -ENOMEM. */
int display_names_new(struct strings *strings, struct display_names **ret);
void display_names_free(struct display_names *d); /* NULL is allowed */
/* The string to show for a function's name: itself if it is not mangled, or 0, or if there is no
 * memory. Valid as long as `d`. */
uint32_t display_name(struct display_names *d, uint32_t name);

#endif
