/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What requests for markers (marker_requests.h) mean in one file: a name is itself, a pattern is
 * each marker of the file that it matches, and that of a pair each two markers of the file with the
 * same texts where it has its stars. Names come from files that are not trusted: those that a
 * request cannot name, as they are empty or too long, match no pattern.
 */
#ifndef RUNTIME_MARKER_NAMES_H
#define RUNTIME_MARKER_NAMES_H

#include "base/map.h"
#include "runtime/marker_requests.h"

/* A site that is asked for, as one end of a request. */
struct marker_found {
	const struct notes_site *site;
	unsigned request; /* its number among those that the user asks for */
	enum marker_end end;
	/* By whole names, without a label if the user's is a pattern; valid during the call. */
	const struct marker_request *is;
};

/* Calls fn for all that is asked for in a file, site by site, until it returns non-zero, which is
 * then returned. */
int marker_names_each(const struct marker_requests *asked, const struct notes *notes,
		      int (*fn)(void *ctx, const struct marker_found *found), void *ctx);

struct marker_counts {
	uint32_t sites; /* that are asked for, each once */
	/* A name of a site that some pattern matches, though interpreters pass such markers at
	 * every call, line or instruction: static; and the number of the request. NULL: none. */
	const char *frequent;
	unsigned request;
};
void marker_names_count(const struct marker_requests *asked, const struct notes *notes,
			struct marker_counts *ret);

#define MARKER_NAMES_SEEN 512

/* Names of markers that files had, for messages: "PROVIDER:NAME", each once, the first
 * MARKER_NAMES_SEEN of them. Zeroed memory has none. */
struct marker_names_seen {
	char **name;
	unsigned count;
	bool more;
	struct map known; /* by a hash of the name */
};

void marker_names_see(struct marker_names_seen *s, const struct notes *notes);
/* Writes those that are of providers that are asked for, or, if there are none, the others, with
 * commas; those without room as "...". Returns how many there are in the text. */
unsigned marker_names_text(const struct marker_names_seen *s, const struct marker_requests *asked,
			   char *ret, size_t bytes);
void marker_names_seen_done(struct marker_names_seen *s);

#endif
