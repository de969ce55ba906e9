/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/marker_requests.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/usdt_args.h"
#include "session/marker_values.h"

#define NO_MEMORY "no memory"
#define WILDCARDS "*?["

/* Those of interpreters that report each call, line or instruction of their programs. */
static const char *const frequent[] = {
	"function__entry",
	"function__return",
	"method__entry",
	"method__return",
	"cmethod__entry",
	"cmethod__return",
	"execute__entry",
	"execute__return",
	"line",
	"insn",
	"insn__operand",
};

/* Cuts what is before any of `ends` off *p. False: it is empty or too long. */
static bool cut_name(const char **p, const char *ends, char *ret)
{
	size_t n = strcspn(*p, ends);
	if (!n || n >= MARKER_NAME_BYTES)
		return false;
	memcpy(ret, *p, n);
	ret[n] = 0;
	*p += n;
	return true;
}

/* Behind a #. */
static const char *parse_option(const char **p, struct marker_side *s)
{
	char *end;
	if (**p < '0' || **p > '9')
		return "behind # is the number of an argument, from 0";
	unsigned long n = strtoul(*p, &end, 10);
	if (n >= USDT_ARGS_MAX)
		return "a marker has 12 arguments at most: #0 to #11";
	*p = end;
	if (!strncmp(*p, ":str", 4)) {
		*p += 4;
		if (s->texts == MARKER_REQUEST_TEXTS)
			return "4 arguments of a marker can be texts";
		s->text[s->texts++] = (uint8_t)n;
		return NULL;
	}
	if (s->key >= 0)
		return "a span is identified by one argument";
	s->key = (int)n;
	return NULL;
}

static const char *parse_side(const char **p, struct marker_side *s)
{
	const char *why = NULL;
	*s = (struct marker_side){.key = -1};
	if (!cut_name(p, ":~#", s->provider) || **p != ':')
		return "it is not PROVIDER:NAME";
	++*p;
	if (!cut_name(p, ":~#", s->name))
		return "it is not PROVIDER:NAME";
	while (!why && **p == '#') {
		++*p;
		why = parse_option(p, s);
	}
	return why		   ? why
	       : **p && **p != '~' ? "behind the name is nothing but #N, #N:str or ~"
				   : NULL;
}

static bool has_any(const struct marker_side *s, const char *of)
{
	return strpbrk(s->provider, of) || strpbrk(s->name, of);
}

static unsigned stars(const char *name)
{
	unsigned n = 0;
	for (; *name; name++)
		n += *name == '*';
	return n;
}

/* What a name may be in a pair: so each text of a star is found in one way. */
static const char *check_stars(const char *from, const char *to)
{
	if (stars(from) != stars(to))
		return "where one marker of a pair has a *, the other has one, too";
	return stars(from) > 1 ? "a name of a pair has one * at most" : NULL;
}

static const char *check_patterns(const struct marker_side *from, const struct marker_side *to)
{
	if (has_any(from, "?[") || has_any(to, "?["))
		return "the pattern of a pair has no wildcards but *";
	const char *why = check_stars(from->provider, to->provider);
	return why ? why : check_stars(from->name, to->name);
}

static const char *check(const struct marker_request *r)
{
	const struct marker_side *from = &r->side[MARKER_BEGIN], *to = &r->side[MARKER_END];
	if (!r->is_span)
		return from->key < 0 ? NULL
				     : "#N identifies spans; the text of an argument is #N:str";
	if ((from->key < 0) != (to->key < 0))
		return "a span is identified by an argument of both markers, or of none";
	const char *why = check_patterns(from, to);
	if (why)
		return why;
	if (!strcmp(from->provider, to->provider) && !strcmp(from->name, to->name))
		return "a span begins and ends at different markers";
	return NULL;
}

static bool is_pattern(const struct marker_request *r)
{
	return has_any(&r->side[MARKER_BEGIN], WILDCARDS) ||
	       has_any(&r->side[MARKER_END], WILDCARDS);
}

static char *label_of(const struct marker_request *r)
{
	const struct marker_side *from = &r->side[MARKER_BEGIN], *to = &r->side[MARKER_END];
	char *text;
	int n = r->is_span ? asprintf(&text, "%s:%s~%s:%s", from->provider, from->name,
				      to->provider, to->name)
			   : asprintf(&text, "%s:%s", from->provider, from->name);
	return n < 0 ? NULL : text;
}

/* 0 or -ENOMEM. */
static int add(struct marker_requests *r, const struct marker_request *from)
{
	struct marker_request one = *from;
	one.label = label_of(from);
	if (!one.label || !array_more(r->at, r->count)) {
		free(one.label);
		return -ENOMEM;
	}
	r->at[r->count++] = one;
	return 0;
}

const char *marker_requests_add(struct marker_requests *r, const char *text)
{
	struct marker_request one = {0};
	const char *why = r->count < MARKER_REQUESTS ? parse_side(&text, &one.side[MARKER_BEGIN])
						     : "there may be 256 of them";
	if (!why && *text == '~') {
		text++;
		one.is_span = true;
		why = parse_side(&text, &one.side[MARKER_END]);
	}
	if (!why && *text)
		why = "a span has two ends";
	if (!why)
		why = check(&one);
	if (why)
		return why;
	one.is_pattern = is_pattern(&one);
	return add(r, &one) ? NO_MEMORY : NULL;
}

void marker_requests_done(struct marker_requests *r)
{
	for (unsigned i = 0; i < r->count; i++)
		free(r->at[i].label);
	free(r->at);
	*r = (struct marker_requests){0};
}

bool marker_side_is(const struct marker_side *side, const struct notes_site *site)
{
	return !strcmp(side->name, site->name) && !strcmp(side->provider, site->provider);
}

const char *marker_name_frequent(const char *name)
{
	for (size_t i = 0; i < sizeof(frequent) / sizeof(*frequent); i++)
		if (!strcmp(name, frequent[i]))
			return frequent[i];
	return NULL;
}

const struct marker_side *marker_requests_frequent(const struct marker_requests *r)
{
	for (unsigned i = 0; i < r->count; i++)
		for (unsigned end = 0; end <= r->at[i].is_span; end++)
			if (marker_name_frequent(r->at[i].side[end].name))
				return &r->at[i].side[end];
	return NULL;
}

int marker_requests_copy(struct marker_requests *r, const struct marker_requests *from)
{
	int err = 0;
	for (unsigned i = 0; i < from->count && !err; i++)
		err = from->at[i].is_pattern ? 0 : add(r, &from->at[i]);
	return err;
}

static bool is_same_side(const struct marker_side *a, const struct marker_side *b)
{
	return a->key == b->key && !strcmp(a->name, b->name) && !strcmp(a->provider, b->provider);
}

int marker_requests_number(struct marker_requests *r, const struct marker_request *one)
{
	for (unsigned i = 0; i < r->count; i++) {
		const struct marker_request *is = &r->at[i];
		if (is->is_span == one->is_span && is_same_side(&is->side[0], &one->side[0]) &&
		    (!one->is_span || is_same_side(&is->side[1], &one->side[1])))
			return (int)i;
	}
	if (r->count == MARKER_REQUESTS)
		return -E2BIG;
	int err = add(r, one);
	return err ? err : (int)r->count - 1;
}
