/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/result.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* By time, then by name. */
static int compare_names(const void *a, const void *b, void *ctx)
{
	const struct span_name *const *p = a, *const *q = b;
	const struct strings *texts = ctx;
	if ((*p)->total_ns != (*q)->total_ns)
		return (*p)->total_ns > (*q)->total_ns ? -1 : 1;
	const char *s = strings_text(texts, (*p)->text), *t = strings_text(texts, (*q)->text);
	return strcmp(s ? s : "", t ? t : "");
}

static bool matches_a_span(const struct span_sums *s, const char *glob)
{
	size_t at = 0;
	for (const struct span_name *n; (n = ptrarray_next(&s->names, &at));)
		if (!fnmatch(glob, strings_text(s->texts, n->text), 0))
			return true;
	return false;
}

/* A phase is shown where a pattern that matches it matches no span. */
static void list_phases(struct span_sums *s, const char *const *globs, unsigned glob_count,
			struct span_result *ret)
{
	size_t all = 0;
	for (struct span_name *n; (n = ptrarray_next(&s->phases, &all));)
		n->is_shown = false;
	for (unsigned i = 0; i < glob_count; i++) {
		size_t at = 0;
		if (matches_a_span(s, globs[i]))
			continue;
		for (struct span_name *n; (n = ptrarray_next(&s->phases, &at));) {
			if (n->is_shown || fnmatch(globs[i], strings_text(s->texts, n->text), 0))
				continue;
			n->is_shown = true;
			ret->name[ret->names++] = n;
		}
	}
}

static int compare_spans(const void *a, const void *b)
{
	return span_is_shorter(a, b) ? 1 : span_is_shorter(b, a) ? -1 : 0;
}

/* The slowest of spans and of phases that are shown. */
static int list_slowest(struct span_sums *s, struct span_result *ret)
{
	const struct span_heap *h = s->slowest;
	ret->slowest = calloc(h[0].count + h[1].count + 1, sizeof(struct span));
	if (!ret->slowest)
		return -ENOMEM;
	for (unsigned of = 0; of < 2; of++)
		for (uint32_t i = 0; i < h[of].count; i++)
			if (!h[of].at[i].name->is_phase || h[of].at[i].name->is_shown)
				ret->slowest[ret->slow_count++] = h[of].at[i];
	qsort(ret->slowest, ret->slow_count, sizeof(struct span), compare_spans);
	if (ret->slow_count > s->slow_max)
		ret->slow_count = s->slow_max;
	return 0;
}

int span_result_make(struct span_sums *s, const char *const *globs, unsigned glob_count,
		     struct span_result *ret)
{
	size_t at = 0;
	*ret = (struct span_result){.sums = s};
	ret->name = calloc(s->name_count + 2, sizeof(struct span_name *));
	if (!ret->name)
		return -ENOMEM;
	for (struct span_name *n; (n = ptrarray_next(&s->names, &at));)
		ret->name[ret->names++] = n;
	if (s->others[0])
		ret->name[ret->names++] = s->others[0];
	list_phases(s, globs, glob_count, ret);
	qsort_r(ret->name, ret->names, sizeof(struct span_name *), compare_names, s->texts);
	int err = list_slowest(s, ret);
	if (err)
		span_result_done(ret);
	return err;
}

void span_result_done(struct span_result *r)
{
	free(r->name);
	free(r->slowest);
	*r = (struct span_result){0};
}
