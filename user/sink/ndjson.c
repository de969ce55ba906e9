/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/ndjson.h"

#include "base/json.h"
#include "core/names.h"
#include <errno.h>
#include <stdlib.h>

#define NDJSON_BUFFER_BYTES (128 * 1024)
#define NDJSON_SCHEMA	    1

struct ndjson {
	struct sink base;
	const struct session *session;
	struct buf buf;
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
	const struct session_process *p = session_first_process(s);
	struct json *j = &n->json;
	n->has_header = true;
	open_line(n);
	json_key_str(j, "kind", "header");
	json_key_u64(j, "schema", NDJSON_SCHEMA);
	json_key_str(j, "source", s->source);
	json_key_u64(j, "pid", p ? p->pid : 0);
	json_key_str(j, "clock", s->clock);
	if (p && *p->producer)
		json_key_str(j, "producer", p->producer);
	if (p && *p->runtime)
		json_key_str(j, "runtime", p->runtime);
	if (p && *p->comm)
		json_key_str(j, "comm", p->comm);
	json_key_u64(j, "start_ns", s->start_ns ? s->start_ns : s->totals.first_ns);
	close_line(n);
}

static void put_id_and_name(struct ndjson *n, const struct ebt_event *ev, const char *family)
{
	struct json *j = &n->json;
	bool is_phase = ev->kind == EBT_BEGIN || ev->kind == EBT_END;
	uint32_t id = is_phase ? session_raw_phase(n->session, ev->pid, ev->id)
			       : ev->id & ~EBT_UNKNOWN_ID;
	json_key_u64(j, "id", id);
	const char *name = names_event(n->session, ev);
	if (name) {
		json_key_str(j, "name", name);
		return;
	}
	/* A name made of the producer's number, so that `name` is always there. */
	json_key(j, "name");
	buf_put(&n->buf, "\"", 1);
	buf_puts(&n->buf, family);
	buf_put(&n->buf, "_", 1);
	buf_put_u64(&n->buf, id);
	buf_put(&n->buf, "\"", 1);
	j->comma = true;
}

static void put_alloc_sizes(struct ndjson *n, const struct ebt_event *ev)
{
	size_t bytes = 0;
	const char *data = session_blob(n->session, ev, &bytes);
	json_key(&n->json, "values");
	json_open(&n->json, '[');
	for (size_t at = 0; data && at + 8 <= bytes; at += 8) {
		uint64_t v;
		memcpy(&v, data + at, 8);
		json_u64(&n->json, v);
	}
	json_close(&n->json, ']');
}

static void put_custom(struct ndjson *n, const struct ebt_event *ev)
{
	size_t bytes = 0;
	const void *data = session_blob(n->session, ev, &bytes);
	put_id_and_name(n, ev, "user");
	json_key(&n->json, "data");
	json_hex(&n->json, data, data ? bytes : 0);
	if (ev->flags & EBT_F_CUT) {
		json_key(&n->json, "cut");
		json_bool(&n->json, true);
	}
}

static void put_lost(struct ndjson *n, const struct ebt_event *ev)
{
	struct json *j = &n->json;
	if (ev->arg[0] != EBT_LOST_UNCOUNTED)
		json_key_u64(j, "events", ev->arg[0]);
	if (ev->arg[1] || ev->arg[0] == EBT_LOST_UNCOUNTED)
		json_key_u64(j, "words", ev->arg[1]);
	json_key_u64(j, "since", EBT_LOST_SINCE(ev));
	if (ev->flags & EBT_F_HISTORY) {
		json_key(j, "history");
		json_bool(j, true);
	}
}

static void put_body(struct ndjson *n, const struct ebt_event *ev)
{
	struct json *j = &n->json;
	switch (ev->kind) {
	case EBT_BEGIN:
	case EBT_END:
		put_id_and_name(n, ev, "phase");
		break;
	case EBT_COUNTER:
		put_id_and_name(n, ev, "counter");
		json_key_u64(j, "value", ev->arg[0]);
		break;
	case EBT_LIFECYCLE:
		put_id_and_name(n, ev, "lifecycle");
		json_key_i64(j, "value", ev->sarg[0]);
		break;
	case EBT_ALLOC_SIZES:
		put_alloc_sizes(n, ev);
		break;
	case EBT_INT:
		put_id_and_name(n, ev, "user");
		json_key_i64(j, "value", ev->sarg[0]);
		break;
	case EBT_UNIT:
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
		put_id_and_name(n, ev, "user");
		break;
	case EBT_CUSTOM:
		put_custom(n, ev);
		break;
	case EBT_LOST:
		put_lost(n, ev);
		break;
	case EBT_DAMAGE:
		json_key_u64(j, "offset", ev->arg[0]);
		json_key_str(j, "what", "words skipped");
		json_key_u64(j, "words", ev->arg[1]);
		break;
	case EBT_PROCESS:
		json_key_str(j, "change", names_process_change(ev->id));
		if (ev->id == EBT_PROCESS_FORK)
			json_key_u64(j, "child", ev->arg[0]);
		break;
	default:
		break;
	}
}

static int ndjson_event(struct sink *k, const struct ebt_event *ev)
{
	struct ndjson *n = (struct ndjson *)k;
	struct json *j = &n->json;
	if (!n->has_header)
		put_header(n);
	open_line(n);
	json_key_u64(j, "ts", ev->ts);
	json_key_str(j, "kind", names_kind(ev->kind));
	json_key_i64(j, "domain", ev->domain == EBT_NO_DOMAIN ? -1 : ev->domain);
	put_body(n, ev);
	if (ev->pid)
		json_key_u64(j, "pid", ev->pid);
	if (ev->tid)
		json_key_u64(j, "tid", ev->tid);
	if (ev->cpu != EBT_NO_CPU)
		json_key_u64(j, "cpu", ev->cpu);
	if (ev->pos != EBT_NO_POS && ev->kind != EBT_LOST)
		json_key_u64(j, "pos", ev->pos);
	if (ev->flags & EBT_F_LATE) {
		json_key(j, "late");
		json_bool(j, true);
	}
	close_line(n);
	return n->buf.err;
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
	const struct session_totals *t = &n->session->totals;
	struct json *j = &n->json;
	if (!n->has_header)
		put_header(n);
	open_line(n);
	json_key_str(j, "kind", "summary");
	json_key_u64(j, "events", t->events);
	json_key_u64(j, "lost_events", t->lost_events);
	json_key_u64(j, "lost_words", t->lost_words);
	json_key_u64(j, "history_events", t->history_events);
	json_key_u64(j, "history_words", t->history_words);
	json_key_u64(j, "late", t->late);
	json_key_u64(j, "damaged", t->damaged);
	close_line(n);
	return buf_finish(&n->buf);
}

static void ndjson_free(struct sink *k)
{
	struct ndjson *n = (struct ndjson *)k;
	buf_done(&n->buf);
	free(n);
}

static const struct sink_ops ndjson_ops = {
	.event = ndjson_event,
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
	int err = buf_init_behind(&n->buf, fd, NDJSON_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		free(n);
		return err;
	}
	n->base.ops = &ndjson_ops;
	n->session = s;
	n->json.out = &n->buf;
	*ret = &n->base;
	return 0;
}
