/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

static const struct {
	const char *key, *text;
} kinds[] = {
#define X(CONSTANT, key, text) [CONSTANT] = {#key, text},
	SPAN_PARTS_LIST(X)
#undef X
};

const char *span_part_key(unsigned kind)
{
	return kind < SPAN_PART_KINDS ? kinds[kind].key : NULL;
}

const char *span_part_text(unsigned kind)
{
	return kind < SPAN_PART_KINDS ? kinds[kind].text : NULL;
}

static struct span_part *find(const struct span_parts *p, uint32_t kind, uint32_t detail)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->at[i].kind == kind && p->at[i].detail == detail)
			return &p->at[i];
	return NULL;
}

int span_parts_add_new(struct span_parts *p, uint32_t kind, uint32_t detail, uint64_t ns)
{
	struct span_part *part = NULL;
	if (p->count >= SPAN_PARTS_MAX - SPAN_PART_KINDS) {
		detail = SPAN_DETAIL_OTHER;
		part = find(p, kind, detail);
	}
	if (!part) {
		if (!array_reserve(p->at, p->cap, p->count))
			return -ENOMEM;
		part = &p->at[p->count++];
		*part = (struct span_part){.kind = kind, .detail = detail};
	}
	part->ns += ns;
	return 0;
}

int span_parts_merge(struct span_parts *p, const struct span_parts *more)
{
	int err = 0;
	const struct span_part *part = more->at, *end = part + more->count;
	/* Most sums of a name have their parts in the order in which its spans do. */
	struct span_part *same = p->at,
			 *last = same + (p->count < more->count ? p->count : more->count);
	for (; same < last && same->kind == part->kind && same->detail == part->detail; part++)
		same++->ns += part->ns;
	for (; part < end && !err; part++)
		err = span_parts_add(p, part->kind, part->detail, part->ns);
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct span_part *p = a, *q = b;
	if (p->kind != q->kind)
		return p->kind < q->kind ? -1 : 1;
	if (p->ns != q->ns)
		return p->ns > q->ns ? -1 : 1;
	return p->detail < q->detail ? -1 : p->detail > q->detail;
}

void span_parts_sort(struct span_parts *p)
{
	if (p->count > 1)
		qsort(p->at, p->count, sizeof(*p->at), compare);
}

uint64_t span_parts_total(const struct span_parts *p)
{
	uint64_t ns = 0;
	for (uint32_t i = 0; i < p->count; i++)
		ns += p->at[i].ns;
	return ns;
}

uint64_t span_parts_get(const struct span_parts *p, uint32_t kind, uint32_t detail)
{
	const struct span_part *part = find(p, kind, detail);
	return part ? part->ns : 0;
}

void span_parts_done(struct span_parts *p)
{
	free(p->at);
	*p = (struct span_parts){0};
}
