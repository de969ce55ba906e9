/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/marker_names.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The names of a file, by a hash of provider and name: the number of a site, and 1. */
struct names {
	const struct notes *notes;
	struct map index;
};

/* Those of a pair: the texts of the stars. */
struct texts {
	const char *at[2]; /* of the provider, of the name; NULL: it has no star */
	size_t bytes[2];
};

static bool can_be_named(const struct notes_site *site)
{
	size_t provider = strnlen(site->provider, MARKER_NAME_BYTES);
	size_t name = strnlen(site->name, MARKER_NAME_BYTES);
	return provider && name && provider < MARKER_NAME_BYTES && name < MARKER_NAME_BYTES;
}

static uint64_t key_of(const char *provider, const char *name)
{
	return hash_string(hash_string(hash_start(), provider), name);
}

/* Without memory it has fewer of them. */
static void index_names(struct names *n)
{
	for (uint32_t i = 0; i < n->notes->sites; i++) {
		const struct notes_site *site = &n->notes->site[i];
		uint64_t *at = can_be_named(site)
				       ? map_put(&n->index, key_of(site->provider, site->name))
				       : NULL;
		if (at && !*at)
			*at = i + 1ull;
	}
}

static bool has_name(const struct names *n, const struct marker_side *side)
{
	const uint64_t *at = map_get(&n->index, key_of(side->provider, side->name));
	return at && marker_side_is(side, &n->notes->site[*at - 1]);
}

/* ---- pairs ---- */

/* Whether a name is a pattern with one star, or none: *ret is the text of the star. */
static bool match_star(const char *pattern, const char *name, const char **ret, size_t *ret_bytes)
{
	const char *star = strchr(pattern, '*');
	*ret = NULL;
	*ret_bytes = 0;
	if (!star)
		return !strcmp(pattern, name);
	size_t before = (size_t)(star - pattern), behind = strlen(star + 1), bytes = strlen(name);
	if (bytes < before + behind || memcmp(pattern, name, before) ||
	    memcmp(star + 1, name + bytes - behind, behind))
		return false;
	*ret = name + before;
	*ret_bytes = bytes - before - behind;
	return true;
}

static bool match_side(const struct marker_side *pattern, const struct notes_site *site,
		       struct texts *ret)
{
	return match_star(pattern->provider, site->provider, &ret->at[0], &ret->bytes[0]) &&
	       match_star(pattern->name, site->name, &ret->at[1], &ret->bytes[1]);
}

/* The pattern with the text in place of its star. False: it is too long to be a name. */
static bool fill_star(const char *pattern, const char *text, size_t bytes,
		      char ret[MARKER_NAME_BYTES])
{
	const char *star = strchr(pattern, '*');
	size_t before = star ? (size_t)(star - pattern) : strlen(pattern);
	const char *behind = star ? star + 1 : "";
	return snprintf(ret, MARKER_NAME_BYTES, "%.*s%.*s%s", (int)before, pattern, (int)bytes,
			text ? text : "", behind) < MARKER_NAME_BYTES;
}

static bool fill_side(const struct marker_side *pattern, const struct texts *texts,
		      struct marker_side *ret)
{
	*ret = *pattern;
	return fill_star(pattern->provider, texts->at[0], texts->bytes[0], ret->provider) &&
	       fill_star(pattern->name, texts->at[1], texts->bytes[1], ret->name);
}

/* The pair that a site is this end of, if its other end is in the file, too. */
static bool find_pair(const struct names *n, const struct marker_request *pattern,
		      enum marker_end end, const struct notes_site *site,
		      struct marker_request *ret)
{
	struct texts texts;
	*ret = (struct marker_request){.is_span = true};
	return match_side(&pattern->side[end], site, &texts) &&
	       fill_side(&pattern->side[MARKER_BEGIN], &texts, &ret->side[MARKER_BEGIN]) &&
	       fill_side(&pattern->side[MARKER_END], &texts, &ret->side[MARKER_END]) &&
	       has_name(n, &ret->side[end == MARKER_BEGIN ? MARKER_END : MARKER_BEGIN]);
}

/* ---- all ---- */

static bool find_event(const struct marker_request *pattern, const struct notes_site *site,
		       struct marker_request *ret)
{
	const struct marker_side *side = &pattern->side[MARKER_BEGIN];
	if (fnmatch(side->provider, site->provider, 0) || fnmatch(side->name, site->name, 0))
		return false;
	*ret = (struct marker_request){.side[MARKER_BEGIN] = *side};
	snprintf(ret->side[MARKER_BEGIN].provider, MARKER_NAME_BYTES, "%s", site->provider);
	snprintf(ret->side[MARKER_BEGIN].name, MARKER_NAME_BYTES, "%s", site->name);
	return true;
}

/* What a site is as an end of a request; NULL: it is not. */
static const struct marker_request *find(const struct names *n, const struct marker_request *r,
					 enum marker_end end, const struct notes_site *site,
					 struct marker_request *scratch)
{
	if (!r->is_pattern)
		return marker_side_is(&r->side[end], site) ? r : NULL;
	bool is_found = can_be_named(site) && (r->is_span ? find_pair(n, r, end, site, scratch)
							  : find_event(r, site, scratch));
	return is_found ? scratch : NULL;
}

int marker_names_each(const struct marker_requests *asked, const struct notes *notes,
		      int (*fn)(void *ctx, const struct marker_found *found), void *ctx)
{
	struct names n = {.notes = notes};
	struct marker_request scratch;
	int stop = 0;
	for (unsigned r = 0; r < asked->count && !n.index.count; r++)
		if (asked->at[r].is_span && asked->at[r].is_pattern)
			index_names(&n);
	for (uint32_t i = 0; i < notes->sites; i++)
		for (unsigned r = 0; r < asked->count && !stop; r++)
			for (unsigned end = 0; end <= asked->at[r].is_span && !stop; end++) {
				struct marker_found found = {
					.site = &notes->site[i], .request = r, .end = end};
				found.is = find(&n, &asked->at[r], end, found.site, &scratch);
				stop = found.is ? fn(ctx, &found) : 0;
			}
	map_done(&n.index);
	return stop;
}

struct counting {
	const struct marker_requests *asked;
	const struct notes_site *last;
	struct marker_counts *ret;
};

static int count(void *ctx, const struct marker_found *found)
{
	struct counting *c = ctx;
	c->ret->sites += found->site != c->last;
	c->last = found->site;
	if (c->ret->frequent || !c->asked->at[found->request].is_pattern)
		return 0;
	c->ret->frequent = marker_name_frequent(found->site->name);
	c->ret->request = found->request;
	return 0;
}

void marker_names_count(const struct marker_requests *asked, const struct notes *notes,
			struct marker_counts *ret)
{
	struct counting c = {.asked = asked, .ret = ret};
	*ret = (struct marker_counts){0};
	marker_names_each(asked, notes, count, &c);
}

/* ---- names for messages ---- */

static void see(struct marker_names_seen *s, const struct notes_site *site)
{
	char text[2 * MARKER_NAME_BYTES];
	uint64_t *at = map_put(&s->known, key_of(site->provider, site->name));
	if (!at || *at)
		return;
	*at = 1;
	snprintf(text, sizeof(text), "%s:%s", site->provider, site->name);
	if (!array_more(s->name, s->count))
		return;
	s->name[s->count] = strdup(text);
	s->count += s->name[s->count] != NULL;
}

void marker_names_see(struct marker_names_seen *s, const struct notes *notes)
{
	for (uint32_t i = 0; i < notes->sites && !s->more; i++) {
		s->more = s->count == MARKER_NAMES_SEEN;
		if (!s->more && can_be_named(&notes->site[i]))
			see(s, &notes->site[i]);
	}
}

static bool is_of_asked(const char *name, const struct marker_requests *asked)
{
	char provider[MARKER_NAME_BYTES];
	snprintf(provider, sizeof(provider), "%.*s", (int)strcspn(name, ":"), name);
	for (unsigned r = 0; r < asked->count; r++)
		for (unsigned end = 0; end <= asked->at[r].is_span; end++)
			if (!fnmatch(asked->at[r].side[end].provider, provider, 0))
				return true;
	return false;
}

unsigned marker_names_text(const struct marker_names_seen *s, const struct marker_requests *asked,
			   char *ret, size_t bytes)
{
	static const char more[] = ", ...";
	bool any = false, is_cut = s->more;
	unsigned n = 0;
	size_t at = 0;
	*ret = 0;
	for (unsigned i = 0; i < s->count && !any; i++)
		any = is_of_asked(s->name[i], asked);
	for (unsigned i = 0; i < s->count; i++) {
		size_t need = strlen(s->name[i]) + strlen(", ");
		if (any && !is_of_asked(s->name[i], asked))
			continue;
		if (at + need + sizeof(more) > bytes) {
			is_cut = true;
			break;
		}
		at += (size_t)snprintf(ret + at, bytes - at, "%s%s", n ? ", " : "", s->name[i]);
		n++;
	}
	if (n && is_cut)
		snprintf(ret + at, bytes - at, "%s", more);
	return n;
}

void marker_names_seen_done(struct marker_names_seen *s)
{
	for (unsigned i = 0; i < s->count; i++)
		free(s->name[i]);
	free(s->name);
	map_done(&s->known);
	*s = (struct marker_names_seen){0};
}
