/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/text.h"

#include "base/buf.h"
#include "base/ptrmap.h"
#include "base/utf8.h"
#include "core/loss.h"
#include "core/names.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT_BUFFER_BYTES (64 * 1024)
/* No line is longer, but for payloads that no ring can hold. */
#define TEXT_LINE_BYTES (20 * 1024)
/* Deeper phases are shown, but without a duration. */
#define TEXT_MAX_DEPTH 32

struct nesting {
	struct nesting *sibling; /* of the same process */
	struct of_process *process;
	uint64_t key;
	uint64_t holes; /* text.holes when it was used last */
	bool in_ring;	/* its last event has a position in a ring */
	uint32_t depth;
	uint64_t id[TEXT_MAX_DEPTH]; /* of a phase, or of a user span */
	uint64_t ts[TEXT_MAX_DEPTH];
};

/* Number of the last hole that concerns what no ring holds, and of the last that concerns all. */
struct last_holes {
	uint64_t loose, any;
};

struct of_process {
	struct nesting *first;
	struct last_holes last;
};

struct text {
	struct sink base;
	const struct session *session;
	struct buf buf;
	PTRMAP(struct nesting) domains; /* by key_of() */
	PTRMAP(struct of_process) processes;
	uint64_t holes; /* losses without a domain so far */
	struct last_holes last;
	bool has_first, has_cpus, cancelled;
	enum text_time time;
	uint64_t first_ns, last_ns;
};

static void put(struct text *t, const char *s)
{
	buf_puts(&t->buf, s);
}

static void put_u64(struct text *t, uint64_t v)
{
	buf_put_u64(&t->buf, v);
}

static void put_count(struct text *t, const char *before, uint64_t v, const char *after)
{
	put(t, before);
	put_u64(t, v);
	put(t, after);
}

static void put_spaces(struct text *t, int count)
{
	static const char spaces[] =
		"                                                                ";
	for (int n; count > 0; count -= n) {
		n = count < (int)sizeof(spaces) - 1 ? count : (int)sizeof(spaces) - 1;
		buf_put(&t->buf, spaces, (size_t)n);
	}
}

/* Right-aligned in `width`, filled up with `fill`. */
static void put_aligned(struct text *t, uint64_t v, int width, char fill)
{
	char *p = buf_room(&t->buf);
	char digits[24];
	int n = (int)(buf_format_u64(digits, v) - digits);
	for (; width > n; width--)
		*p++ = fill;
	memcpy(p, digits, (size_t)n);
	t->buf.len = (size_t)(p + n - t->buf.data);
}

/* Of the process's domain, or of its thread without one. */
static uint64_t key_of(const struct ebt_event *ev)
{
	uint64_t lane = ev->domain != EBT_NO_DOMAIN ? ev->domain : 0x10000ull + ev->tid;
	return (uint64_t)ev->process << 32 | lane;
}

static struct of_process *find_process(struct text *t, uint32_t process)
{
	bool is_new;
	return ptrmap_make(&t->processes, process, &is_new);
}

/* Holes without a domain come to each nesting when it is used again: there may be many of both. */
static void pass_holes(const struct text *t, struct nesting *n)
{
	const struct last_holes *p = &n->process->last;
	uint64_t any = t->last.any > p->any ? t->last.any : p->any;
	uint64_t loose = t->last.loose > p->loose ? t->last.loose : p->loose;
	if (n->holes < any || (!n->in_ring && n->holes < loose))
		n->depth = 0;
	n->holes = t->holes;
}

static struct nesting *find_nesting(struct text *t, const struct ebt_event *ev)
{
	struct nesting *n = ptrmap_get(&t->domains, key_of(ev));
	if (n) {
		pass_holes(t, n);
		return n;
	}
	bool is_new;
	struct of_process *p = find_process(t, ev->process);
	n = p ? ptrmap_make(&t->domains, key_of(ev), &is_new) : NULL;
	if (!n)
		return NULL;
	n->key = key_of(ev);
	n->holes = t->holes;
	n->process = p;
	n->sibling = p->first;
	p->first = n;
	return n;
}

/* The process, or its program, has ended. */
static void forget_process(struct text *t, uint32_t process)
{
	struct of_process *p = ptrmap_take(&t->processes, process);
	for (struct nesting *n = p ? p->first : NULL, *next; n; n = next) {
		next = n->sibling;
		free(ptrmap_take(&t->domains, n->key));
	}
	free(p);
}

/* Registered names may hold control characters, which must not reach a terminal. */
static void put_name(struct text *t, const struct ebt_event *ev)
{
	const char *name = names_event(t->session, ev);
	put(t, " ");
	if (!name) {
		put_u64(t, ev->id & ~EBT_UNKNOWN_ID);
		return;
	}
	for (size_t left = strlen(name); left;) {
		size_t n = utf8_plain(name, left);
		buf_put(&t->buf, name, n);
		name += n;
		left -= n;
		if (!left)
			break;
		put(t, "?");
		name++;
		left--;
	}
}

static void put_hex(struct text *t, const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		char pair[2] = {"0123456789abcdef"[data[i] >> 4], "0123456789abcdef"[data[i] & 15]};
		buf_put(&t->buf, pair, 2);
	}
}

static void put_words(struct text *t, const unsigned char *data, size_t bytes)
{
	for (size_t at = 0; at + 8 <= bytes; at += 8) {
		uint64_t v;
		memcpy(&v, data + at, 8);
		put(t, " ");
		put_u64(t, v);
	}
}

/* The one argument of most kinds, " = 5", and any other, " words=5". */
static void put_arg(struct text *t, const struct kinds_arg *a, uint64_t value)
{
	char scratch[KINDS_TEXT_BYTES];
	put(t, " ");
	if (!strcmp(a->name, "value")) {
		put(t, "= ");
	} else {
		put(t, a->name);
		put(t, "=");
	}
	put(t, kinds_arg_text(a, value, scratch));
}

static void put_args(struct text *t, const struct ebt_event *ev)
{
	const struct kind *kind = kinds_get(ev->kind);
	size_t bytes = 0;
	const unsigned char *data = session_blob(t->session, ev, &bytes);
	for (const struct kinds_arg *a = kind->args; a->name; a++)
		if (kinds_arg_is_present(ev, a))
			put_arg(t, a, kinds_arg_value(ev, a));
	if (kind->payload == KINDS_PAYLOAD_words) {
		put_words(t, data, data ? bytes : 0);
	} else if (kind->payload == KINDS_PAYLOAD_bytes) {
		put(t, " = ");
		put_hex(t, data, data ? bytes : 0);
	}
	if (ev->flags & EBT_F_CUT)
		put(t, " (cut)");
}

static void put_lost(struct text *t, const struct ebt_event *ev)
{
	bool counted = ev->arg[0] != EBT_LOST_UNCOUNTED;
	if (loss_is_unwatched(ev)) {
		put_count(t, "*** not watched for ", (ev->ts - EBT_LOST_SINCE(ev)) / 1000,
			  " us before ***");
		return;
	}
	put(t, "*** lost");
	if (counted)
		put_count(t, " ", ev->arg[0], " events");
	if (ev->arg[1])
		put_count(t, counted ? " (" : " ", ev->arg[1], counted ? " words)" : " words");
	put(t, ev->flags & EBT_F_HISTORY ? " before the trace began ***" : " ***");
}

/* In the unit that keeps it readable, as wide as the column is when there is none. */
static void put_duration(struct text *t, uint64_t ns)
{
	static const char *const units[] = {" us ", " ms ", " s  "};
	unsigned unit = 0;
	if (ns < 1000) {
		put_aligned(t, ns, 7, ' ');
		put(t, " ns ");
		return;
	}
	for (; ns >= 1000000 && unit < 2; unit++)
		ns /= 1000;
	put_aligned(t, ns / 1000, 3, ' ');
	put(t, ".");
	put_aligned(t, ns % 1000, 3, '0');
	put(t, units[unit]);
}
#define DURATION_WIDTH 11

static uint64_t id_of(const struct ebt_event *ev)
{
	bool user = ev->kind == EBT_SPAN_BEGIN || ev->kind == EBT_SPAN_END;
	return (uint64_t)user << 32 | ev->id;
}

static bool is_user(uint64_t id)
{
	return id >> 32;
}

/*
 * Closes the innermost open span of this id; of a phase also the phases inside, whose ends were
 * lost. User spans may overlap with phases and with each other: they end only by themselves.
 */
static bool close_span(struct nesting *n, const struct ebt_event *ev, uint64_t *ret_ns)
{
	uint32_t at = n->depth;
	while (at && n->id[at - 1] != id_of(ev))
		at--;
	if (!at--)
		return false;
	*ret_ns = ev->ts - n->ts[at];
	uint32_t kept = at;
	for (uint32_t i = at + 1; i < n->depth; i++) {
		if (!is_user(n->id[i]) && !is_user(id_of(ev)))
			continue;
		n->id[kept] = n->id[i];
		n->ts[kept++] = n->ts[i];
	}
	n->depth = kept;
	return true;
}

static void put_what(struct text *t, const struct ebt_event *ev)
{
	if (ev->kind == EBT_LOST) {
		put_lost(t, ev);
	} else if (ev->kind == EBT_DAMAGE) {
		put_count(t, "*** damaged at byte ", ev->arg[0], ", ");
		put_count(t, "", ev->arg[1], " words skipped ***");
	} else if (ev->kind == EBT_PROCESS) {
		put(t, "process ");
		put(t, kinds_change_name(ev->id));
	} else {
		put(t, kinds_name(ev->kind));
		if (kinds_get(ev->kind)->label != KINDS_LABEL_none)
			put_name(t, ev);
		put_args(t, ev);
	}
}

/* A number in its column, "-" for one that is not known; returns what is left of the width. */
static int put_number(struct text *t, uint32_t v, bool known, int width)
{
	char digits[16] = "-";
	int n = known ? (int)(buf_format_u64(digits, v) - digits) : 1;
	buf_put(&t->buf, digits, (size_t)n);
	return width > n ? width - n : 0;
}

static void put_time(struct text *t, uint64_t ts)
{
	const struct timebase *b = &t->session->timebase;
	uint64_t from = t->time == TEXT_TIME_DELTA ? t->last_ns : t->first_ns;
	uint64_t ns = ts > from ? ts - from : 0;
	put(t, "[");
	if (t->time == TEXT_TIME_WALL && b->at[TIMEBASE_REALTIME].known) {
		ns = b->at[TIMEBASE_REALTIME].ns + (ts - b->at[b->clock].ns);
		time_t seconds = (time_t)(ns / 1000000000);
		char day[16];
		strftime(day, sizeof(day), "%T", localtime(&seconds));
		put(t, day);
	} else {
		put_aligned(t, ns / 1000000000, 4, ' ');
	}
	put(t, ".");
	put_aligned(t, ns % 1000000000, 9, '0');
	put(t, "] ");
	t->last_ns = ts;
}

static void put_columns(struct text *t, const struct ebt_event *ev)
{
	put_time(t, ev->ts);
	uint32_t pid = processes_pid(&t->session->processes, ev->process);
	int left = put_number(t, pid, pid, 7);
	put(t, "/");
	left = put_number(t, ev->tid, ev->tid, left + 7);
	put_spaces(t, left + 1);
	put(t, "d");
	left = put_number(t, ev->domain, ev->domain != EBT_NO_DOMAIN, 3);
	put_spaces(t, left + 1);
	if (!t->has_cpus)
		return;
	put(t, "cpu");
	left = put_number(t, ev->cpu, ev->cpu != EBT_NO_CPU, 3);
	put_spaces(t, left + 1);
}

/* What is open behind a hole is not known. A loss without a domain is of all that no ring holds. */
static void forget_open(struct text *t, struct nesting *of_event, const struct ebt_event *ev)
{
	struct last_holes *last = ev->process ? &of_event->process->last : &t->last;
	of_event->depth = 0;
	if (ev->domain != EBT_NO_DOMAIN)
		return;
	t->holes++;
	*(EBT_LOST_ANYWHERE(ev) ? &last->any : &last->loose) = t->holes;
}

static int one_event(struct text *t, const struct ebt_event *ev)
{
	struct nesting *n = find_nesting(t, ev);
	if (!n)
		return -ENOMEM;
	/* An interruption leaves whole lines. */
	if (t->buf.cap - t->buf.len < TEXT_LINE_BYTES)
		buf_flush(&t->buf);
	bool is_begin = ev->kind == EBT_BEGIN || ev->kind == EBT_SPAN_BEGIN;
	bool is_end = ev->kind == EBT_END || ev->kind == EBT_SPAN_END;
	uint64_t ns = 0;
	if (!t->has_first) {
		t->has_first = true;
		t->first_ns = t->last_ns = ev->ts;
		t->has_cpus = t->session->origins & ORIGIN_BPF;
	}
	bool closed = is_end && close_span(n, ev, &ns);
	put_columns(t, ev);
	if (closed)
		put_duration(t, ns);
	else
		put_spaces(t, DURATION_WIDTH);
	put_spaces(t, 1 + 2 * (int)n->depth);
	put_what(t, ev);
	if (ev->flags & EBT_F_LATE)
		put(t, " (late)");
	put(t, "\n");
	if (ev->kind == EBT_LOST)
		forget_open(t, n, ev);
	if (ev->kind == EBT_PROCESS && ev->id != EBT_PROCESS_FORK)
		forget_process(t, ev->process);
	if (is_begin || is_end)
		n->in_ring = ev->pos != EBT_NO_POS;
	if (is_begin && n->depth < TEXT_MAX_DEPTH) {
		n->id[n->depth] = id_of(ev);
		n->ts[n->depth++] = ev->ts;
	}
	return t->buf.err;
}

static int text_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct text *t = (struct text *)k;
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = one_event(t, &ev[i]);
	return err;
}

static int text_flush(struct sink *k)
{
	return buf_flush(&((struct text *)k)->buf);
}

static bool text_ready(struct sink *k)
{
	return buf_ready(&((struct text *)k)->buf);
}

static void text_cancel(struct sink *k)
{
	((struct text *)k)->cancelled = true;
}

static int text_end(struct sink *k)
{
	struct text *t = (struct text *)k;
	const struct totals *n = &t->session->totals;
	char lost[LOSS_TEXT_BYTES];
	if (t->cancelled)
		return buf_finish(&t->buf);
	put_count(t, "# ", n->events, " events, ");
	put(t, loss_text(n, lost));
	if (n->late)
		put_count(t, ", ", n->late, " late");
	if (n->damaged)
		put_count(t, ", ", n->damaged, " damaged");
	put(t, "\n");
	return buf_finish(&t->buf);
}

static void text_free(struct sink *k)
{
	struct text *t = (struct text *)k;
	ptrmap_free(&t->domains);
	ptrmap_free(&t->processes);
	buf_done(&t->buf);
	free(t);
}

static const struct sink_ops text_ops = {
	.events = text_events,
	.flush = text_flush,
	.ready = text_ready,
	.cancel = text_cancel,
	.end = text_end,
	.free = text_free,
};

void text_set_time(struct sink *k, enum text_time time)
{
	if (k->ops == &text_ops)
		((struct text *)k)->time = time;
}

int text_new(const struct session *s, int fd, struct sink **ret)
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
	t->base.out = &t->buf;
	t->session = s;
	*ret = &t->base;
	return 0;
}
