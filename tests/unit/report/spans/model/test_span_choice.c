/* SPDX-License-Identifier: BSD-2-Clause */
/* Which spans are asked for by name, and which names are remembered that no pattern matches. */
#include "report/spans/model/choice.h"

#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const globs[] = {"http.*", "q?"};

static void test_names(void)
{
	struct span_choice all = {0}, c = {.globs = globs, .count = 2};
	ok(span_choice_matches(&all, "anything") && span_choice_wants(&all, "anything", 1),
	   "without a pattern all spans are asked for");
	ok(!all.seen_count, "and none is remembered");
	ok(span_choice_wants(&c, "http.get", 1) && span_choice_wants(&c, "q1", 2),
	   "a span is asked for if one of the patterns matches its name");
	ok(!span_choice_wants(&c, "http", 3) && !span_choice_wants(&c, "q12", 4), "else it is not");
	is(c.seen_count, 2, "names that match no pattern are remembered");
	ok(c.seen[0] == 3 && c.seen[1] == 4, "in the order in which they are seen");
	ok(!span_choice_wants(&c, "http", 3) && span_choice_wants(&c, "http.get", 1),
	   "the answer is the same each time");
	is(c.seen_count, 2, "and a name is remembered once");
	ok(span_choice_wants(&c, "q1", 0) && !span_choice_wants(&c, "none", 0),
	   "a name without a text is asked for or not, too");
	is(c.seen_count, 2, "and not remembered");
	span_choice_done(&all);
	span_choice_done(&c);
}

/* `names` of them that match no pattern. */
static struct span_choice after(uint32_t names)
{
	struct span_choice c = {.globs = globs, .count = 2};
	for (uint32_t text = 1; text <= names; text++) {
		char name[16];
		snprintf(name, sizeof(name), "name %u", text);
		if (span_choice_wants(&c, name, text))
			abort();
	}
	return c;
}

static void test_most(void)
{
	struct span_choice c = after(SPANS_SEEN);
	ok(c.seen_count == SPANS_SEEN && !c.seen_more && c.seen[SPANS_SEEN - 1] == SPANS_SEEN,
	   "%d names are remembered", SPANS_SEEN);
	span_choice_done(&c);
	c = after(SPANS_SEEN + 1);
	ok(c.seen_count == SPANS_SEEN && c.seen_more && c.seen[SPANS_SEEN - 1] == SPANS_SEEN,
	   "of one more it is known that there are more");
	span_choice_done(&c);
}

static void test_phases(void)
{
	static const char *const phase[] = {"none", "min?r"}, *const none[] = {"none"};
	struct span_choice c = {.globs = phase, .count = 2}, n = {.globs = none, .count = 1};
	struct span_choice all = {0};
	ok(span_choice_matches_a_phase(&c), "a pattern may match a phase");
	ok(!span_choice_matches_a_phase(&n), "or none");
	ok(!span_choice_matches_a_phase(&all), "as where there is no pattern");
}

int main(void)
{
	test_names();
	test_most();
	test_phases();
	return tap_done();
}
