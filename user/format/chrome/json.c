/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/chrome/json.h"

#include "format/json_args.h"
#include "format/rows.h"
#include "session/event_stack.h"
#include "session/names.h"
#include "session/offcpu.h"
#include "stream/sink.h"

#define BUFFER_BYTES (128 * 1024)

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

void chrome_json_us(struct chrome_json *c, const char *key, uint64_t ns)
{
	json_key(&c->json, key);
	json_end(&c->json, format_us(json_begin(&c->json), ns), true);
}

void chrome_json_open(struct chrome_json *c, char phase, const char *name, const char *category)
{
	char *p = buf_room(&c->buf);
	/* The bracket stands where the comma will. */
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

void chrome_json_row(struct chrome_json *c, uint32_t pid, uint32_t tid)
{
	json_key_u64(&c->json, "pid", rows_pid(pid));
	json_key_u64(&c->json, "tid", tid);
}

void chrome_json_open_args(struct chrome_json *c)
{
	json_key_open(&c->json, "args", '{');
}

void chrome_json_close_args(struct chrome_json *c)
{
	json_close(&c->json, '}');
	chrome_json_close(c, buf_room(&c->buf));
}

void chrome_json_metadata(struct chrome_json *c, const char *what, uint32_t pid, uint32_t tid,
			  const char *key, const char *value)
{
	chrome_json_open(c, 'M', what, NULL);
	chrome_json_row(c, pid, tid);
	chrome_json_open_args(c);
	json_key_str(&c->json, key, value);
	chrome_json_close_args(c);
}

void chrome_json_who(struct chrome_json *c, const struct ebt_event *ev)
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

void chrome_json_instant(struct chrome_json *c, const struct ebt_event *ev, const struct row *row)
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

void chrome_json_offcpu(struct chrome_json *c, const struct ebt_event *ev, const struct row *row)
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

char *chrome_json_common(struct chrome_json *c, const struct ebt_event *ev, const struct row *row,
			 uint64_t ts)
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

void chrome_json_close(struct chrome_json *c, char *end)
{
	*end = '}';
	json_end(&c->json, end + 1, true);
}

int chrome_json_init(struct chrome_json *c, const struct session *s, int fd)
{
	c->session = s;
	c->json.out = &c->buf;
	name_slots_init(&c->slots, s);
	return buf_init_behind(&c->buf, fd, BUFFER_BYTES, SINK_BEHIND_BYTES);
}

void chrome_json_done(struct chrome_json *c)
{
	buf_done(&c->buf);
	name_slots_done(&c->slots);
}
