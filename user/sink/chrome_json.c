/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/chrome_json.h"

#include "core/names.h"
#include "core/sink.h"
#include "sink/json_args.h"
#include "sink/rows.h"
#include <errno.h>
#include <stdlib.h>

#define BUFFER_BYTES (128 * 1024)

#define HEADS	   1024
#define HEAD_BYTES 112

/* An event up to the number of its row, of one kind, id and process. Copied whole. */
struct chrome_head {
	uint32_t process, id;
	uint16_t kind; /* 0: free */
	uint16_t len;
	char text[HEAD_BYTES];
};

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

/* Who saw it, where that is known. */
void chrome_json_who(struct chrome_json *c, const struct ebt_event *ev)
{
	if (ev->tid)
		json_key_u64(&c->json, "tid", ev->tid);
	if (ev->cpu != EBT_NO_CPU)
		json_key_u64(&c->json, "cpu", ev->cpu);
	if (ev->flags & EBT_F_LATE)
		json_key_bool(&c->json, "late", true);
}

void chrome_json_instant(struct chrome_json *c, const struct ebt_event *ev)
{
	char scratch[NAMES_MADE_BYTES];
	chrome_json_open(c, 'i', names_label(c->session, ev, scratch), rows_category(ev->kind));
	chrome_json_row(c, processes_pid(&c->session->processes, ev->process),
			rows_tid(ev->domain, ev->tid));
	chrome_json_us(c, "ts", ev->ts);
	json_key_str(&c->json, "s", ev->kind == EBT_PROCESS ? "p" : "t");
	chrome_json_open_args(c);
	json_args(&c->json, c->session, ev);
	chrome_json_who(c, ev);
	chrome_json_close_args(c);
}

static void put_head(struct chrome_json *c, uint16_t kind, uint32_t id, uint32_t process)
{
	struct ebt_event ev = {.kind = kind, .id = id, .process = process};
	char scratch[NAMES_MADE_BYTES];
	chrome_json_open(c,
			 kind == EBT_BEGIN ? 'B'
			 : kind == EBT_END ? 'E'
					   : 'C',
			 names_label(c->session, &ev, scratch), rows_category(kind));
	json_key_u64(&c->json, "pid", rows_pid(processes_pid(&c->session->processes, process)));
}

/*
 * Nearly all events are of a few kinds, with a few ids: what they begin with is written once, by
 * the code that writes every other event, and copied from then on. Names of these kinds never change.
 * NULL: it is too long to be kept, or there is no memory.
 */
static const struct chrome_head *head_of(struct chrome_json *c, uint16_t kind, uint32_t id,
					 uint32_t process)
{
	struct chrome_head *h = &c->heads[(id * 4 + kind + process * 31) % HEADS];
	if (h->kind == kind && h->id == id && h->process == process)
		return h;
	struct chrome_json part = {.session = c->session, .started = true};
	if (buf_init(&part.buf, -1, BUF_ROOM_MAX))
		return NULL;
	part.json.out = &part.buf;
	put_head(&part, kind, id, process);
	bool fits = !part.buf.err && part.buf.len <= sizeof(h->text);
	if (fits) {
		*h = (struct chrome_head){
			.process = process, .id = id, .kind = kind, .len = (uint16_t)part.buf.len};
		memcpy(h->text, part.buf.data, part.buf.len);
	}
	buf_done(&part.buf);
	return fits ? h : NULL;
}

char *chrome_json_common(struct chrome_json *c, const struct ebt_event *ev, uint32_t tid,
			 uint64_t ts)
{
	const struct chrome_head *h = head_of(c, ev->kind, ev->id, ev->process);
	if (!h)
		put_head(c, ev->kind, ev->id, ev->process);
	char *p = buf_room(&c->buf);
	if (h)
		p = json_format_part(p, h->text, sizeof(h->text), h->len);
	p = JSON_FORMAT_KEY_U64(p, "tid", tid);
	return format_us(JSON_FORMAT_KEY(p, "ts"), ts);
}

void chrome_json_close(struct chrome_json *c, char *end)
{
	*end = '}';
	json_end(&c->json, end + 1, true);
}

void chrome_json_forget(struct chrome_json *c, uint32_t process)
{
	for (unsigned i = 0; i < HEADS; i++)
		if (c->heads[i].process == process)
			c->heads[i].kind = 0;
}

int chrome_json_init(struct chrome_json *c, const struct session *s, int fd)
{
	c->session = s;
	c->json.out = &c->buf;
	c->heads = calloc(HEADS, sizeof(*c->heads));
	if (!c->heads)
		return -ENOMEM;
	return buf_init_behind(&c->buf, fd, BUFFER_BYTES, SINK_BEHIND_BYTES);
}

void chrome_json_done(struct chrome_json *c)
{
	buf_done(&c->buf);
	free(c->heads);
}
