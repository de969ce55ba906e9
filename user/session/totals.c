/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/totals.h"

#include <stddef.h>

enum shown { SUMMARY, WHOLE, HIDDEN };

static const struct {
	const char *key;
	size_t offset;
	enum shown shown;
} rows[] = {
#define X(name, sum, shown, kept) {#name, offsetof(struct totals, name), shown},
	TOTALS(X)
#undef X
};

void totals_add(struct totals *t, const struct totals *next)
{
#define SUM(a, b)		  ((a) + (b))
#define FIRST(a, b)		  (t->timed ? (a) : (b))
#define LAST(a, b)		  (next->timed ? (b) : (a))
#define X(name, sum, shown, kept) t->name = sum(t->name, next->name);
	TOTALS(X)
#undef X
#undef SUM
#undef FIRST
#undef LAST
}

void totals_since(struct totals *t, const struct totals *earlier)
{
#define SUM(a, b)		  ((a) - (b))
#define FIRST(a, b)		  (a)
#define LAST(a, b)		  (a)
#define X(name, sum, shown, kept) t->name = sum(t->name, earlier->name);
	TOTALS(X)
#undef X
#undef SUM
#undef FIRST
#undef LAST
}

void totals_pack(const struct totals *from, uint64_t ret[TOTALS_KEPT])
{
	struct totals all = *from, *t = &all;
	t->lost_events += t->history_events;
	t->lost_words += t->history_words;
#define X(name, sum, shown, kept) \
	if (kept)                 \
		ret[(kept)-1] = t->name;
	TOTALS(X)
#undef X
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void totals_unpack(const uint64_t kept[TOTALS_KEPT], struct totals *ret)
{
#define X(name, sum, shown, place) ret->name = (place) ? kept[(place) ? (place)-1 : 0] : 0;
	TOTALS(X)
#undef X
	ret->lost_events -= least(ret->history_events, ret->lost_events);
	ret->lost_words -= least(ret->history_words, ret->lost_words);
}

static bool is_shown(const struct totals *t, unsigned row, bool whole)
{
	if (whole)
		return rows[row].shown != HIDDEN;
	bool is_unwatched = rows[row].offset == offsetof(struct totals, unwatched_ns);
	return rows[row].shown == SUMMARY && (!is_unwatched || t->unwatched);
}

static bool is_known(const struct totals *t, size_t offset)
{
	bool is_time = offset == offsetof(struct totals, first_ns) ||
		       offset == offsetof(struct totals, last_ns);
	return !(is_time && !t->timed) &&
	       !(offset == offsetof(struct totals, lost_events) && t->lost_uncounted) &&
	       !(offset == offsetof(struct totals, history_events) && t->history_uncounted);
}

bool totals_next(const struct totals *t, bool whole, unsigned *at, struct totals_row *ret)
{
	for (unsigned i = *at; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!is_shown(t, i, whole))
			continue;
		*at = i + 1;
		*ret = (struct totals_row){
			.key = rows[i].key,
			.value = *(const uint64_t *)((const char *)t + rows[i].offset),
			.known = is_known(t, rows[i].offset),
		};
		return true;
	}
	return false;
}

void totals_put_json(struct json *j, const struct totals *t, bool whole)
{
	struct totals_row row;
	for (unsigned at = 0; totals_next(t, whole, &at, &row);)
		json_key_known(j, row.key, row.known, row.value);
}
