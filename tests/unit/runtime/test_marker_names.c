/* SPDX-License-Identifier: BSD-2-Clause */
/* What -U means in a file: names, patterns and pairs of them, also in files that are hostile. */
#include "runtime/marker_names.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/tap.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define SITES	     16

/* Up to SITES sites by their names, "p:a p:b"; a name that is longer than a word is made by the
 * caller. */
static struct notes notes_of(const char *names, struct notes_site site[SITES], char copy[1024])
{
	struct notes n = {.site = site};
	snprintf(copy, 1024, "%s", names);
	for (char *word = strtok(copy, " "); word && n.sites < SITES; word = strtok(NULL, " ")) {
		char *colon = strchr(word, ':');
		*colon = 0;
		site[n.sites++] = (struct notes_site){
			.provider = word, .name = colon + 1, .args = "", .offset = n.sites};
	}
	return n;
}

static int append(void *ctx, const struct marker_found *f)
{
	char *text = ctx;
	size_t n = strlen(text);
	const struct marker_side *is = f->is->side;
	if (f->is->is_span)
		snprintf(text + n, 1024 - n, "%s%c%s:%s~%s:%s", n ? " " : "", "be"[f->end],
			 is[0].provider, is[0].name, is[1].provider, is[1].name);
	else
		snprintf(text + n, 1024 - n, "%s%s:%s", n ? " " : "", is[0].provider, is[0].name);
	return 0;
}

static void check(const char *requests, const char *names, const char *want)
{
	struct marker_requests asked = {0};
	struct notes_site site[SITES];
	char copy[1024], words[1024], got[1024] = "";
	struct notes notes = notes_of(names, site, copy);
	snprintf(words, sizeof(words), "%s", requests);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		if (marker_requests_add(&asked, word))
			diag("'%s' is no request", word);
	marker_names_each(&asked, &notes, append, got);
	char sentence[128];
	snprintf(sentence, sizeof(sentence), "what '%s' means in a file", requests);
	is_str(got, want, sentence);
	marker_requests_done(&asked);
}

static void test_events(void)
{
	check("p:a", "p:a p:b q:a", "p:a");
	check("p:*", "p:a q:a p:ab p:a", "p:a p:ab p:a");
	check("*:a", "p:a q:a p:b", "p:a q:a");
	check("p:a*z", "p:az p:abz p:ab p:xaz", "p:az p:abz");
	check("p:query?", "p:query p:query1 p:query12", "p:query1");
	check("p:[ab]", "p:a p:b p:c", "p:a p:b");
	check("p:[!ab]", "p:a p:b p:c", "p:c");
	check("p:*x*", "p:axb p:ab p:x", "p:axb p:x");
	check("p:* p:a", "p:a p:b", "p:a p:a p:b");
	check("p:x*", "p:a", "");
	check("*:*", "", "");
}

static void test_pairs(void)
{
	check("p:*_begin~p:*_end", "p:a_begin p:a_end p:b_begin p:c_end",
	      "bp:a_begin~p:a_end ep:a_begin~p:a_end");
	check("p:*_begin~p:*_end", "p:_begin p:_end", "bp:_begin~p:_end ep:_begin~p:_end");
	check("*:x~*:y", "p:x q:y", "");
	check("*:x~*:y", "q:y p:x q:x", "eq:x~q:y bq:x~q:y");
	check("p:a*z~q:b*", "p:amz q:bm q:bmz", "bp:amz~q:bm ep:amz~q:bm");
	check("p:*~p:*2", "p:a p:a2 p:a22", "bp:a~p:a2 bp:a2~p:a22 ep:a~p:a2 ep:a2~p:a22");
	check("p:aa*a~p:b*", "p:aaa p:b p:aa p:ba", "bp:aaa~p:b ep:aaa~p:b");
	check("p:a~p:b", "p:a", "bp:a~p:b");
}

/* Names that a request cannot have, and those that would be patterns themselves. */
static void test_hostile(void)
{
	struct marker_requests all = {0};
	char longer[200], got[1024] = "";
	memset(longer, 'n', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	longer[MARKER_NAME_BYTES] = 0;
	struct notes_site site[] = {
		{.provider = "", .name = "a"},	       {.provider = "p", .name = ""},
		{.provider = "p", .name = longer},     {.provider = longer, .name = "a"},
		{.provider = "p", .name = longer + 1},
	};
	struct notes notes = {.site = site, .sites = COUNT(site)};
	marker_requests_add(&all, "*:*");
	marker_names_each(&all, &notes, append, got);
	is(strlen(got), 2 + MARKER_NAME_BYTES - 1,
	   "names that are empty or too long match nothing, the longest one does");
	marker_requests_done(&all);

	struct marker_requests pairs = {0};
	got[0] = 0;
	marker_requests_add(&pairs, "p:*~p:*more");
	marker_names_each(&pairs, &notes, append, got);
	is_str(got, "", "a name with the text of a star that would be too long is no pair");
	marker_requests_done(&pairs);

	check("p:*_b~p:*_e", "p:*_b p:*_e p:x_b", "bp:*_b~p:*_e ep:*_b~p:*_e");
	check("p:*_b~p:*_e", "p:%s%n_b p:%s%n_e", "bp:%s%n_b~p:%s%n_e ep:%s%n_b~p:%s%n_e");
	check("p:a*", "p:a\xff\x1b[2J p:[ p:a\\", "p:a\xff\x1b[2J p:a\\");
	check("p:a", "p:a* p:?", "");
}

/* As many names as a file may have, alike but for their ends, and patterns with many stars. */
static void test_many(void)
{
	enum { NAMES = NOTES_MAX, BYTES = 64 };
	struct marker_requests asked = {0};
	struct marker_counts counts;
	struct notes notes = {.site = calloc(NAMES, sizeof(*notes.site)), .sites = NAMES};
	char *text = calloc(NAMES, BYTES);
	for (unsigned i = 0; i < NAMES; i++) {
		char *name = text + (size_t)i * BYTES;
		memset(name, 'a', BYTES - 7);
		snprintf(name + BYTES - 7, 7, "%05x", i);
		notes.site[i] = (struct notes_site){.provider = "p", .name = name, .args = ""};
	}
	marker_requests_add(&asked, "p:*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b");
	marker_requests_add(&asked, "p:*0~p:*1");
	clock_t begin = clock();
	marker_names_count(&asked, &notes, &counts);
	double s = (double)(clock() - begin) / CLOCKS_PER_SEC;
	ok(counts.sites > 8000, "a file with %u names has %u of them", NAMES, counts.sites);
	ok(s < 20, "which takes %.2f s", s);
	marker_requests_done(&asked);
	free(notes.site);
	free(text);
}

static void test_counts(void)
{
	struct marker_requests asked = {0};
	struct marker_counts counts;
	struct notes_site site[SITES];
	char copy[1024];
	struct notes notes = notes_of("p:a p:b p:a python:line q:function__entry", site, copy);
	marker_requests_add(&asked, "p:a");
	marker_requests_add(&asked, "p:*");
	marker_requests_add(&asked, "python:line");
	marker_names_count(&asked, &notes, &counts);
	is(counts.sites, 4, "each site counts once, however many requests are for it");
	ok(!counts.frequent, "what was asked for by its name is no surprise");
	marker_requests_add(&asked, "q:*");
	marker_names_count(&asked, &notes, &counts);
	is_str(counts.frequent ? counts.frequent : "", "function__entry",
	       "that a pattern means one that fires on every call is one");
	is(counts.request, 3, "with the number of the request");
	marker_requests_done(&asked);
}

static void test_seen(void)
{
	struct marker_requests asked = {0};
	struct marker_names_seen seen = {0};
	struct notes_site site[SITES];
	char copy[1024], text[40];
	struct notes notes = notes_of("p:a p:b p:a q:c q:dddddddddddddddddddd", site, copy);
	is(marker_names_text(&seen, &asked, text, sizeof(text)), 0, "no file, no names");
	is_str(text, "", "and no text");
	marker_names_see(&seen, &notes);
	marker_names_see(&seen, &notes);
	marker_requests_add(&asked, "p:x*");
	is(marker_names_text(&seen, &asked, text, sizeof(text)), 2,
	   "names of the provider that is asked for");
	is_str(text, "p:a, p:b", "each once");
	marker_requests_done(&asked);
	marker_requests_add(&asked, "zz:x");
	is(marker_names_text(&seen, &asked, text, sizeof(text)), 3,
	   "where there are none, all that have room");
	is_str(text, "p:a, p:b, q:c, ...", "and that there are more");
	char names[64];
	for (unsigned i = 0; i < 2 * MARKER_NAMES_SEEN; i++) {
		snprintf(names, sizeof(names), "p:n%u", i);
		notes = notes_of(names, site, copy);
		marker_names_see(&seen, &notes);
	}
	is(seen.count, MARKER_NAMES_SEEN, "a number of them is kept");
	marker_requests_done(&asked);
	marker_names_seen_done(&seen);
}

int main(void)
{
	test_events();
	test_pairs();
	test_hostile();
	test_many();
	test_counts();
	test_seen();
	return tap_done();
}
