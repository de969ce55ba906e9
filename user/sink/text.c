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

#define TEXT_BUFFER_BYTES (64 * 1024)
/* No line is longer, but for payloads that no ring can hold. */
#define TEXT_LINE_BYTES (20 * 1024)
/* Deeper phases are shown, but without a duration. */
#define TEXT_MAX_DEPTH 32
/* "begin minor": the events of most lines have one of a few. */
#define LABELS	    256
#define LABEL_BYTES 48

struct label {
	uint64_t key; /* kind << 32 | id */
	uint32_t len; /* 0: free */
	char text[LABEL_BYTES];
};

struct nesting {
	struct nesting *sibling; /* of the same process */
	struct of_process *process;
	uint64_t key;
	uint64_t holes;	     /* text.holes when it was used last */
	bool in_ring;	     /* its last event has a position in a ring */
	struct text_who who; /* of its last event */
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
	bool cancelled;
	struct text_columns columns;
	struct label labels[LABELS]; /* by key modulo their number */
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
		char *begin = buf_room(&t->buf), *p = begin;
		uint64_t v;
		memcpy(&v, data + at, 8);
		*p++ = ' ';
		t->buf.len += (size_t)(buf_format_u64(p, v) - begin);
	}
}

/* The one argument of most kinds, " = 5", and any other, " words=5". */
static void put_arg(struct text *t, const struct kinds_arg *a, uint64_t value)
{
	char scratch[KINDS_TEXT_BYTES];
	if (!strcmp(a->name, "value")) {
		put(t, " = ");
	} else {
		put(t, " ");
		put(t, a->name);
		put(t, "=");
	}
	if (a->type == KINDS_TYPE_u64)
		put_u64(t, value);
	else
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

/* Kind and name. Names of user events are the processes', and change. */
static void put_label(struct text *t, const struct ebt_event *ev)
{
	uint64_t key = (uint64_t)ev->kind << 32 | ev->id;
	struct label *l = &t->labels[(ev->kind + 4u * ev->id) % LABELS];
	if (l->len && l->key == key) {
		memcpy(buf_room(&t->buf), l->text, LABEL_BYTES);
		t->buf.len += l->len;
		return;
	}
	enum kinds_label label = kinds_get(ev->kind)->label;
	buf_room(&t->buf);
	size_t before = t->buf.len;
	put(t, kinds_name(ev->kind));
	if (label != KINDS_LABEL_none)
		put_name(t, ev);
	size_t len = t->buf.len - before;
	if (label == KINDS_LABEL_user || len > LABEL_BYTES)
		return;
	*l = (struct label){.key = key, .len = (uint32_t)len};
	memcpy(l->text, t->buf.data + before, len);
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
		put_label(t, ev);
		put_args(t, ev);
	}
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
	bool closed = is_end && close_span(n, ev, &ns);
	char *p = buf_room(&t->buf);
	p = text_columns_format(&t->columns, &n->who, ev, closed ? &ns : NULL, p);
	size_t indent = 1 + 2 * (size_t)n->depth;
	memset(p, ' ', indent);
	t->buf.len = (size_t)(p + indent - t->buf.data);
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

static int text_forget(struct sink *k, uint32_t process)
{
	forget_process((struct text *)k, process);
	return 0;
}

static const struct sink_ops text_ops = {
	.forget = text_forget,
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
		((struct text *)k)->columns.time = time;
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
	t->columns.session = s;
	*ret = &t->base;
	return 0;
}
