/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/ndjson/ndjson.h"

#include "base/json.h"
#include "base/ptrarray.h"
#include "format/json_args.h"
#include "session/event_args.h"
#include "session/event_stack.h"
#include "session/names.h"
#include "session/ndjson_stacks.h"
#include "stream/loss.h"
#include "stream/name_slots.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NDJSON_SCHEMA 1
/* No line is longer, but for payloads that no ring can hold. */
#define NDJSON_LINE_BYTES (32 * 1024)
/* The words of a payload of up to this size always fit a line. */
#define NDJSON_WORDS_BYTES (NDJSON_LINE_BYTES / 2 / JSON_WORD_BYTES * 8)

enum value { NO_VALUE, UNSIGNED_VALUE, SIGNED_VALUE, WORDS_VALUE, ARGS_VALUE };

/*
 * The text that the lines of one kind and name share: between ts and the number of the domain, up
 * to the value, where there is one, or to the pid. Copied whole, in sizes that the compiler knows.
 */
struct common {
	uint8_t value; /* enum value */
	uint8_t middle_len,
		rest_len; /* rest_len 0: lines of this kind or name have no such parts */
	char middle[34], rest[80];
};

/* The keys of a kind's arguments, as a line has them. */
struct keys {
	bool has_pos; /* pos is none of them */
	uint8_t len[KINDS_ARGS];
	char key[KINDS_ARGS][24];
};

/* The numbers of a lane, as text. Copied whole. */
struct ndjson_lane {
	uint8_t domain_len, pid_len;
	char domain[14], pid[20];
};

struct ndjson {
	struct sink base;
	const struct session *session;
	struct buf buf;
	struct common common[NAME_SLOTS];
	struct keys keys[EBT_KINDS];
	struct name_slots slots;
	PTRARRAY(struct ndjson_lane) lanes; /* that have a domain */
	struct ndjson_stacks *stacks;
	struct buf_high time;
	struct json json;
	bool has_header;
};

static void open_line(struct ndjson *n)
{
	n->json.comma = false;
	json_open(&n->json, '{');
}

static void close_line(struct ndjson *n)
{
	json_close(&n->json, '}');
	buf_put(&n->buf, "\n", 1);
}

static void put_header(struct ndjson *n)
{
	const struct session *s = n->session;
	const struct process *p = processes_next(&s->processes, NULL);
	struct json *j = &n->json;
	char origins[ORIGIN_TEXT_BYTES];
	n->has_header = true;
	open_line(n);
	json_key_str(j, "kind", "header");
	json_key_u64(j, "schema", NDJSON_SCHEMA);
	json_key_str(j, "source", origin_text(s->origins, origins));
	json_key_u64(j, "pid", p ? p->pid : 0);
	json_key_str(j, "clock", timebase_name(s->timebase.clock));
	if (p && *p->producer)
		json_key_str(j, "producer", p->producer);
	if (p && *p->runtime)
		json_key_str(j, "runtime", p->runtime);
	if (p && *p->comm)
		json_key_str(j, "comm", p->comm);
	json_key_u64(j, "start_ns", s->start.known ? s->start.ns : s->totals.first_ns);
	close_line(n);
}

static void put_id_and_name(struct json *j, const struct session *s, const struct ebt_event *ev)
{
	char made[NAMES_MADE_BYTES];
	json_key_u64(j, "id", names_number(s, ev));
	json_key_str(j, "name", names_label(s, ev, made));
}

static void put_lost(struct ndjson *n, const struct ebt_event *ev)
{
	struct json *j = &n->json;
	if (ev->arg[0] != EBT_LOST_UNCOUNTED)
		json_key_u64(j, "events", ev->arg[0]);
	if (ev->arg[1] || (ev->arg[0] == EBT_LOST_UNCOUNTED && !loss_is_unwatched(ev)))
		json_key_u64(j, "words", ev->arg[1]);
	json_key_u64(j, "since", EBT_LOST_SINCE(ev));
	if (ev->flags & EBT_F_HISTORY) {
		json_key_bool(j, "history", true);
	}
}

static void put_damage(struct ndjson *n, const struct ebt_event *ev)
{
	struct json *j = &n->json;
	json_key_u64(j, "offset", ev->arg[0]);
	json_key_str(j, "what", ev->arg[1] ? "words skipped" : "header field corrected");
	json_key_u64(j, "words", ev->arg[1]);
	if (ev->seq)
		json_key_u64(j, "allocs", ev->seq);
}

static void put_body(struct ndjson *n, const struct ebt_event *ev)
{
	enum kinds_label label = kinds_get(ev->kind)->label;
	if (label == KINDS_LABEL_change)
		json_key_str(&n->json, "change", kinds_change_name(ev->id));
	else if (label != KINDS_LABEL_none)
		put_id_and_name(&n->json, n->session, ev);
	if (ev->kind == EBT_LOST)
		put_lost(n, ev);
	else if (ev->kind == EBT_DAMAGE)
		put_damage(n, ev);
	else
		json_args(&n->json, n->session, ev);
}

/*
 * Nearly all events are of a few kinds, with a few ids: what their lines have in common is written
 * once, by the code that writes every other line, and copied from then on. That is so for kinds
 * with a name and at most one number, or with nothing but an array of words, and for events that
 * lack the arguments of others of their kind.
 */
static bool has_common_parts(const struct kind *kind)
{
	const struct kinds_arg *a = kind->args;
	bool named = kind->label != KINDS_LABEL_none && kind->label != KINDS_LABEL_change;
	bool simple = !a->name || (!a[1].name && !a->optional && a->field == KINDS_FIELD_arg0 &&
				   (a->type == KINDS_TYPE_u64 || a->type == KINDS_TYPE_i64));
	bool words = kind->label == KINDS_LABEL_none && !a->name;
	return kinds_may_be_bare(kind) ||
	       (named && simple && kind->payload == KINDS_PAYLOAD_none) ||
	       (words && kind->payload == KINDS_PAYLOAD_words);
}

/* Whether all lines of a kind consist of fixed parts and arguments. */
static bool has_args_only(const struct kind *kind)
{
	return kind->label == KINDS_LABEL_none && kind->payload == KINDS_PAYLOAD_none &&
	       kind->family != KINDS_stream && kind->args->name;
}

static void make_keys(struct keys *k, const struct kind *kind)
{
	k->has_pos = true;
	for (unsigned i = 0; kind->args[i].name; i++) {
		const struct kinds_arg *a = &kind->args[i];
		k->has_pos &= a->field != KINDS_FIELD_pos;
		k->len[i] = (uint8_t)snprintf(k->key[i], sizeof(k->key[i]), ",\"%s\":", a->name);
	}
}

static void make_parts(struct ndjson *n, const struct ebt_event *ev, struct buf *text,
		       struct common *c)
{
	const struct kind *kind = kinds_get(ev->kind);
	const struct kinds_arg *a = kind->args;
	bool has_value = a->name && !kinds_may_be_bare(kind);
	struct json j = {.out = text, .comma = true};
	json_key_str(&j, "kind", kinds_name(ev->kind));
	json_key(&j, "domain");
	size_t middle = text->len;
	j.comma = true;
	bool args_only = has_args_only(kind);
	if (kind->label != KINDS_LABEL_none)
		put_id_and_name(&j, n->session, ev);
	if (has_value && !args_only)
		json_key(&j, a->name);
	if (kind->payload == KINDS_PAYLOAD_words)
		json_args_open_words(&j);
	size_t rest = text->len - middle;
	if (text->err || middle > sizeof(c->middle) || rest > sizeof(c->rest))
		return;
	memcpy(c->middle, text->data, middle);
	memcpy(c->rest, text->data + middle, rest);
	if (args_only)
		make_keys(&n->keys[ev->kind], kind);
	c->value = args_only				  ? ARGS_VALUE
		   : kind->payload == KINDS_PAYLOAD_words ? WORDS_VALUE
		   : !has_value				  ? NO_VALUE
		   : a->type == KINDS_TYPE_u64		  ? UNSIGNED_VALUE
							  : SIGNED_VALUE;
	c->middle_len = (uint8_t)middle;
	c->rest_len = (uint8_t)rest;
}

static const struct common *common_parts(struct ndjson *n, const struct ebt_event *ev)
{
	bool is_new;
	struct common *c = &n->common[name_slots_find(&n->slots, ev, &is_new)];
	struct buf text;
	if (!is_new)
		return c;
	*c = (struct common){0};
	const struct kind *kind = kinds_get(ev->kind);
	bool has_meaning = kind->args->name && event_args_may_mean(n->session, ev);
	if ((has_common_parts(kind) || has_args_only(kind)) && !has_meaning &&
	    !buf_init(&text, -1, BUF_ROOM_MAX)) {
		make_parts(n, ev, &text, c);
		buf_done(&text);
	}
	return c;
}

/* NULL: -ENOMEM. */
static const struct ndjson_lane *lane_of(struct ndjson *n, const struct ebt_event *ev)
{
	const struct processes *ps = &n->session->processes;
	uint32_t number = processes_lane(ps, ev->process, ev->domain);
	struct ndjson_lane *lane = ptrarray_get(&n->lanes, number);
	bool is_new;
	if (lane || !number)
		return lane;
	lane = ptrarray_make(&n->lanes, number, &is_new);
	if (!lane)
		return NULL;
	char text[48];
	lane->domain_len = (uint8_t)(buf_format_u64(text, ev->domain) - text);
	memcpy(lane->domain, text, lane->domain_len);
	char *end = JSON_FORMAT_KEY_U64(text, "pid", processes_pid(ps, ev->process));
	lane->pid_len = ev->process ? (uint8_t)(end - text) : 0;
	memcpy(lane->pid, text, lane->pid_len);
	return lane;
}

/* The words of a payload that fits a line, and the end of the array. */
static char *format_words(const struct ndjson *n, const struct ebt_event *ev, char *p)
{
	size_t bytes = 0;
	const void *data = session_blob(n->session, ev, &bytes);
	p = json_format_words(p, data, data ? bytes / 8 : 0);
	*p = ']';
	return p + 1;
}

static char *format_arg(char *p, const struct kinds_arg *a, uint64_t value)
{
	char scratch[KINDS_TEXT_BYTES];
	if (a->type == KINDS_TYPE_u64)
		return buf_format_u64(p, value);
	if (a->type == KINDS_TYPE_i64)
		return buf_format_i64(p, (int64_t)value);
	if (a->type == KINDS_TYPE_flag)
		return JSON_FORMAT_RAW(p, "true");
	const char *text = kinds_arg_text(a, value, scratch);
	*p++ = '"';
	p = json_format_raw(p, text, strlen(text));
	*p++ = '"';
	return p;
}

static char *format_args(const struct keys *k, const struct ebt_event *ev, char *p)
{
	const struct kinds_arg *a = kinds_get(ev->kind)->args;
	for (unsigned i = 0; a[i].name; i++) {
		uint64_t value = kinds_arg_value(ev, &a[i]);
		if (!value && a[i].optional)
			continue;
		p = json_format_part(p, k->key[i], sizeof(k->key[i]), k->len[i]);
		p = format_arg(p, &a[i], value);
	}
	return p;
}

/* The pid, tid and CPU of an event, and its position in the ring. */
static char *format_who(const struct ebt_event *ev, const struct ndjson_lane *lane, bool has_pos,
			char *p)
{
	p = json_format_part(p, lane->pid, sizeof(lane->pid), lane->pid_len);
	if (ev->tid)
		p = JSON_FORMAT_KEY_U64(p, "tid", ev->tid);
	if (ev->cpu != EBT_NO_CPU)
		p = JSON_FORMAT_KEY_U64(p, "cpu", ev->cpu);
	if (has_pos && ev->pos != EBT_NO_POS)
		p = JSON_FORMAT_KEY_U64(p, "pos", ev->pos);
	return p;
}

/* A line of arguments, which has a stack or none. */
static void put_args_line(struct ndjson *n, const struct ebt_event *ev, const struct common *c,
			  const struct ndjson_lane *lane)
{
	const struct keys *k = &n->keys[ev->kind];
	char *p = JSON_FORMAT_RAW(buf_room(&n->buf), "{\"ts\":");
	p = buf_format_near(p, ev->ts, &n->time);
	p = json_format_part(p, c->middle, sizeof(c->middle), c->middle_len);
	p = json_format_part(p, lane->domain, sizeof(lane->domain), lane->domain_len);
	p = format_args(k, ev, p);
	p = format_who(ev, lane, k->has_pos, p);
	if (ev->stack) {
		json_end(&n->json, JSON_FORMAT_RAW(p, ",\"stack\":"), false);
		int err = ndjson_stacks_put(n->stacks, &n->json, ev->stack);
		event_stack_json_left_out(n->session, ev->stack, &n->json);
		n->buf.err = n->buf.err ? n->buf.err : err;
		p = buf_room(&n->buf);
	}
	json_end(&n->json, JSON_FORMAT_RAW(p, "}\n"), false);
}

/* There is room for NDJSON_LINE_BYTES. */
static void put_common_line(struct ndjson *n, const struct ebt_event *ev, const struct common *c,
			    const struct ndjson_lane *lane)
{
	char *p = JSON_FORMAT_RAW(buf_room(&n->buf), "{\"ts\":");
	p = buf_format_near(p, ev->ts, &n->time);
	p = json_format_part(p, c->middle, sizeof(c->middle), c->middle_len);
	p = json_format_part(p, lane->domain, sizeof(lane->domain), lane->domain_len);
	p = json_format_part(p, c->rest, sizeof(c->rest), c->rest_len);
	if (c->value == UNSIGNED_VALUE)
		p = buf_format_u64(p, ev->arg[0]);
	else if (c->value == SIGNED_VALUE)
		p = buf_format_i64(p, ev->sarg[0]);
	else if (c->value == WORDS_VALUE)
		p = format_words(n, ev, p);
	p = format_who(ev, lane, true, p);
	json_end(&n->json, JSON_FORMAT_RAW(p, "}\n"), false);
}

static void put_line(struct ndjson *n, const struct ebt_event *ev)
{
	struct json *j = &n->json;
	open_line(n);
	json_key_u64(j, "ts", ev->ts);
	json_key_str(j, "kind", kinds_name(ev->kind));
	json_key_i64(j, "domain", ev->domain == EBT_NO_DOMAIN ? -1 : ev->domain);
	put_body(n, ev);
	if (ev->process)
		json_key_u64(j, "pid", processes_pid(&n->session->processes, ev->process));
	if (ev->tid)
		json_key_u64(j, "tid", ev->tid);
	if (ev->cpu != EBT_NO_CPU)
		json_key_u64(j, "cpu", ev->cpu);
	if (kinds_pos(ev) != EBT_NO_POS)
		json_key_u64(j, "pos", ev->pos);
	if (ev->stack) {
		json_key(j, "stack");
		int err = ndjson_stacks_put(n->stacks, j, ev->stack);
		event_stack_json_left_out(n->session, ev->stack, j);
		n->buf.err = n->buf.err ? n->buf.err : err;
	}
	if (ev->flags & EBT_F_LATE)
		json_key_bool(j, "late", true);
	close_line(n);
}

/* What is written holds whole lines, so that an interruption leaves no half of one. */
static void make_room(struct ndjson *n)
{
	if (n->buf.cap - n->buf.len < NDJSON_LINE_BYTES)
		buf_flush(&n->buf);
}

/* A line for each module that the event's stack is the first to have. */
static void put_modules(struct ndjson *n, const struct ebt_event *ev)
{
	const struct strings *strings = n->session->strings;
	for (const struct frame_module *m; (m = ndjson_stacks_module(n->stacks, ev->stack));) {
		make_room(n);
		open_line(n);
		json_key_str(&n->json, "kind", "module");
		json_key_str(&n->json, "path", strings_text(strings, m->path));
		if (m->build_id)
			json_key_str(&n->json, "build_id", strings_text(strings, m->build_id));
		close_line(n);
	}
}

static int one_event(struct ndjson *n, const struct ebt_event *ev)
{
	if (ev->stack)
		put_modules(n, ev);
	make_room(n);
	bool is_apart = ev->flags & EBT_F_PAYLOAD && (ev->arg[1] > NDJSON_WORDS_BYTES ||
						      kinds_has_arg_payload(kinds_get(ev->kind)));
	if (ev->domain == EBT_NO_DOMAIN || ev->flags & (EBT_F_LATE | EBT_F_CUT) || is_apart) {
		put_line(n, ev);
		return 0;
	}
	const struct common *c = common_parts(n, ev);
	const struct ndjson_lane *lane = lane_of(n, ev);
	if (!lane)
		return -ENOMEM;
	if (c->value == ARGS_VALUE)
		put_args_line(n, ev, c, lane);
	else if (c->rest_len && !ev->stack)
		put_common_line(n, ev, c, lane);
	else
		put_line(n, ev);
	return 0;
}

static int ndjson_events(struct sink *k, const struct ebt_event *ev, size_t count)
{
	struct ndjson *n = (struct ndjson *)k;
	int err = 0;
	if (!n->has_header)
		put_header(n);
	for (size_t i = 0; i < count && !err; i++)
		err = one_event(n, &ev[i]);
	return err ? err : n->buf.err;
}

static int ndjson_flush(struct sink *k)
{
	return buf_flush(&((struct ndjson *)k)->buf);
}

static bool ndjson_ready(struct sink *k)
{
	return buf_ready(&((struct ndjson *)k)->buf);
}

static int ndjson_end(struct sink *k)
{
	struct ndjson *n = (struct ndjson *)k;
	if (!n->has_header)
		put_header(n);
	open_line(n);
	json_key_str(&n->json, "kind", "summary");
	totals_put_json(&n->json, &n->session->totals, false);
	close_line(n);
	return buf_finish(&n->buf);
}

static void ndjson_free(struct sink *k)
{
	struct ndjson *n = (struct ndjson *)k;
	name_slots_done(&n->slots);
	ptrarray_free(&n->lanes);
	ndjson_stacks_free(n->stacks);
	buf_done(&n->buf);
	free(n);
}

static int ndjson_forget(struct sink *k, uint32_t process)
{
	struct ndjson *n = (struct ndjson *)k;
	const struct processes *ps = &n->session->processes;
	for (uint32_t l = processes_first_lane(ps, process); l; l = processes_next_lane(ps, l))
		free(ptrarray_remove(&n->lanes, l));
	return 0;
}

static const struct sink_ops ndjson_ops = {
	.forget = ndjson_forget,
	.events = ndjson_events,
	.flush = ndjson_flush,
	.ready = ndjson_ready,
	.end = ndjson_end,
	.free = ndjson_free,
};

int ndjson_new(const struct session *s, int fd, struct sink **ret)
{
	struct ndjson *n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	int err = ndjson_stacks_new(s, &n->stacks);
	if (!err)
		err = buf_init_behind(&n->buf, fd, SINK_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		ndjson_stacks_free(n->stacks);
		free(n);
		return err;
	}
	name_slots_init(&n->slots, s);
	n->base.ops = &ndjson_ops;
	n->base.out = &n->buf;
	n->session = s;
	n->json.out = &n->buf;
	*ret = &n->base;
	return 0;
}
