/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/chrome/chrome.h"

#include "base/json.h"
#include "format/derived_tracks.h"
#include "format/fiber_tracks.h"
#include "format/json_args.h"
#include "format/rows.h"
#include "session/event_stack.h"
#include "session/names.h"
#include "session/offcpu.h"
#include "session/session.h"
#include "stream/name_slots.h"
#include "stream/sink.h"
#include "stream/tracks.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The pieces of an event in Chrome's JSON trace format, and the events that need nothing but
 * themselves. Which events there are, and in what order, is chrome.c's.
 */

#define CHROME_HEAD_BYTES 96
/* The text of an event up to its pid, of one kind and name. Copied whole. */
struct chrome_head {
	uint16_t len; /* 0: it is longer than text, or there was no memory */
	char text[CHROME_HEAD_BYTES];
};
struct chrome_json {
	const struct session *session;
	struct buf buf;
	struct json json;
	struct name_slots slots;
	struct chrome_head heads[NAME_SLOTS];
	bool started; /* the array has its bracket and an element */
};

static void chrome_json_close(struct chrome_json *c, char *end);

/* Microseconds with the nanoseconds behind the point: 24 bytes at most. */
static char *format_us(char *p, uint64_t ns)
{
	unsigned rest = (unsigned)(ns % 1000);
	p = buf_format_u64(p, ns / 1000);
	p[0] = '.';
	p[1] = (char)('0' + rest / 100);
	p[2] = (char)('0' + rest / 10 % 10);
	p[3] = (char)('0' + rest % 10);
	return p + 4;
}

/* A time in microseconds with exactly three digits behind the point. */
static void chrome_json_us(struct chrome_json *c, const char *key, uint64_t ns)
{
	json_key(&c->json, key);
	json_end(&c->json, format_us(json_begin(&c->json), ns), true);
}

/* Opens the object of an event; its fields follow with json_key*(). category may be NULL. */
static void chrome_json_open(struct chrome_json *c, char phase, const char *name,
			     const char *category)
{
	char *p = buf_room(&c->buf);
	/* The first event follows the opening bracket of the array, each later one a comma. */
	*p++ = c->started ? ',' : '[';
	p = JSON_FORMAT_RAW(p, "\n{\"ph\":\"");
	*p++ = phase;
	p = JSON_FORMAT_RAW(p, "\",\"name\":");
	json_end(&c->json, p, false);
	c->started = true;
	json_string(&c->json, name, strlen(name));
	if (category)
		json_key_str(&c->json, "cat", category);
}

/* Puts the event's row, after its other fields. */
static void chrome_json_row(struct chrome_json *c, uint32_t pid, uint32_t tid)
{
	json_key_u64(&c->json, "pid", rows_pid(pid));
	json_key_u64(&c->json, "tid", tid);
}

static void chrome_json_open_args(struct chrome_json *c)
{
	json_key_open(&c->json, "args", '{');
}

/* Closes the args and the event. */
static void chrome_json_close_args(struct chrome_json *c)
{
	json_close(&c->json, '}');
	chrome_json_close(c, buf_room(&c->buf));
}

static void chrome_json_metadata(struct chrome_json *c, const char *what, uint32_t pid,
				 uint32_t tid, const char *key, const char *value)
{
	chrome_json_open(c, 'M', what, NULL);
	chrome_json_row(c, pid, tid);
	chrome_json_open_args(c);
	json_key_str(&c->json, key, value);
	chrome_json_close_args(c);
}

/* Thread, CPU and stack, where they are known, as args. */
static void chrome_json_who(struct chrome_json *c, const struct ebt_event *ev)
{
	if (ev->tid)
		json_key_u64(&c->json, "tid", ev->tid);
	if (ev->cpu != EBT_NO_CPU)
		json_key_u64(&c->json, "cpu", ev->cpu);
	if (ev->flags & EBT_F_LATE)
		json_key_bool(&c->json, "late", true);
	if (event_stack_is_shown(ev))
		event_stack_json(c->session, ev->stack, &c->json);
}

static void chrome_json_instant(struct chrome_json *c, const struct ebt_event *ev,
				const struct row *row)
{
	char scratch[NAMES_MADE_BYTES];
	chrome_json_open(c, 'i', names_label(c->session, ev, scratch), rows_category(ev->kind));
	chrome_json_row(c, row->pid, row->tid);
	chrome_json_us(c, "ts", ev->ts);
	json_key_str(&c->json, "s", ev->kind == EBT_PROCESS ? "p" : "t");
	chrome_json_open_args(c);
	json_args(&c->json, c->session, ev);
	chrome_json_who(c, ev);
	chrome_json_close_args(c);
}

/* The interval of an EBT_OFFCPU. */
static void chrome_json_offcpu(struct chrome_json *c, const struct ebt_event *ev,
			       const struct row *row)
{
	struct offcpu o;
	offcpu_get(c->session, ev, &o);
	chrome_json_open(c, 'X', kinds_offcpu_reason_name(o.reason), rows_category(ev->kind));
	chrome_json_row(c, row->pid, row->tid);
	chrome_json_us(c, "ts", o.begin_ns);
	chrome_json_us(c, "dur", o.end_ns - o.begin_ns);
	chrome_json_open_args(c);
	json_args(&c->json, c->session, ev);
	chrome_json_who(c, ev);
	chrome_json_close_args(c);
}

static void put_head(struct chrome_json *c, const struct ebt_event *ev)
{
	char scratch[NAMES_MADE_BYTES];
	chrome_json_open(c,
			 ev->kind == EBT_BEGIN ? 'B'
			 : ev->kind == EBT_END ? 'E'
					       : 'C',
			 names_label(c->session, ev, scratch), rows_category(ev->kind));
}

/*
 * Nearly all events are of a few kinds, with a few ids: their first part is written once, by the
 * code that writes every other event, and copied from then on.
 */
static void make_head(struct chrome_json *c, struct chrome_head *h, const struct ebt_event *ev)
{
	struct buf text, out = c->buf;
	bool started = c->started;
	h->len = 0;
	if (buf_init(&text, -1, BUF_ROOM_MAX))
		return;
	c->buf = text;
	c->started = true;
	put_head(c, ev);
	text = c->buf;
	c->buf = out;
	c->started = started;
	if (!text.err && text.len <= sizeof(h->text)) {
		h->len = (uint16_t)text.len;
		memcpy(h->text, text.data, text.len);
	}
	buf_done(&text);
}

/*
 * The fast way for EBT_BEGIN, EBT_END and EBT_COUNTER: all up to the time at once, returned is
 * where more may be added, less than 512 bytes. It is closed by chrome_json_close(). Never NULL.
 */
static char *chrome_json_common(struct chrome_json *c, const struct ebt_event *ev,
				const struct row *row, uint64_t ts)
{
	bool is_new;
	struct chrome_head *h = &c->heads[name_slots_find(&c->slots, ev, &is_new)];
	if (is_new)
		make_head(c, h, ev);
	if (!h->len)
		put_head(c, ev);
	char *p = json_format_part(buf_room(&c->buf), h->text, sizeof(h->text), h->len);
	p = JSON_FORMAT_KEY_U64(p, "pid", rows_pid(row->pid));
	p = JSON_FORMAT_KEY_U64(p, "tid", row->tid);
	return format_us(JSON_FORMAT_KEY(p, "ts"), ts);
}

static void chrome_json_close(struct chrome_json *c, char *end)
{
	*end = '}';
	json_end(&c->json, end + 1, true);
}

/* Initialises zeroed memory; a thread writes to fd. 0 or -errno. done() works on zeroed memory,
 * too. */
static int chrome_json_init(struct chrome_json *c, const struct session *s, int fd)
{
	c->session = s;
	c->json.out = &c->buf;
	name_slots_init(&c->slots, s);
	return buf_init_behind(&c->buf, fd, SINK_BUFFER_BYTES, SINK_BEHIND_BYTES);
}

static void chrome_json_done(struct chrome_json *c)
{
	buf_done(&c->buf);
	name_slots_done(&c->slots);
}

/* No event is longer, but for payloads that no ring can hold. */
#define EVENT_BYTES	(32 * 1024)
#define NOTE_NAME_BYTES 256

struct chrome {
	struct sink base;
	const struct session *session;
	struct tracks *tracks;
	struct rows rows;
	struct derived_tracks derived;
	struct fiber_tracks *fibers;
	struct chrome_json out;
	const struct ebt_event *end; /* the event at hand, with which spans may end */
};

static int name_process(struct chrome *c, uint32_t process)
{
	int renamed = rows_process_renamed(&c->rows, process);
	if (renamed <= 0)
		return renamed;
	const struct processes *ps = &c->session->processes;
	const struct process *p = processes_announced(ps, process);
	uint32_t pid = processes_pid(ps, process);
	chrome_json_metadata(&c->out, "process_name", pid, 0, "name", rows_process_name(p));
	if (p && *p->comm && *p->producer)
		chrome_json_metadata(&c->out, "process_labels", pid, 0, "labels", p->producer);
	return 0;
}

/* Names a row and its process. 0 or -ENOMEM. */
static int name_row(struct chrome *c, uint32_t process, const struct row *row)
{
	char name[ROWS_NAME_BYTES];
	rows_name(row->tid, name);
	int err = name_process(c, process);
	chrome_json_metadata(&c->out, "thread_name", row->pid, row->tid, "name", name);
	return err;
}

/* The row of the event at hand, named if it is new. NULL: -ENOMEM. */
static const struct row *use_row(struct chrome *c, const struct ebt_event *ev)
{
	bool is_new;
	const struct row *row = rows_of(&c->rows, ev, &is_new);
	return row && is_new && name_row(c, ev->process, row) ? NULL : row;
}

/* The row of a track: of phases, and of spans of a thread, that of the event at hand. NULL:
 * -ENOMEM. */
static const struct row *row_of(struct chrome *c, const struct track *t)
{
	bool is_new;
	const struct row *row = rows_of_lane(&c->rows, t->lane, &is_new);
	return row && is_new && name_row(c, t->process, row) ? NULL : row;
}

static void put_header(struct chrome *c)
{
	const struct session *s = c->session;
	const struct process *p = processes_next(&s->processes, NULL);
	struct json *j = &c->out.json;
	chrome_json_open(&c->out, 'M', "ebtrace", NULL);
	chrome_json_row(&c->out, p ? p->pid : 0, 0);
	chrome_json_open_args(&c->out);
	json_key_str(j, "version", EBT_VERSION);
	char origins[ORIGIN_TEXT_BYTES];
	json_key_str(j, "source", origin_text(s->origins, origins));
	json_key_str(j, "clock", timebase_name(s->timebase.clock));
	if (p && *p->producer)
		json_key_str(j, "producer", p->producer);
	if (p && *p->runtime)
		json_key_str(j, "runtime", p->runtime);
	json_key_u64(j, "start_ns", s->start.known ? s->start.ns : s->totals.first_ns);
	const struct moment *at = s->timebase.at;
	if (at[TIMEBASE_REALTIME].known) {
		json_key_u64(j, "monotonic_ns", at[TIMEBASE_MONOTONIC].ns);
		json_key_u64(j, "realtime_ns", at[TIMEBASE_REALTIME].ns);
	}
	chrome_json_close_args(&c->out);
}

static void put_lost(struct chrome *c, const struct ebt_event *ev, const struct row *row)
{
	struct json *j = &c->out.json;
	uint64_t since = rows_lost_since(c->session, ev);
	chrome_json_open(&c->out, 'X', "lost", rows_category(ev->kind));
	chrome_json_row(&c->out, row->pid, row->tid);
	chrome_json_us(&c->out, "ts", since);
	chrome_json_us(&c->out, "dur", ev->ts - since);
	chrome_json_open_args(&c->out);
	if (ev->arg[0] != EBT_LOST_UNCOUNTED)
		json_key_u64(j, "events", ev->arg[0]);
	if (ev->arg[1] || ev->arg[0] == EBT_LOST_UNCOUNTED)
		json_key_u64(j, "words", ev->arg[1]);
	if (ev->flags & EBT_F_HISTORY)
		json_key_bool(j, "history", true);
	chrome_json_close_args(&c->out);
}

static void put_counter(struct chrome *c, const struct ebt_event *ev, const struct row *row)
{
	char *p = chrome_json_common(&c->out, ev, row, ev->ts);
	/* The id is part of the counter's name: each domain has a graph of its own. */
	if (ev->domain != EBT_NO_DOMAIN) {
		p = JSON_FORMAT_RAW(p, ",\"id\":\"domain ");
		p = buf_format_u64(p, ev->domain);
	} else {
		p = JSON_FORMAT_RAW(p, ",\"id\":\"thread ");
		p = buf_format_u64(p, ev->tid);
	}
	p = JSON_FORMAT_RAW(p, "\",\"args\":{\"value\":");
	p = buf_format_u64(p, ev->arg[0]);
	chrome_json_close(&c->out, JSON_FORMAT_RAW(p, "}"));
}

/* Opens an instant beside an end of a phase, for args that its other end does not have. */
static void open_note(struct chrome *c, const struct ebt_event *phase, const struct row *row,
		      uint64_t ts)
{
	char scratch[NAMES_MADE_BYTES], name[NOTE_NAME_BYTES];
	snprintf(name, sizeof(name), "%s of %s", phase->kind == EBT_BEGIN ? "begin" : "end",
		 names_label(c->session, phase, scratch));
	chrome_json_open(&c->out, 'i', name, rows_category(phase->kind));
	chrome_json_row(&c->out, row->pid, row->tid);
	chrome_json_us(&c->out, "ts", ts);
	json_key_str(&c->out.json, "s", "t");
	chrome_json_open_args(&c->out);
}

/* Args of a phase are those that are the same at its begin and its end: some readers match an end
 * with its begin by name and args. */
static void close_phase(struct chrome *c, char *p, uint32_t stack)
{
	if (!stack) {
		chrome_json_close(&c->out, p);
		return;
	}
	json_end(&c->out.json, p, true);
	chrome_json_open_args(&c->out);
	event_stack_json(c->session, stack, &c->out.json);
	chrome_json_close_args(&c->out);
}

static void put_phase_begin(struct chrome *c, const struct track *t, struct track_span *s,
			    const struct ebt_event *ev)
{
	const struct row *row = row_of(c, t);
	uint32_t stack = event_stack_is_shown(ev) ? ev->stack : 0;
	if (stack) {
		stacks_hold(c->session->stacks, stack);
		s->user = stack;
	}
	close_phase(c, chrome_json_common(&c->out, ev, row, s->begin_ns), stack);
	if (ev->flags & EBT_F_LATE) {
		open_note(c, ev, row, s->begin_ns);
		json_key_bool(&c->out.json, "late", true);
		chrome_json_close_args(&c->out);
	}
}

static void put_end_note(struct chrome *c, const struct ebt_event *phase, const struct row *row,
			 uint64_t end_ns, enum track_end how)
{
	struct json *j = &c->out.json;
	open_note(c, phase, row, end_ns);
	if (how != TRACK_ENDED) {
		json_key_str(j, "cut", rows_cut(how));
	} else {
		if (c->end->flags & EBT_F_PAYLOAD)
			json_args(j, c->session, c->end);
		if (c->end->flags & EBT_F_LATE)
			json_key_bool(j, "late", true);
	}
	chrome_json_close_args(&c->out);
}

static void put_phase_end(struct chrome *c, const struct track *t, const struct track_span *s,
			  uint64_t end_ns, enum track_end how)
{
	struct ebt_event ev = {.kind = EBT_END, .id = s->id, .process = t->process};
	const struct row *row = row_of(c, t);
	uint32_t stack = (uint32_t)s->user;
	if (how != TRACK_ENDED || c->end->flags & (EBT_F_PAYLOAD | EBT_F_LATE))
		put_end_note(c, &ev, row, end_ns, how);
	close_phase(c, chrome_json_common(&c->out, &ev, row, end_ns), stack);
	if (stack)
		stacks_drop(c->session->stacks, stack);
}

/* Nestable: those with one category and one id, which is their track's, are a stack. */
static int put_span(struct chrome *c, char phase, const struct track *t, const char *name,
		    uint64_t ts)
{
	const struct row *row = row_of(c, t);
	if (!row)
		return -ENOMEM;
	chrome_json_open(&c->out, phase, name, rows_category(EBT_SPAN_BEGIN));
	json_key_u64(&c->out.json, "id", t->number);
	chrome_json_row(&c->out, row->pid, row->tid);
	chrome_json_us(&c->out, "ts", ts);
	return 0;
}

static int on_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		    const struct ebt_event *ev)
{
	struct chrome *c = ctx;
	if (t->span == TRACK_PHASES) {
		put_phase_begin(c, t, s, ev);
		return 0;
	}
	char scratch[NAMES_MADE_BYTES];
	const char *name =
		rows_begin_span(&c->rows, t, names_label(c->session, ev, scratch), depth);
	if (!name || put_span(c, 'b', t, name, s->begin_ns))
		return -ENOMEM;
	chrome_json_open_args(&c->out);
	json_args(&c->out.json, c->session, ev);
	chrome_json_who(&c->out, ev);
	chrome_json_close_args(&c->out);
	return 0;
}

static int on_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	struct chrome *c = ctx;
	(void)depth;
	if (t->span == TRACK_PHASES) {
		put_phase_end(c, t, s, end_ns, how);
		return 0;
	}
	const char *name = rows_end_span(&c->rows, t);
	if (!name || put_span(c, 'e', t, name, end_ns))
		return -ENOMEM;
	chrome_json_open_args(&c->out);
	if (rows_cut(how))
		json_key_str(&c->out.json, "cut", rows_cut(how));
	else
		json_args(&c->out.json, c->session, c->end);
	chrome_json_close_args(&c->out);
	return 0;
}

static void on_forget(void *ctx, struct track *t)
{
	if (t->span != TRACK_PHASES)
		rows_forget_span(&((struct chrome *)ctx)->rows, t);
}

/* An event of a track of fibers: up to its time. 0 or -ENOMEM. */
static int open_fiber(struct chrome *c, struct fiber_track *t, char phase, const char *name,
		      uint64_t ts)
{
	bool is_new;
	struct row row = rows_of_fibers(&c->rows, t, &is_new);
	int err = is_new ? name_row(c, t->process, &row) : 0;
	/* What is written holds whole events. */
	if (c->out.buf.cap - c->out.buf.len < EVENT_BYTES)
		buf_flush(&c->out.buf);
	chrome_json_open(&c->out, phase, name, FIBER_CATEGORY);
	chrome_json_row(&c->out, row.pid, row.tid);
	chrome_json_us(&c->out, "ts", ts);
	return err;
}

static void put_fiber_args(struct chrome *c, const struct fiber_slice *s)
{
	struct json *j = &c->out.json;
	chrome_json_open_args(&c->out);
	if (s->kind == FIBER_SLICE_FIBER)
		json_key_i64(j, "fiber", s->id);
	if (s->kind == FIBER_SLICE_FIBER && s->has_context)
		json_key_i64(j, "context", s->context);
	if (s->kind == FIBER_SLICE_CONTEXT)
		json_key_i64(j, "context", s->id);
	if (s->type)
		json_key_str(j, "type", s->type);
	if (s->operation)
		json_key_str(j, "operation", s->operation);
	if (rows_cut(s->how))
		json_key_str(j, "cut", rows_cut(s->how));
	chrome_json_close_args(&c->out);
}

/* Some readers match an end with its begin by name and args. */
static int on_fiber_begin(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	struct chrome *c = ctx;
	int err = open_fiber(c, t, 'B', s->name, s->begin_ns);
	put_fiber_args(c, s);
	return err;
}

static int on_fiber_end(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	struct chrome *c = ctx;
	struct fiber_slice begun = *s;
	begun.how = TRACK_ENDED;
	if (rows_cut(s->how)) {
		open_fiber(c, t, 'i', "cut", s->end_ns);
		json_key_str(&c->out.json, "s", "t");
		put_fiber_args(c, s);
	}
	int err = open_fiber(c, t, 'E', s->name, s->end_ns);
	put_fiber_args(c, &begun);
	return err;
}

/* An end of an arrow. */
static int put_arrow(struct chrome *c, struct fiber_track *t, char phase, uint64_t ts,
		     uint64_t arrow)
{
	int err = open_fiber(c, t, phase, "put", ts);
	json_key_u64(&c->out.json, "id", arrow);
	if (phase == 'f')
		json_key_str(&c->out.json, "bp", "e");
	chrome_json_open_args(&c->out);
	chrome_json_close_args(&c->out);
	return err;
}

static int on_fiber_whole(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	struct chrome *c = ctx;
	int err = open_fiber(c, t, 'X', s->name, s->begin_ns);
	chrome_json_us(&c->out, "dur", s->end_ns - s->begin_ns);
	put_fiber_args(c, s);
	return !err && s->arrow ? put_arrow(c, t, 'f', s->begin_ns, s->arrow) : err;
}

static int on_fiber_note(void *ctx, struct fiber_track *t, const struct ebt_event *ev,
			 const char *text)
{
	struct chrome *c = ctx;
	int err = open_fiber(c, t, 'i', text, ev->ts);
	json_key_str(&c->out.json, "s", "t");
	chrome_json_open_args(&c->out);
	chrome_json_close_args(&c->out);
	return err;
}

static int on_fiber_put(void *ctx, struct fiber_track *t, const struct ebt_event *ev,
			uint64_t arrow, unsigned count)
{
	int err = 0;
	for (unsigned i = 0; i < count && !err; i++)
		err = put_arrow(ctx, t, 's', ev->ts, arrow + i);
	return err;
}

static const struct fiber_tracks_visitor fiber_visitor = {.begin = on_fiber_begin,
							  .end = on_fiber_end,
							  .whole = on_fiber_whole,
							  .note = on_fiber_note,
							  .put = on_fiber_put};

/* An event that may cut phases, spans and fibers. */
static int push_cut(struct chrome *c, const struct ebt_event *ev)
{
	int err = fiber_tracks_event(c->fibers, ev);
	return err ? err : tracks_push(c->tracks, ev);
}

static int put_event(struct chrome *c, const struct ebt_event *ev)
{
	int err;
	const struct row *row = use_row(c, ev);
	if (!row)
		return -ENOMEM;
	switch (ev->kind) {
	case EBT_BEGIN:
	case EBT_END:
		return tracks_push(c->tracks, ev);
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
		err = tracks_push(c->tracks, ev);
		return err ? err : fiber_tracks_event(c->fibers, ev);
	case EBT_COUNTER:
		put_counter(c, ev, row);
		return 0;
	case EBT_LOST:
		err = push_cut(c, ev);
		put_lost(c, ev, row);
		return err;
	case EBT_OFFCPU:
		chrome_json_offcpu(&c->out, ev, row);
		return 0;
	case EBT_PROCESS:
		err = push_cut(c, ev);
		if (!err)
			err = name_process(c, ev->process);
		chrome_json_instant(&c->out, ev, row);
		return err;
	case EBT_UNIT:
	case EBT_INT:
	case EBT_CUSTOM:
		chrome_json_instant(&c->out, ev, row);
		return fiber_tracks_event(c->fibers, ev);
	default:
		chrome_json_instant(&c->out, ev, row);
		return derived_tracks_event(&c->derived, ev);
	}
}

static int one_event(struct chrome *c, const struct ebt_event *ev)
{
	c->end = ev;
	if (!c->out.started)
		put_header(c);
	/* What is written holds whole events, so that an interruption leaves no half of one. */
	if (c->out.buf.cap - c->out.buf.len < EVENT_BYTES)
		buf_flush(&c->out.buf);
	int err = put_event(c, ev);
	return err ? err : c->out.buf.err;
}

static int chrome_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct chrome *c = (struct chrome *)k;
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = one_event(c, &ev[i]);
	return err;
}

static int chrome_flush(struct sink *k)
{
	return buf_flush(&((struct chrome *)k)->out.buf);
}

static bool chrome_ready(struct sink *k)
{
	return buf_ready(&((struct chrome *)k)->out.buf);
}

static void put_summary(struct chrome *c)
{
	const struct process *p = processes_next(&c->session->processes, NULL);
	chrome_json_open(&c->out, 'M', "ebtrace_summary", NULL);
	chrome_json_row(&c->out, p ? p->pid : 0, 0);
	chrome_json_open_args(&c->out);
	totals_put_json(&c->out.json, &c->session->totals, false);
	chrome_json_close_args(&c->out);
}

static int put_derived(void *ctx, const struct derived_counter *v)
{
	struct chrome *c = ctx;
	chrome_json_open(&c->out, 'C', v->name, "memory");
	chrome_json_row(&c->out, rows_pid(processes_pid(&c->session->processes, v->process)), 0);
	chrome_json_us(&c->out, "ts", v->ts);
	chrome_json_open_args(&c->out);
	json_key_u64(&c->out.json, v->is_bytes ? "bytes" : "pages", v->value);
	chrome_json_close_args(&c->out);
	return c->out.buf.err;
}

/* As long as the trace: viewers draw events of one row and time below each other. */
static int put_site(void *ctx, const struct derived_site *site)
{
	struct chrome *c = ctx;
	struct json *j = &c->out.json;
	const struct totals *t = &c->session->totals;
	const struct process *p = processes_next(&c->session->processes, NULL);
	uint32_t pid = rows_pid(p ? p->pid : 0);
	if (!site->rank)
		chrome_json_metadata(&c->out, "thread_name", pid, ROWS_SITES, "name",
				     DERIVED_SITES);
	chrome_json_open(&c->out, 'X', site->name, "memory");
	chrome_json_row(&c->out, pid, ROWS_SITES);
	chrome_json_us(&c->out, "ts", t->first_ns);
	chrome_json_us(&c->out, "dur", t->last_ns - t->first_ns);
	chrome_json_open_args(&c->out);
	json_key_u64(j, "bytes", site->bytes);
	json_key_u64(j, "low_bytes", site->low_bytes);
	json_key_u64(j, "high_bytes", site->high_bytes);
	json_key_u64(j, "objects", site->objects);
	json_key_u64(j, "samples", site->samples);
	chrome_json_close_args(&c->out);
	return c->out.buf.err;
}

static const struct derived_visitor derived_visitor = {.counter = put_derived, .site = put_site};

static int chrome_end(struct sink *k)
{
	struct chrome *c = (struct chrome *)k;
	const struct session *s = c->session;
	if (!c->out.started)
		put_header(c);
	uint64_t end_ns = s->run_end.known ? s->run_end.ns : s->totals.last_ns;
	int err = fiber_tracks_end(c->fibers, end_ns);
	if (!err)
		err = tracks_end(c->tracks, end_ns);
	for (const struct process *p = NULL; !err && (p = processes_next(&s->processes, p));)
		err = name_process(c, p->index);
	if (!err)
		err = derived_tracks_end(&c->derived);
	put_summary(c);
	buf_puts(&c->out.buf, "\n]\n");
	int unwritten = buf_finish(&c->out.buf);
	return err ? err : unwritten;
}

static void chrome_free(struct sink *k)
{
	struct chrome *c = (struct chrome *)k;
	tracks_free(c->tracks);
	rows_done(&c->rows);
	derived_tracks_done(&c->derived);
	fiber_tracks_free(c->fibers);
	chrome_json_done(&c->out);
	free(c);
}

static int chrome_forget(struct sink *k, uint32_t process)
{
	struct chrome *c = (struct chrome *)k;
	if (!c->out.started)
		put_header(c);
	uint64_t last_ns = c->session->totals.last_ns;
	int err = fiber_tracks_forget(c->fibers, process, last_ns);
	if (!err)
		err = tracks_forget(c->tracks, process, last_ns);
	if (!err)
		err = derived_tracks_forget(&c->derived, process);
	if (!err && rows_has_pid(&c->rows, process))
		err = name_process(c, process);
	rows_forget(&c->rows, process);
	return err ? err : c->out.buf.err;
}

static const struct sink_ops chrome_ops = {
	.forget = chrome_forget,
	.events = chrome_events,
	.flush = chrome_flush,
	.ready = chrome_ready,
	.end = chrome_end,
	.free = chrome_free,
};

static const struct tracks_visitor visitor = {
	.begin = on_begin, .end = on_end, .forget = on_forget};

int chrome_new(const struct session *s, int fd, struct sink **ret)
{
	struct chrome *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->base.ops = &chrome_ops;
	c->base.out = &c->out.buf;
	c->session = s;
	rows_init(&c->rows, s);
	int err = derived_tracks_init(&c->derived, s, &derived_visitor, c);
	if (!err)
		err = fiber_tracks_new(s, &fiber_visitor, c, &c->fibers);
	if (!err)
		err = tracks_new(&s->processes, &visitor, c, &c->tracks);
	if (!err)
		err = chrome_json_init(&c->out, s, fd);
	if (err) {
		chrome_free(&c->base);
		return err;
	}
	*ret = &c->base;
	return 0;
}
