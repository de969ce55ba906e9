/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/filter.h"

#include "base/array.h"
#include "session/names.h"
#include "session/phases.h"
#include "stream/name_slots.h"
#include "stream/spans.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct filter {
	struct session *session;
	struct event_handler out;
	struct glob {
		char *pattern;
		const char *option; /* it was given to */
		bool selects;
		bool matched; /* some event */
	} * globs;
	size_t glob_count, including;
	struct name_slots slots;
	bool wanted[NAME_SLOTS]; /* the name matches the globs */
	bool tried;		 /* some event */
	uint16_t *domains;
	size_t domain_count;
	uint32_t *threads;
	size_t thread_count;
	uint64_t threadless;
	struct spans *spans; /* NULL: spans of any length pass */
	uint64_t min_ns;     /* theirs */
	bool keep_for_pauses;
};

int filter_new(struct session *s, struct event_handler out, struct filter **ret)
{
	struct filter *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->session = s;
	f->out = out;
	name_slots_init(&f->slots, s);
	*ret = f;
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->glob_count; i++)
		free(f->globs[i].pattern);
	free(f->globs);
	name_slots_done(&f->slots);
	free(f->domains);
	free(f->threads);
	spans_free(f->spans);
	free(f);
}

static int add_glob(struct filter *f, const char *option, const char *pattern, bool selects)
{
	if (!array_more(f->globs, f->glob_count))
		return -ENOMEM;
	char *copy = strdup(pattern);
	if (!copy)
		return -ENOMEM;
	f->globs[f->glob_count++] = (struct glob){copy, option, selects, false};
	f->including += selects && *pattern != '!';
	return 0;
}

int filter_add_glob(struct filter *f, const char *pattern)
{
	return add_glob(f, "-e ", pattern, true);
}

int filter_add_domain(struct filter *f, uint16_t domain)
{
	if (!array_more(f->domains, f->domain_count))
		return -ENOMEM;
	f->domains[f->domain_count++] = domain;
	return 0;
}

int filter_add_thread(struct filter *f, uint32_t tid)
{
	if (!array_more(f->threads, f->thread_count))
		return -ENOMEM;
	f->threads[f->thread_count++] = tid;
	return 0;
}

uint64_t filter_threadless(const struct filter *f)
{
	return f->threadless;
}

int filter_set_min_duration(struct filter *f, uint64_t ns)
{
	if (f->spans || !ns)
		return 0;
	f->min_ns = ns;
	return spans_new(&f->session->processes, f->out, ns, &f->spans);
}

void filter_keep_for_pauses(struct filter *f)
{
	f->keep_for_pauses = true;
}

static bool domain_passes(const struct filter *f, uint16_t domain)
{
	for (size_t i = 0; i < f->domain_count; i++)
		if (f->domains[i] == domain)
			return true;
	return !f->domain_count;
}

static bool thread_passes(struct filter *f, uint32_t tid)
{
	for (size_t i = 0; i < f->thread_count; i++)
		if (f->threads[i] == tid)
			return true;
	f->threadless += f->thread_count && !tid;
	return !f->thread_count;
}

static bool matches(const char *pattern, const char *name, const char *kind)
{
	return !fnmatch(pattern, kind, 0) || (name && !fnmatch(pattern, name, 0));
}

static bool matches_globs(struct filter *f, const struct ebt_event *ev)
{
	const char *name = names_event(f->session, ev);
	const char *kind = kinds_name(ev->kind);
	bool wanted = !f->including, excluded = false;
	for (size_t i = 0; i < f->glob_count; i++) {
		struct glob *g = &f->globs[i];
		bool excludes = *g->pattern == '!';
		if (!matches(g->pattern + excludes, name, kind))
			continue;
		g->matched = true;
		excluded |= g->selects && excludes;
		wanted |= g->selects && !excludes;
	}
	f->tried = true;
	return wanted && !excluded;
}

static bool is_name_of_any(const char *pattern)
{
	for (uint16_t kind = 0; kind < EBT_KINDS; kind++)
		if (kinds_get(kind)->name && !fnmatch(pattern, kinds_name(kind), 0))
			return true;
	for (uint32_t id = UINT32_MAX; phases_next(&id);)
		if (!fnmatch(pattern, kinds_phase_name(id), 0))
			return true;
	for (uint32_t id = 0; kinds_counter_name(id); id++)
		if (!fnmatch(pattern, kinds_counter_name(id), 0))
			return true;
	for (uint32_t id = 0; kinds_lifecycle_name(id); id++)
		if (!fnmatch(pattern, kinds_lifecycle_name(id), 0))
			return true;
	return false;
}

int filter_note_glob(struct filter *f, const char *option, const char *pattern)
{
	bool known = is_name_of_any(pattern + (*pattern == '!'));
	return known ? 0 : add_glob(f, option, pattern, false);
}

const char *filter_unknown_glob(const struct filter *f, size_t i, const char **ret_option)
{
	const struct glob *g = &f->globs[i];
	*ret_option = g->option;
	bool known = g->matched || !f->tried || is_name_of_any(g->pattern + (*g->pattern == '!'));
	return known ? NULL : g->pattern;
}

size_t filter_globs(const struct filter *f)
{
	return f->glob_count;
}

static bool name_passes(struct filter *f, const struct ebt_event *ev)
{
	if (!f->glob_count)
		return true;
	bool is_new;
	bool *wanted = &f->wanted[name_slots_find(&f->slots, ev, &is_new)];
	if (is_new)
		*wanted = matches_globs(f, ev);
	return *wanted;
}

bool filter_names(struct filter *f, const struct ebt_event *ev)
{
	return name_passes(f, ev);
}

bool filter_can_select(struct filter *f, uint16_t kind, uint32_t ids)
{
	/* The last one has no name. */
	for (uint32_t id = 0; id <= ids; id++) {
		struct ebt_event ev = {.kind = kind, .id = id, .domain = EBT_NO_DOMAIN};
		if (name_passes(f, &ev))
			return true;
	}
	return false;
}

static bool is_span(const struct ebt_event *ev)
{
	return ev->kind == EBT_BEGIN || ev->kind == EBT_END || ev->kind == EBT_SPAN_BEGIN ||
	       ev->kind == EBT_SPAN_END;
}

static bool lasts(const struct filter *f, const struct ebt_event *ev)
{
	if (ev->kind == EBT_OFFCPU && f->keep_for_pauses)
		return true;
	if (ev->kind == EBT_OFFCPU || ev->kind == EBT_PAUSE)
		return ev->pos >= f->min_ns;
	return is_span(ev);
}

static bool passes(struct filter *f, const struct ebt_event *ev)
{
	static const uint64_t of_pauses = 1ull << EBT_BEGIN | 1ull << EBT_END | 1ull << EBT_OFFCPU;
	if (kinds_family(ev->kind) == KINDS_stream)
		return true;
	bool kept = f->keep_for_pauses && kinds_bit(ev->kind) & of_pauses;
	return (!f->spans || lasts(f, ev)) && domain_passes(f, ev->domain) &&
	       (kept || name_passes(f, ev)) && thread_passes(f, ev->tid);
}

/* Moves up the events that pass; returns how many they are. */
static size_t select_events(struct filter *f, struct ebt_event *ev, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (passes(f, &ev[i]))
			ev[kept++] = ev[i];
		else
			session_drop_event(f->session, &ev[i]);
	}
	return kept;
}

int filter_events(void *ctx, struct ebt_event *ev, size_t n)
{
	struct filter *f = ctx;
	if (f->spans || f->glob_count || f->domain_count || f->thread_count)
		n = select_events(f, ev, n);
	return f->spans ? spans_events(f->spans, ev, n) : event_handler_call(&f->out, ev, n);
}

uint64_t filter_delay_ns(const struct filter *f)
{
	return f->min_ns;
}

int filter_advance(struct filter *f, uint64_t now_ns)
{
	return f->spans ? spans_advance(f->spans, now_ns) : 0;
}

void filter_forget(struct filter *f, uint32_t process)
{
	if (f->spans)
		spans_forget(f->spans, process);
}
