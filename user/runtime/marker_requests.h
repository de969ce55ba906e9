/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The markers that the user asks for (-U): of any program, as events or as the ends of spans.
 *
 *	request := side | side "~" side		an event; a span from the first to the second
 *	side	:= PROVIDER ":" NAME option*	each may be a pattern
 *	option	:= "#" N ":str"			argument N is the address of a text, which is copied
 *		|  "#" N			of both sides: the span ends where argument N of the
 *						second is that of the first, in any thread
 *
 * Without such an argument a span begins and ends in one thread. A name without a wildcard is
 * compared exactly. That of an event may be a pattern as of fnmatch(3). Those of a pair may have
 * a "*" each, at the same places in both: two markers are a pair where the text of each "*" is
 * the same in both. What patterns mean in a file: marker_names.h.
 */
#ifndef RUNTIME_MARKER_REQUESTS_H
#define RUNTIME_MARKER_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/notes.h"

#define MARKER_REQUEST_TEXTS 4	/* arguments of a side whose text is copied */
#define MARKER_REQUEST_SITES 64 /* of a file that are probed without --many */
#define MARKER_NAME_BYTES    64 /* of a provider, of a name */

struct marker_side {
	char provider[MARKER_NAME_BYTES], name[MARKER_NAME_BYTES];
	int key; /* the argument that identifies the span; -1: none */
	unsigned texts;
	uint8_t text[MARKER_REQUEST_TEXTS]; /* arguments */
};

enum marker_end { MARKER_BEGIN, MARKER_END, MARKER_ENDS };

struct marker_request {
	bool is_span;
	bool is_pattern;		      /* some name of it is one */
	struct marker_side side[MARKER_ENDS]; /* of an event the first */
	/* What its events are called: without the options. Of a pattern, its text without them. */
	char *label;
};

/* Zeroed memory has none. */
struct marker_requests {
	struct marker_request *at;
	unsigned count;
	bool many; /* any number of sites, and markers that fire on every call */
};

/* Adds a request. NULL, or why it is none; the reason is static. */
const char *marker_requests_add(struct marker_requests *r, const char *text);
void marker_requests_done(struct marker_requests *r);

/* Whether a site is of the marker of a side, the names of which are no patterns. */
bool marker_side_is(const struct marker_side *side, const struct notes_site *site);
/* The name, static, if interpreters pass markers of it at every call, line or instruction; else
 * NULL. */
const char *marker_name_frequent(const char *name);
/* The first request for such a marker by its whole name; NULL: none. */
const struct marker_side *marker_requests_frequent(const struct marker_requests *r);

/* Adds copies of the requests of `from` that are no patterns, in their order. 0 or -ENOMEM. */
int marker_requests_copy(struct marker_requests *r, const struct marker_requests *from);
/* The number of the first request with the names, kind and key of one, which is added, with a label
 * of its own, if there is none. -E2BIG: there are MARKER_REQUESTS; -ENOMEM. */
int marker_requests_number(struct marker_requests *r, const struct marker_request *one);

#endif
