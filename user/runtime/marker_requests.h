/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The markers that the user asks for (-U): of any program, as events or as the ends of spans.
 *
 *	request := side | side "~" side		an event; a span from the first to the second
 *	side	:= PROVIDER ":" NAME option*
 *	option	:= "#" N ":str"			argument N is the address of a text, which is copied
 *		|  "#" N			of both sides: the span ends where argument N of the
 *						second is that of the first, in any thread
 *
 * Without such an argument a span begins and ends in one thread. Names are compared exactly:
 * nothing is attached that was not asked for by its whole name.
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
	struct marker_side side[MARKER_ENDS]; /* of an event the first */
	char *label;			      /* what its events are called: without the options */
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

/* Whether a site is of the marker of a side. */
bool marker_side_is(const struct marker_side *side, const struct notes_site *site);
/* Whether some side of some request is of the marker of a site. */
bool marker_requests_have(const struct marker_requests *r, const struct notes_site *site);
/* The number of sites in a file that are asked for; r may be NULL. */
uint32_t marker_requests_sites(const struct marker_requests *r, int fd);
/* The first request for a marker that interpreters pass at every call, line or instruction; NULL:
 * none. */
const struct marker_side *marker_requests_frequent(const struct marker_requests *r);

#endif
