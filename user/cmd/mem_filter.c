/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/mem_filter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A condition, in parts. */
struct parts {
	const char *key, *op, *value;
	size_t key_bytes, op_bytes;
};

enum kind { GLOB, DOMAIN, LIFETIME, SIZE };

static const struct {
	const char *key;
	enum kind kind;
	enum mem_filter_what what; /* of a glob */
	const char *ops;	   /* between spaces */
} keys[] = {
	{"function", GLOB, MEM_FILTER_FUNCTION, " = != "},
	{"file", GLOB, MEM_FILTER_FILE, " = != "},
	{"site", GLOB, MEM_FILTER_SITE, " = != "},
	{"domain", DOMAIN, 0, " = "},
	{"lifetime", LIFETIME, 0, " < <= > >= "},
	{"size", SIZE, 0, " = < <= > >= "},
};
#define KEYS (sizeof(keys) / sizeof(*keys))

void mem_conditions_init(struct mem_conditions *c)
{
	c->texts = 0;
	mem_filter_init(&c->filter);
}

void mem_conditions_done(struct mem_conditions *c)
{
	while (c->texts)
		free(c->text[--c->texts]);
}

static bool parse_scaled(const char *text, const char *const units[], const double scale[],
			 double *ret)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || !isfinite(v) || v < 0)
		return false;
	for (unsigned i = 0; units[i]; i++) {
		*ret = v * scale[i];
		if (!strcmp(end, units[i]))
			return true;
	}
	return false;
}

static bool parse_time(const char *text, double *ret_ns)
{
	static const char *const units[] = {"", "ns", "us", "ms", "s", "m", "h", NULL};
	static const double scale[] = {1e9, 1, 1e3, 1e6, 1e9, 60e9, 3600e9};
	return parse_scaled(text, units, scale, ret_ns);
}

static bool parse_size(const char *text, double *ret_bytes)
{
	static const char *const units[] = {"", "k", "K", "M", "G", NULL};
	static const double scale[] = {1, 1024, 1024, 1048576, 1073741824};
	return parse_scaled(text, units, scale, ret_bytes);
}

static bool op_is(const struct parts *p, const char *op)
{
	return strlen(op) == p->op_bytes && !strncmp(p->op, op, p->op_bytes);
}

/* Narrows a range. */
static void narrow(struct mem_range *r, const struct parts *p, double v)
{
	double min = 0, max = INFINITY;
	if (*p->op == '>')
		min = op_is(p, ">") ? nextafter(v, INFINITY) : v;
	else if (*p->op == '<')
		max = op_is(p, "<") ? nextafter(v, -INFINITY) : v;
	else
		min = max = v;
	r->min = min > r->min ? min : r->min;
	r->max = max < r->max ? max : r->max;
}

static int add_glob(struct mem_conditions *c, const struct parts *p, enum mem_filter_what what,
		    char *why)
{
	struct mem_filter *f = &c->filter;
	if (f->globs == MEM_FILTER_GLOBS) {
		snprintf(why, MEM_CONDITION_WHY, "more than %d patterns", MEM_FILTER_GLOBS);
		return -EINVAL;
	}
	char *text = strdup(p->value);
	if (!text)
		return -ENOMEM;
	c->text[c->texts++] = text;
	f->glob[f->globs++] = (struct mem_glob){what, op_is(p, "!="), text};
	return 0;
}

static int add_number(struct mem_conditions *c, const struct parts *p, enum kind kind, char *why)
{
	struct mem_filter *f = &c->filter;
	char *end;
	double v = 0;
	bool good;
	if (kind == DOMAIN) {
		f->domain = strtoul(p->value, &end, 10);
		f->has_domain = true;
		good = *p->value >= '0' && *p->value <= '9' && !*end && f->domain < 65535;
	} else {
		good = kind == SIZE ? parse_size(p->value, &v) : parse_time(p->value, &v);
	}
	if (!good) {
		static const char *const what[] = {
			[DOMAIN] = "number of a domain",
			[LIFETIME] = "time (like 500us, 10ms, 2s)",
			[SIZE] = "size (like 64, 4K, 1M)",
		};
		snprintf(why, MEM_CONDITION_WHY, "'%.60s' is not a %s", p->value, what[kind]);
		return -EINVAL;
	}
	f->by_lifetime |= kind == LIFETIME;
	if (kind != DOMAIN)
		narrow(kind == SIZE ? &f->size_bytes : &f->lifetime_ns, p, v);
	return 0;
}

static int add_condition(struct mem_conditions *c, const char *text, char *why)
{
	struct parts p = {.key = text, .key_bytes = strcspn(text, "=!<>")};
	p.op = text + p.key_bytes;
	p.op_bytes = strspn(p.op, "=!<>");
	p.value = p.op + p.op_bytes;
	for (size_t i = 0; i < KEYS; i++) {
		char op[8] = "";
		if (strlen(keys[i].key) != p.key_bytes || strncmp(keys[i].key, text, p.key_bytes))
			continue;
		if (p.op_bytes < 4)
			snprintf(op, sizeof(op), " %.*s ", (int)p.op_bytes, p.op);
		if (!p.op_bytes || !*op || !strstr(keys[i].ops, op)) {
			snprintf(why, MEM_CONDITION_WHY, "%s takes one of%s; not '%.20s'",
				 keys[i].key, keys[i].ops, p.op);
			return -EINVAL;
		}
		if (!*p.value) {
			snprintf(why, MEM_CONDITION_WHY, "'%.60s' has no value", text);
			return -EINVAL;
		}
		return keys[i].kind == GLOB ? add_glob(c, &p, keys[i].what, why)
					    : add_number(c, &p, keys[i].kind, why);
	}
	snprintf(why, MEM_CONDITION_WHY,
		 "'%.60s' begins with none of function, file, site, domain, lifetime, size", text);
	return -EINVAL;
}

int mem_conditions_add(struct mem_conditions *c, const char *text, char why[MEM_CONDITION_WHY])
{
	char *copy = strdup(text), *rest = copy;
	int err = copy ? 0 : -ENOMEM;
	*why = 0;
	for (char *one; !err && (one = strsep(&rest, ","));)
		err = add_condition(c, one, why);
	free(copy);
	return err;
}
