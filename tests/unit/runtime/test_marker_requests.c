/* SPDX-License-Identifier: BSD-2-Clause */
/* What -U asks for: its syntax, and the numbers of requests. */
#include "runtime/marker_requests.h"

#include <errno.h>
#include <string.h>

#include "tests/tap.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* "label b=provider/name[key:texts] e=…" */
static const char *describe(const struct marker_request *r)
{
	static char text[512];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", r->label);
	for (unsigned end = 0; end <= r->is_span; end++) {
		const struct marker_side *s = &r->side[end];
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %c=%s/%s[%d:", "be"[end],
				      s -> provider, s -> name, s -> key);
		for (unsigned i = 0; i < s->texts; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%u,", s->text[i]);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "]");
	}
	return text;
}

static void test_good(void)
{
	static const struct {
		const char *text, *means;
	} rows[] = {
		{"python:gc__start", "python:gc__start b=python/gc__start[-1:]"},
		{"p:name#1:str", "p:name b=p/name[-1:1,]"},
		{"p:name#0:str#11:str", "p:name b=p/name[-1:0,11,]"},
		{"p:begin~p:end", "p:begin~p:end b=p/begin[-1:] e=p/end[-1:]"},
		{"p:begin#0~p:end#0", "p:begin~p:end b=p/begin[0:] e=p/end[0:]"},
		{"p:begin#2#1:str~q:end#0#3:str", "p:begin~q:end b=p/begin[2:1,] e=q/end[0:3,]"},
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct marker_requests r = {0};
		const char *why = marker_requests_add(&r, rows[i].text);
		ok(!why && r.count == 1, "'%s' is a request", rows[i].text);
		is_str(r.count ? describe(&r.at[0]) : "", rows[i].means, "with these parts");
		marker_requests_done(&r);
	}
}

static void test_bad(void)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
		{"", "PROVIDER:NAME"},	      {"name", "PROVIDER:NAME"},
		{":name", "PROVIDER:NAME"},   {"p:", "PROVIDER:NAME"},
		{"p:name#", "number"},	      {"p:name#x", "number"},
		{"p:name#12:str", "12"},      {"p:name#1", "spans"},
		{"p:name#1:int", "behind"},   {"p:name:more", "behind"},
		{"p:a~", "PROVIDER:NAME"},    {"p:a#0~p:b", "both"},
		{"p:a~p:b#0", "both"},	      {"p:a~p:b~p:c", "two ends"},
		{"p:a~p:a", "different"},     {"p:a#0#1~p:b#0", "one argument"},
		{"p:a#99999999999999", "12"}, {"p:a?~p:b", "wildcards"},
		{"p:a~p:b[c]", "wildcards"},  {"p?:a~p:b", "wildcards"},
		{"p:a*~p:b", "has one, too"}, {"p:a**~p:b**", "one * at most"},
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct marker_requests r = {0};
		const char *why = marker_requests_add(&r, rows[i].text);
		ok(why && strstr(why, rows[i].part) && !r.count, "'%s' is refused", rows[i].text);
		if (why && !strstr(why, rows[i].part))
			diag("it says: %s", why);
	}
	struct marker_requests r = {0};
	ok(marker_requests_add(&r, "p:n#0:str#1:str#2:str#3:str#4:str") &&
		   !marker_requests_add(&r, "p:n#0:str#1:str#2:str#3:str"),
	   "four arguments can be texts, not five");
	char longer[MARKER_NAME_BYTES + 8] = "p:";
	memset(longer + 2, 'n', MARKER_NAME_BYTES);
	ok(marker_requests_add(&r, longer) != NULL, "a name that is too long is refused");
	unsigned n = r.count;
	while (!marker_requests_add(&r, "p:n"))
		n++;
	is(n, 256, "there are 256 requests at most");
	marker_requests_done(&r);
}

static void test_patterns(void)
{
	static const struct {
		const char *text;
		bool is_pattern;
	} good[] = {
		{"p:name", false}, {"p:begin~q:end", false},   {"p:*", true},
		{"*:name", true},  {"p?:n[ab]*", true},	       {"p:*__start~p:*__done", true},
		{"*:a~*:b", true}, {"p*:x*y#0~q*:*z#1", true},
	};
	static const struct {
		const char *text, *part;
	} bad[] = {
		{"p:*a~p:b", "the other has one, too"},
		{"p:a~p:b*", "the other has one, too"},
		{"*:a~p:*b", "the other has one, too"},
		{"*:a*~*:b", "the other has one, too"},
		{"p:*a*~p:*b*", "one * at most"},
		{"**:a~**:b", "one * at most"},
		{"p:a?~p:b?", "no wildcards but *"},
		{"p:[ab]~p:[cd]", "no wildcards but *"},
		{"p:a*~p:a*", "different"},
		{"p:*#0", "spans"},
	};
	for (size_t i = 0; i < COUNT(good); i++) {
		struct marker_requests r = {0};
		ok(!marker_requests_add(&r, good[i].text) &&
			   r.at[0].is_pattern == good[i].is_pattern,
		   "'%s' is %s pattern", good[i].text, good[i].is_pattern ? "a" : "no");
		marker_requests_done(&r);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct marker_requests r = {0};
		const char *why = marker_requests_add(&r, bad[i].text);
		ok(why && strstr(why, bad[i].part) && !r.count, "'%s' is refused", bad[i].text);
		if (why && !strstr(why, bad[i].part))
			diag("it says: %s", why);
	}
}

static void test_frequent(void)
{
	struct marker_requests r = {0};
	marker_requests_add(&r, "p:begin~p:end");
	marker_requests_add(&r, "python:*");
	ok(!marker_requests_frequent(&r), "none of them fires on every call");
	marker_requests_add(&r, "p:entry~python:function__entry");
	const struct marker_side *often = marker_requests_frequent(&r);
	is_str(often ? often->name : "", "function__entry",
	       "this one does, as the end of a span, too");
	marker_requests_done(&r);
}

static int number(struct marker_requests *r, const char *text)
{
	struct marker_requests one = {0};
	marker_requests_add(&one, text);
	int n = marker_requests_number(r, &one.at[0]);
	marker_requests_done(&one);
	return n;
}

static void test_numbers(void)
{
	struct marker_requests asked = {0}, r = {0};
	marker_requests_add(&asked, "p:*");
	marker_requests_add(&asked, "p:a#1:str");
	marker_requests_add(&asked, "p:a~p:b");
	marker_requests_add(&asked, "p:a");
	marker_requests_copy(&r, &asked);
	is(r.count, 3, "requests by whole names are copied, patterns are not");
	is(number(&r, "p:a"), 0, "a name has the number of the first request for it");
	is(r.at[0].side[0].texts, 1, "which is as the user has it");
	is(number(&r, "p:a~p:b"), 1, "a pair is another one");
	is(number(&r, "p:a#0~p:b#0"), 3, "by an argument, too");
	is_str(r.at[3].label, "p:a~p:b", "it has a label");
	is(number(&r, "q:a"), 4, "so is one of another provider");
	is(number(&r, "q:a"), 4, "and the next time it is known");
	char text[16];
	for (int i = 5; i < 256; i++) {
		snprintf(text, sizeof(text), "p:n%d", i);
		number(&r, text);
	}
	is(number(&r, "p:more"), -E2BIG, "there are 256 of them at most");
	is(number(&r, "p:n255"), 255, "those that are there stay");
	marker_requests_done(&r);
	marker_requests_done(&asked);
}

int main(void)
{
	test_good();
	test_bad();
	test_patterns();
	test_frequent();
	test_numbers();
	return tap_done();
}
