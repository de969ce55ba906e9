/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/text.h"

#include "base/buf.h"
#include "base/map.h"
#include "core/names.h"
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_BUFFER_BYTES (64 * 1024)
/* Deeper phases are shown, but without a duration. */
#define TEXT_MAX_DEPTH 32

struct nesting {
	uint32_t depth;
	uint32_t id[TEXT_MAX_DEPTH];
	uint64_t ts[TEXT_MAX_DEPTH];
};

struct text {
	struct sink base;
	const struct session *session;
	struct buf buf;
	struct map domains; /* pid << 16 | domain → struct nesting * */
	bool color;
	bool has_first, has_cpus;
	uint64_t first_ns;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(buf_room(&t->buf), BUF_ROOM_MAX, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->buf.len += n < BUF_ROOM_MAX ? (size_t)n : BUF_ROOM_MAX - 1;
}

static struct nesting *find_nesting(struct text *t, const struct ebt_event *ev)
{
	uint64_t *value = map_put(&t->domains, (uint64_t)ev->pid << 16 | ev->domain);
	if (value && !*value)
		*value = (uintptr_t)calloc(1, sizeof(struct nesting));
	return value ? (struct nesting *)(uintptr_t)*value : NULL;
}

/* Registered names may hold control characters, which must not reach a terminal. */
static void put_name(struct text *t, const struct ebt_event *ev)
{
	const char *name = names_event(t->session, ev);
	if (!name) {
		put(t, " %u", ev->id & ~EBT_UNKNOWN_ID);
		return;
	}
	put(t, " ");
	for (; *name; name++)
		put(t, "%c", (unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name);
}

static void put_value(struct text *t, const struct ebt_event *ev)
{
	size_t bytes = 0;
	const unsigned char *data = session_blob(t->session, ev, &bytes);
	switch (ev->kind) {
	case EBT_COUNTER:
		put(t, " = %llu", (unsigned long long)ev->arg[0]);
		break;
	case EBT_INT:
	case EBT_LIFECYCLE:
		put(t, " = %lld", (long long)ev->sarg[0]);
		break;
	case EBT_ALLOC_SIZES:
		for (size_t at = 0; data && at + 8 <= bytes; at += 8) {
			uint64_t v;
			memcpy(&v, data + at, 8);
			put(t, " %llu", (unsigned long long)v);
		}
		break;
	case EBT_CUSTOM:
		put(t, " = ");
		for (size_t i = 0; data && i < bytes; i++)
			put(t, "%02x", data[i]);
		break;
	default:
		break;
	}
}

static void put_lost(struct text *t, const struct ebt_event *ev)
{
	bool counted = ev->arg[0] != EBT_LOST_UNCOUNTED;
	put(t, "*** lost");
	if (counted)
		put(t, " %llu events", (unsigned long long)ev->arg[0]);
	if (ev->arg[1])
		put(t, counted ? " (%llu words)" : " %llu words", (unsigned long long)ev->arg[1]);
	put(t, "%s ***", ev->flags & EBT_F_HISTORY ? " before the trace began" : "");
}

/* In the unit that keeps it readable, as wide as the column is when there is none. */
static void put_duration(struct text *t, uint64_t ns)
{
	static const char *const units[] = {"us", "ms", "s "};
	unsigned unit = 0;
	if (ns < 1000) {
		put(t, "%7llu ns ", (unsigned long long)ns);
		return;
	}
	for (; ns >= 1000000 && unit < 2; unit++)
		ns /= 1000;
	put(t, "%3llu.%03llu %s ", (unsigned long long)ns / 1000, (unsigned long long)ns % 1000,
	    units[unit]);
}
#define DURATION_WIDTH 11

/* Closes the innermost open phase of this id, and with it those whose ends were lost. */
static bool close_phase(struct nesting *n, const struct ebt_event *ev, uint64_t *ret_ns)
{
	for (uint32_t i = n->depth; i-- > 0;) {
		if (n->id[i] != ev->id)
			continue;
		n->depth = i;
		*ret_ns = ev->ts - n->ts[i];
		return true;
	}
	return false;
}

static void put_what(struct text *t, const struct ebt_event *ev)
{
	if (ev->kind == EBT_LOST) {
		put_lost(t, ev);
	} else if (ev->kind == EBT_DAMAGE) {
		put(t, "*** damaged at byte %llu, %llu words skipped ***",
		    (unsigned long long)ev->arg[0], (unsigned long long)ev->arg[1]);
	} else if (ev->kind == EBT_PROCESS) {
		put(t, "process %s", names_process_change(ev->id));
	} else {
		put(t, "%s", names_kind(ev->kind));
		if (ev->kind != EBT_ALLOC_SIZES)
			put_name(t, ev);
		put_value(t, ev);
	}
}

/* A number in its column, "-" for one that is not known; returns what is left of the width. */
static int put_number(struct text *t, const char *before, uint32_t v, bool known, int width)
{
	char digits[16] = "-";
	int n = 1;
	if (known)
		n = snprintf(digits, sizeof(digits), "%u", v);
	put(t, "%s%s", before, digits);
	return width > n ? width - n : 0;
}

static void put_columns(struct text *t, const struct ebt_event *ev)
{
	uint64_t ns = ev->ts > t->first_ns ? ev->ts - t->first_ns : 0;
	put(t, "[%4llu.%09llu] ", (unsigned long long)ns / 1000000000,
	    (unsigned long long)ns % 1000000000);
	int left = put_number(t, "", ev->pid, ev->pid, 7);
	left = put_number(t, "/", ev->tid, ev->tid, left + 7);
	put(t, "%*s", left + 1, "");
	left = put_number(t, "d", ev->domain, ev->domain != EBT_NO_DOMAIN, 3);
	put(t, "%*s", left + 1, "");
	if (!t->has_cpus)
		return;
	left = put_number(t, "cpu", ev->cpu, ev->cpu != EBT_NO_CPU, 3);
	put(t, "%*s", left + 1, "");
}

/* What is open behind a hole is not known. */
static void forget_open(struct text *t, struct nesting *n, const struct ebt_event *ev)
{
	size_t at = 0;
	n->depth = 0;
	if (EBT_LOST_ANYWHERE(ev))
		for (struct map_slot *slot; (slot = map_next(&t->domains, &at));)
			((struct nesting *)(uintptr_t)slot->value)->depth = 0;
}

static int text_event(struct sink *k, const struct ebt_event *ev)
{
	struct text *t = (struct text *)k;
	struct nesting *n = find_nesting(t, ev);
	if (!n)
		return -ENOMEM;
	bool is_begin = ev->kind == EBT_BEGIN || ev->kind == EBT_SPAN_BEGIN;
	bool is_end = ev->kind == EBT_END || ev->kind == EBT_SPAN_END;
	uint64_t ns = 0;
	if (!t->has_first) {
		t->has_first = true;
		t->first_ns = ev->ts;
		t->has_cpus = strstr(t->session->source, "bpf") != NULL;
	}
	bool closed = is_end && close_phase(n, ev, &ns);
	put_columns(t, ev);
	if (closed)
		put_duration(t, ns);
	else
		put(t, "%*s", DURATION_WIDTH, "");
	put(t, " %*s", 2 * (int)n->depth, "");
	put_what(t, ev);
	if (ev->flags & EBT_F_LATE)
		put(t, " (late)");
	put(t, "\n");
	if (ev->kind == EBT_LOST)
		forget_open(t, n, ev);
	if (is_begin && n->depth < TEXT_MAX_DEPTH) {
		n->id[n->depth] = ev->id;
		n->ts[n->depth++] = ev->ts;
	}
	return t->buf.err;
}

static int text_flush(struct sink *k)
{
	return buf_flush(&((struct text *)k)->buf);
}

static bool text_ready(struct sink *k)
{
	return buf_ready(&((struct text *)k)->buf);
}

static int text_end(struct sink *k)
{
	struct text *t = (struct text *)k;
	const struct session_totals *n = &t->session->totals;
	put(t, "# %llu events, %llu lost", (unsigned long long)n->events,
	    (unsigned long long)n->lost_events);
	if (n->lost_words)
		put(t, " (%llu words)", (unsigned long long)n->lost_words);
	if (n->late)
		put(t, ", %llu late", (unsigned long long)n->late);
	if (n->damaged)
		put(t, ", %llu damaged", (unsigned long long)n->damaged);
	put(t, "\n");
	return buf_finish(&t->buf);
}

static void text_free(struct sink *k)
{
	struct text *t = (struct text *)k;
	size_t at = 0;
	for (struct map_slot *slot; (slot = map_next(&t->domains, &at));)
		free((void *)(uintptr_t)slot->value);
	map_done(&t->domains);
	buf_done(&t->buf);
	free(t);
}

static const struct sink_ops text_ops = {
	.event = text_event,
	.flush = text_flush,
	.ready = text_ready,
	.end = text_end,
	.free = text_free,
};

int text_new(const struct session *s, int fd, bool color, struct sink **ret)
{
	struct text *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	int err = buf_init_behind(&t->buf, fd, TEXT_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		free(t);
		return err;
	}
	t->base.ops = &text_ops;
	t->session = s;
	t->color = color;
	*ret = &t->base;
	return 0;
}
