/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/text/text.h"

#include "base/buf.h"
#include "base/plural.h"
#include "base/ptrarray.h"
#include "base/utf8.h"
#include "report/text.h"
#include "session/event_args.h"
#include "session/event_stack.h"
#include "session/marker_values.h"
#include "session/names.h"
#include "stream/loss.h"
#include "stream/name_slots.h"
#include "stream/tracks.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * The columns in front of the event in a line of text: time, process and thread, domain, CPU where
 * the source knows it, and duration. Formats into memory of the caller's; writes nothing.
 */

/* Right-aligned in `width` < 8, filled up with blanks. */
static char *format_aligned(char *p, uint64_t v, int width)
{
	char digits[24];
	int n = (int)(buf_format_u64(digits, v) - digits);
	memset(p, ' ', 8);
	p += width > n ? width - n : 0;
	memcpy(p, digits, sizeof(digits));
	return p + n;
}

/* "." and three digits. */
static char *format_thousandths(char *p, unsigned v)
{
	p[0] = '.';
	p[1] = (char)('0' + v / 100);
	p[2] = (char)('0' + v / 10 % 10);
	p[3] = (char)('0' + v % 10);
	return p + 4;
}

/* Blanks up to `width` from `from` on, and one more. */
static char *pad(char *p, const char *from, int width)
{
	int left = width - (int)(p - from) + 1;
	left = left > 1 ? left : 1;
	memset(p, ' ', 16);
	return p + left;
}

#define NS_PER_S       1000000000u
#define DURATION_WIDTH 11

/* In the unit that keeps it readable, as wide as the column is when there is none. */
static char *format_duration(char *p, uint64_t ns)
{
	static const char units[][4] = {" us ", " ms ", " s  "};
	unsigned unit = 0;
	if (ns < 1000) {
		p = format_aligned(p, ns, 7);
		memcpy(p, " ns ", 4);
		return p + 4;
	}
	for (; ns >= 1000000 && unit < 2; unit++)
		ns /= 1000;
	p = format_aligned(p, ns / 1000, 3);
	p = format_thousandths(p, (unsigned)(ns % 1000));
	memcpy(p, units[unit], 4);
	return p + 4;
}

static char *format_number(char *p, uint32_t v, bool known)
{
	*p = '-';
	return known ? buf_format_u64(p, v) : p + 1;
}

/* "[" and seconds. */
static __attribute__((noinline)) void make_seconds(struct text_columns *c, uint64_t seconds,
						   bool wall)
{
	char *p = c->seconds_text;
	*p++ = '[';
	if (wall) {
		time_t of_day = (time_t)seconds;
		p += strftime(p, 16, "%T", localtime(&of_day));
	} else {
		char text[48];
		size_t len = (size_t)(format_aligned(text, seconds, 4) - text);
		memcpy(p, text, len);
		p += len;
	}
	c->seconds = seconds;
	c->seconds_len = (uint32_t)(p - c->seconds_text);
}

static char *format_time(struct text_columns *c, char *p, uint64_t ts)
{
	const struct timebase *b = &c->session->timebase;
	uint64_t from = c->time == TEXT_TIME_DELTA ? c->last_ns : c->first_ns;
	uint64_t ns = ts > from ? ts - from : 0;
	bool wall = c->time == TEXT_TIME_WALL && b->at[TIMEBASE_REALTIME].known;
	if (wall)
		ns = b->at[TIMEBASE_REALTIME].ns + (ts - b->at[b->clock].ns);
	if (!c->seconds_len || c->seconds != ns / NS_PER_S)
		make_seconds(c, ns / NS_PER_S, wall);
	memcpy(p, c->seconds_text, sizeof(c->seconds_text));
	p += c->seconds_len;
	unsigned fraction = (unsigned)(ns % NS_PER_S);
	*p++ = '.';
	*p++ = (char)('0' + fraction / 100000000);
	p = buf_format_eight(p, fraction % 100000000);
	memcpy(p, "] ", 2);
	c->last_ns = ts;
	return p + 2;
}

static __attribute__((noinline)) void make_who(const struct text_columns *c, struct text_who *w,
					       const struct ebt_event *ev)
{
	uint32_t pid = processes_pid(&c->session->processes, ev->process);
	char text[sizeof(w->text) + 32], *p = format_number(text, pid, pid);
	int left = p - text < 7 ? 7 - (int)(p - text) : 0;
	*p++ = '/';
	p = pad(format_number(p, ev->tid, ev->tid), p, left + 7);
	*p++ = 'd';
	p = pad(format_number(p, ev->domain, ev->domain != EBT_NO_DOMAIN), p, 3);
	if (c->has_cpus) {
		memcpy(p, "cpu", 3);
		p += 3;
		p = pad(format_number(p, ev->cpu, ev->cpu != EBT_NO_CPU), p, 3);
	}
	*w = (struct text_who){.tid = ev->tid, .cpu = ev->cpu, .len = (uint32_t)(p - text)};
	memcpy(w->text, text, sizeof(w->text));
}

/*
 * Puts an event's columns at p, where there is room for TEXT_COLUMNS_BYTES. The text_who caches the
 * columns of the event's process and domain, or thread. duration_ns: NULL: it has none. Returns the
 * byte behind the columns; bytes from there on may have been overwritten.
 */
static char *text_columns_format(struct text_columns *c, struct text_who *who,
				 const struct ebt_event *ev, const uint64_t *duration_ns, char *p)
{
	if (!c->has_first) {
		c->has_first = true;
		c->first_ns = c->last_ns = ev->ts;
		c->has_cpus = c->session->origins & ORIGIN_BPF;
	}
	if (!who->len || who->tid != ev->tid || who->cpu != ev->cpu)
		make_who(c, who, ev);
	p = format_time(c, p, ev->ts);
	memcpy(p, who->text, sizeof(who->text));
	p += who->len;
	if (duration_ns)
		return format_duration(p, *duration_ns);
	memset(p, ' ', DURATION_WIDTH);
	return p + DURATION_WIDTH;
}

/* No line is longer, but for payloads that no ring can hold. */
#define TEXT_LINE_BYTES (20 * 1024)
/* Lines are indented by no more open spans than these. */
#define TEXT_MAX_DEPTH	32
#define LABEL_BYTES	46
#define STACK_INDENT	"        at "
#define TEXT_WORD_BYTES 21
/* The words of a payload of up to this size always fit a line. */
#define TEXT_WORDS_BYTES (TEXT_LINE_BYTES / 2 / TEXT_WORD_BYTES * 8)

/* What follows the label of an event. */
enum rest { REST_NONE, REST_UNSIGNED, REST_SIGNED, REST_WORDS, REST_ARGS };

/* "begin minor", or "counter minor_promoted = ": the label of events of one kind and name. */
struct label {
	uint8_t len;  /* 0: it is too long to be kept */
	uint8_t rest; /* enum rest */
	char text[LABEL_BYTES];
};

struct text_lane {
	struct text_who who;  /* of its last event */
	uint32_t depth;	      /* its open spans */
	struct track *phases; /* of stream/tracks; NULL: not known */
};

struct text {
	struct sink base;
	const struct session *session;
	struct buf buf;
	PTRARRAY(struct text_lane) lanes;
	struct tracks *tracks;
	bool cancelled;
	bool has_ended; /* the event at hand ended a span that took span_ns */
	uint64_t span_ns;
	struct text_columns columns;
	struct name_slots slots;
	struct label labels[NAME_SLOTS];
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

static struct text_lane *lane_of(struct text *t, const struct ebt_event *ev)
{
	bool is_new;
	uint32_t lane = processes_lane_of(&t->session->processes, ev);
	return lane ? ptrarray_make(&t->lanes, lane, &is_new) : NULL;
}

/* NULL: no memory, or a track of its process, whose spans indent no line. */
static struct text_lane *know_track(struct text *t, struct track *track)
{
	struct text_lane *lane = ptrarray_get(&t->lanes, track->lane);
	if (track->span != TRACK_PHASES && marker_id_slot(track->span))
		return NULL;
	track->user = lane;
	if (track->span == TRACK_PHASES)
		lane->phases = track;
	return lane;
}

static inline int on_begin(void *ctx, struct track *track, struct track_span *s, unsigned depth,
			   const struct ebt_event *ev)
{
	struct text_lane *lane = track->user ? track->user : know_track(ctx, track);
	(void)s, (void)depth, (void)ev;
	if (lane)
		lane->depth++;
	return 0;
}

static inline int on_end(void *ctx, struct track *track, const struct track_span *s, unsigned depth,
			 uint64_t end_ns, enum track_end how)
{
	struct text *t = ctx;
	struct text_lane *lane = track->user;
	(void)depth;
	if (lane)
		lane->depth--;
	t->has_ended = how == TRACK_ENDED;
	t->span_ns = end_ns - s->begin_ns;
	return 0;
}

static void on_forget(void *ctx, struct track *track)
{
	struct text_lane *lane = track->user;
	(void)ctx;
	if (lane && lane->phases == track)
		lane->phases = NULL;
}

static const struct tracks_visitor visitor = {
	.begin = on_begin, .end = on_end, .forget = on_forget};

static inline int push(struct text *t, const struct text_lane *lane, const struct ebt_event *ev)
{
	bool is_phase = ev->kind == EBT_BEGIN || ev->kind == EBT_END;
	return is_phase && lane->phases
		       ? tracks_push_inline(t->tracks, lane->phases, ev, &visitor, t)
		       : tracks_push(t->tracks, ev);
}

static void put_name(struct text *t, const struct ebt_event *ev)
{
	const char *name = names_event(t->session, ev);
	put(t, " ");
	if (name)
		buf_put_plain(&t->buf, name);
	else
		put_u64(t, ev->id & ~EBT_UNKNOWN_ID);
}

static void put_hex(struct text *t, const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		char pair[2] = {"0123456789abcdef"[data[i] >> 4], "0123456789abcdef"[data[i] & 15]};
		buf_put(&t->buf, pair, 2);
	}
}

/* A blank before each; at most TEXT_WORD_BYTES each. */
static char *format_words(char *p, const unsigned char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v;
		memcpy(&v, data + 8 * i, 8);
		*p++ = ' ';
		p = buf_format_u64(p, v);
	}
	return p;
}

static void put_words(struct text *t, const unsigned char *data, size_t bytes)
{
	const size_t most = BUF_ROOM_MAX / TEXT_WORD_BYTES;
	for (size_t at = 0, end = bytes / 8, n; at < end; at += n) {
		n = end - at < most ? end - at : most;
		char *p = format_words(buf_room(&t->buf), data + 8 * at, n);
		t->buf.len = (size_t)(p - t->buf.data);
	}
}

/* " duration=1.234 ms": of duration_ns, or of a name in us. False, and nothing: it is no time. */
static bool put_time(struct text *t, const struct event_arg *arg)
{
	const struct kinds_arg *a = arg->arg;
	size_t len = strlen(a->name);
	bool counts = a->type == KINDS_TYPE_u64 || a->type == KINDS_TYPE_count;
	const char *unit = len < 3 ? "" : a->name + len - 3;
	bool is_us = !strcmp(unit, "_us");
	if (!counts || (!is_us && strcmp(unit, "_ns") != 0))
		return false;
	uint64_t value = arg->value - (a->type == KINDS_TYPE_count);
	put(t, " ");
	buf_put(&t->buf, a->name, len - 3);
	put(t, "=");
	put(t, report_ns_text((is_us ? 1e3 : 1) * (double)value).text);
	return true;
}

/* A text of the program, in quotes: what is not to reach a terminal is escaped, or replaced. */
static void put_quoted(struct text *t, const char *s)
{
	put(t, "\"");
	for (size_t left = strlen(s); left;) {
		size_t n = utf8_plain(s, left), special = strcspn(s, "\"\\");
		n = special < n ? special : n;
		buf_put(&t->buf, s, n);
		s += n;
		left -= n;
		if (!left)
			break;
		put(t, *s == '\n'   ? "\\n"
		       : *s == '\t' ? "\\t"
		       : *s == '"'  ? "\\\""
		       : *s == '\\' ? "\\\\"
				    : "?");
		s++;
		left--;
	}
	put(t, "\"");
}

/* The one argument of most kinds, " = 5", and any other, " words=5". */
static void put_arg(struct text *t, const struct event_arg *arg)
{
	const struct kinds_arg *a = arg->arg;
	char scratch[KINDS_TEXT_BYTES];
	/* Most counts of a pause are none. */
	if (a->type == KINDS_TYPE_count && arg->value == 1)
		return;
	if (a->type == KINDS_TYPE_flag) {
		put(t, " ");
		put(t, a->name);
		return;
	}
	if (put_time(t, arg))
		return;
	if (!strcmp(a->name, "value")) {
		put(t, " = ");
	} else {
		put(t, " ");
		put(t, a->name);
		put(t, "=");
	}
	if (a->type == KINDS_TYPE_u64)
		put_u64(t, arg->value);
	else if (a->type == KINDS_TYPE_quoted)
		put_quoted(t, arg->text);
	else
		buf_put_plain(&t->buf,
			      arg->text ? arg->text : kinds_arg_text(a, arg->value, scratch));
}

static void put_args(struct text *t, const struct ebt_event *ev)
{
	enum kinds_payload rest = event_args_rest(t->session, ev);
	size_t bytes = 0;
	const unsigned char *data = session_blob(t->session, ev, &bytes);
	struct event_arg arg;
	for (unsigned at = 0; event_args_next(t->session, ev, &at, &arg);)
		put_arg(t, &arg);
	if (rest == KINDS_PAYLOAD_words) {
		put_words(t, data, data ? bytes : 0);
	} else if (rest == KINDS_PAYLOAD_bytes) {
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
	if (counted && !ev->arg[0] && !ev->arg[1])
		put(t, ", counted in another loss");
	else if (counted)
		put_count(t, " ", ev->arg[0], plural_of(ev->arg[0], " event", " events"));
	if (ev->arg[1])
		put_count(t, counted ? " (" : " ", ev->arg[1],
			  plural_of(ev->arg[1], " word", " words"));
	if (ev->arg[1] && counted)
		put(t, ")");
	put(t, ev->flags & EBT_F_HISTORY ? " before the trace began ***" : " ***");
}

/* Kind and name. */
static void put_label(struct text *t, const struct ebt_event *ev)
{
	put(t, kinds_name(ev->kind));
	if (kinds_get(ev->kind)->label != KINDS_LABEL_none)
		put_name(t, ev);
}

static enum rest rest_of(const struct kind *kind)
{
	const struct kinds_arg *a = kind->args;
	if (kinds_may_be_bare(kind))
		return REST_NONE;
	if (kind->payload == KINDS_PAYLOAD_bytes || kind->family == KINDS_stream)
		return REST_ARGS;
	if (!a->name)
		return kind->payload == KINDS_PAYLOAD_words ? REST_WORDS : REST_NONE;
	if (kind->payload != KINDS_PAYLOAD_none)
		return REST_ARGS;
	if (a[1].name || a->optional || a->field != KINDS_FIELD_arg0 || strcmp(a->name, "value"))
		return REST_ARGS;
	return a->type == KINDS_TYPE_u64   ? REST_UNSIGNED
	       : a->type == KINDS_TYPE_i64 ? REST_SIGNED
					   : REST_ARGS;
}

/* Keeps the output of put_label(), which it writes behind the buffer's contents and then drops from
 * the buffer. A label longer than LABEL_BYTES is not kept. */
static void make_label(struct text *t, const struct ebt_event *ev, struct label *l)
{
	bool has_value = kinds_get(ev->kind)->args->name;
	*l = (struct label){.rest = (uint8_t)(has_value && event_args_may_mean(t->session, ev)
						      ? REST_ARGS
						      : rest_of(kinds_get(ev->kind)))};
	buf_room(&t->buf);
	size_t before = t->buf.len;
	put_label(t, ev);
	if (l->rest == REST_UNSIGNED || l->rest == REST_SIGNED)
		put(t, " = ");
	size_t len = t->buf.len - before;
	t->buf.len = before;
	if (len > LABEL_BYTES)
		return;
	l->len = (uint8_t)len;
	memcpy(l->text, t->buf.data + before, len);
}

static const struct label *label_of(struct text *t, const struct ebt_event *ev)
{
	bool is_new;
	struct label *l = &t->labels[name_slots_find(&t->slots, ev, &is_new)];
	if (is_new)
		make_label(t, ev, l);
	return l;
}

/* Nearly all events: one copy, and a number or words. Returns the byte behind them. */
static char *format_label(const struct text *t, const struct label *l, const struct ebt_event *ev,
			  char *p)
{
	size_t bytes = 0;
	const unsigned char *data;
	memcpy(p, l->text, sizeof(l->text));
	p += l->len;
	switch ((enum rest)l->rest) {
	case REST_UNSIGNED:
		return buf_format_u64(p, ev->arg[0]);
	case REST_SIGNED:
		return buf_format_i64(p, ev->sarg[0]);
	case REST_WORDS:
		data = session_blob(t->session, ev, &bytes);
		return format_words(p, data, data ? bytes / 8 : 0);
	case REST_NONE:
	case REST_ARGS:
		break;
	}
	return p;
}

/* Everything behind the columns of an event that has more than that. */
static void put_what(struct text *t, const struct ebt_event *ev)
{
	if (ev->kind == EBT_LOST) {
		put_lost(t, ev);
	} else if (ev->kind == EBT_DAMAGE) {
		put_count(t, "*** damaged at byte ", ev->arg[0], ", ");
		put_count(t, "", ev->arg[1],
			  plural_of(ev->arg[1], " word skipped", " words skipped"));
		if (ev->seq)
			put_count(t, ", ", ev->seq,
				  plural_of(ev->seq, " allocation lost", " allocations lost"));
		put(t, " ***");
	} else if (ev->kind == EBT_PROCESS) {
		put(t, "process ");
		put(t, kinds_change_name(ev->id));
	} else {
		put_label(t, ev);
		put_args(t, ev);
	}
	if (ev->flags & EBT_F_LATE)
		put(t, " (late)");
	put(t, "\n");
}

/* NULL: the line of the event is no label with at most a number or words. */
static const struct label *plain_label(struct text *t, const struct ebt_event *ev)
{
	bool is_long = ev->flags & EBT_F_PAYLOAD && ev->arg[1] > TEXT_WORDS_BYTES;
	bool has_args = ev->flags & EBT_F_PAYLOAD && kinds_has_arg_payload(kinds_get(ev->kind));
	if (ev->flags & (EBT_F_LATE | EBT_F_CUT) || is_long || has_args)
		return NULL;
	const struct label *l = label_of(t, ev);
	return l->len && l->rest != REST_ARGS ? l : NULL;
}

static int one_event(struct text *t, const struct ebt_event *ev)
{
	struct text_lane *lane = lane_of(t, ev);
	if (!lane)
		return -ENOMEM;
	/* An interruption leaves whole lines. */
	if (t->buf.cap - t->buf.len < TEXT_LINE_BYTES)
		buf_flush(&t->buf);
	const struct label *label = plain_label(t, ev);
	/* An end is indented like its begin, any other line inside the spans that were open before
	 * it. */
	uint32_t depth = lane->depth;
	t->has_ended = false;
	int err = push(t, lane, ev);
	if (ev->kind == EBT_END || ev->kind == EBT_SPAN_END)
		depth = lane->depth;
	char *p = buf_room(&t->buf);
	p = text_columns_format(&t->columns, &lane->who, ev, t->has_ended ? &t->span_ns : NULL, p);
	memset(p, ' ', 1 + 2 * TEXT_MAX_DEPTH);
	p += 1 + 2 * (size_t)(depth < TEXT_MAX_DEPTH ? depth : TEXT_MAX_DEPTH);
	if (label) {
		p = format_label(t, label, ev, p);
		*p++ = '\n';
	}
	t->buf.len = (size_t)(p - t->buf.data);
	if (!label)
		put_what(t, ev);
	if (event_stack_is_shown(ev))
		event_stack_lines(t->session, ev->stack, STACK_INDENT, SIZE_MAX, &t->buf);
	return err ? err : t->buf.err;
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
	put_count(t, "# ", n->events, plural_of(n->events, " event, ", " events, "));
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
	tracks_free(t->tracks);
	ptrarray_free(&t->lanes);
	name_slots_done(&t->slots);
	buf_done(&t->buf);
	free(t);
}

static int text_forget(struct sink *k, uint32_t process)
{
	struct text *t = (struct text *)k;
	const struct processes *ps = &t->session->processes;
	int err = tracks_forget(t->tracks, process, 0);
	for (uint32_t l = processes_first_lane(ps, process); l; l = processes_next_lane(ps, l))
		free(ptrarray_remove(&t->lanes, l));
	return err;
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
	int err = tracks_new(&s->processes, &visitor, t, &t->tracks);
	if (!err)
		err = buf_init_behind(&t->buf, fd, SINK_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		tracks_free(t->tracks);
		free(t);
		return err;
	}
	t->base.ops = &text_ops;
	t->base.out = &t->buf;
	t->session = s;
	t->columns.session = s;
	name_slots_init(&t->slots, s);
	*ret = &t->base;
	return 0;
}
