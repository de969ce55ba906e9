/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/show.h"

#include "base/json.h"
#include "report/budget.h"
#include "report/stack.h"

static void put_of(struct json *j, const struct span_sums *s, uint32_t kind, uint32_t detail)
{
	char scratch[SPAN_DETAIL_BYTES];
	const char *of = span_detail(s, kind, detail, scratch);
	json_key_str(j, "part", span_part_key(kind));
	if (of)
		json_key_str(j, "of", of);
	else
		json_key_null(j, "of");
	if (kind == SPAN_BLOCKED && detail != SPAN_DETAIL_OTHER)
		json_key_str(j, "reason", blame_part_key(span_block_part(detail)));
	else
		json_key_null(j, "reason");
}

static void put_parts(struct json *j, const struct span_sums *s, const struct span_parts *p)
{
	json_key_open(j, "parts", '[');
	for (uint32_t i = 0; i < p->count; i++) {
		json_open(j, '{');
		put_of(j, s, p->at[i].kind, p->at[i].detail);
		json_key_u64(j, "ns", p->at[i].ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static int put_slow_share(struct json *j, const struct span_sums *s, const struct span_name *n)
{
	struct span_slow slow;
	int err = span_name_slow(n, &slow);
	span_parts_sort(&slow.parts);
	json_key_open(j, "slowest_hundredth", '{');
	json_key_u64(j, "count", slow.count);
	json_key_u64(j, "from_ns", slow.from_ns);
	json_key_u64(j, "total_ns", slow.ns);
	put_parts(j, s, &slow.parts);
	json_close(j, '}');
	span_parts_done(&slow.parts);
	return err;
}

static const char *const domain_keys[] = {
#define X(CONSTANT, key, text) [CONSTANT] = #key "_ns",
	SPAN_DOMAIN_LIST(X)
#undef X
};

static void put_while(struct json *j, const struct spans_view *v, const struct span_name *n)
{
	if (!v->fibers) {
		json_key_null(j, "suspended_while");
		return;
	}
	json_key_open(j, "suspended_while", '{');
	for (unsigned i = 0; i < SPAN_DOMAIN_STATES; i++)
		json_key_u64(j, domain_keys[i], n->suspended_while[i]);
	json_key_u64(j, "unknown_ns", n->suspended_while[SPAN_DOMAIN_STATES]);
	json_close(j, '}');
}

static int put_name(struct json *j, const struct spans_view *v, struct span_name *n)
{
	static const char *const cuts[] = {
#define X(CONSTANT, key) [CONSTANT] = #key,
		SPAN_CUTS_LIST(X)
#undef X
	};
	const struct span_result *r = v->result;
	const struct histogram *h = &n->lengths;
	double seconds = (double)(r->end_ns - r->begin_ns) / 1e9;
	json_open(j, '{');
	json_key_str(j, "name", span_name_text(r->sums, n));
	json_key_bool(j, "is_phase", n->is_phase);
	json_key_u64(j, "count", h->count);
	json_key_double(j, "per_second", seconds > 0 ? (double)h->count / seconds : 0);
	json_key_u64(j, "total_ns", n->total_ns);
	json_key_known(j, "min_ns", h->count, h->min);
	json_key_known(j, "p50_ns", h->count, histogram_at(h, 500000));
	json_key_known(j, "p90_ns", h->count, histogram_at(h, 900000));
	json_key_known(j, "p99_ns", h->count, histogram_at(h, 990000));
	json_key_known(j, "max_ns", h->count, h->max);
	for (unsigned i = 0; i < SPAN_CUTS; i++)
		json_key_u64(j, cuts[i], n->cut[i]);
	span_parts_sort(&n->parts);
	put_parts(j, r->sums, &n->parts);
	int err = put_slow_share(j, r->sums, n);
	put_while(j, v, n);
	json_close(j, '}');
	return err;
}

static void put_comm(struct json *j, const struct span_sums *s, uint32_t text)
{
	const char *comm = strings_text(s->texts, text);
	json_key_str(j, "comm", comm ? comm : "");
}

static void put_segment(struct json *j, const struct span_sums *s, const struct span_segment *g)
{
	json_open(j, '{');
	put_of(j, s, g->kind, g->detail);
	json_key_u64(j, "begin_ns", g->begin_ns);
	json_key_u64(j, "ns", g->end_ns - g->begin_ns);
	json_key_known(j, "tid", g->tid, g->tid);
	put_comm(j, s, g->comm);
	json_close(j, '}');
}

static void put_slow(struct json *j, const struct spans_view *v, struct span *span)
{
	const struct span_sums *s = v->result->sums;
	json_open(j, '{');
	json_key_str(j, "name", span_name_text(s, span->name));
	json_key_u64(j, "pid", span->pid);
	put_comm(j, s, span->comm);
	json_key_known(j, "tid", span->tid, span->tid);
	json_key_known(j, "domain", span->domain != EBT_NO_DOMAIN, span->domain);
	if (span->fiber)
		json_key_i64(j, "fiber", span->fiber);
	else
		json_key_null(j, "fiber");
	json_key_u64(j, "begin_ns", span->begin_ns);
	json_key_u64(j, "ns", span->ns);
	span_parts_sort(&span->parts);
	put_parts(j, s, &span->parts);
	json_key_open(j, "in_order", '[');
	for (uint32_t i = 0; i < span->segments.count; i++)
		put_segment(j, s, &span->segments.at[i]);
	json_close(j, ']');
	json_key_u64(j, "in_order_more", span->segments.more);
	report_stack_json_block(j, v->session, span->block_stack, span->block_ns);
	json_close(j, '}');
}

static void put_domains(struct json *j, const struct span_result *r)
{
	json_key_open(j, "domains", '[');
	for (uint32_t i = 0; i < r->domains; i++) {
		json_open(j, '{');
		json_key_u64(j, "pid", r->domain[i].pid);
		json_key_u64(j, "domain", r->domain[i].domain);
		for (unsigned k = 0; k < SPAN_DOMAIN_STATES; k++)
			json_key_u64(j, domain_keys[k], r->domain[i].ns[k]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_hung(struct json *j, const struct spans_view *v)
{
	json_key_open(j, "hung", '[');
	for (uint32_t i = 0; i < v->hung->count; i++) {
		const struct span_hung *s = &v->hung->at[i];
		json_open(j, '{');
		json_key_str(j, "name", span_name_text(v->result->sums, s->name));
		json_key_u64(j, "pid", s->pid);
		json_key_known(j, "tid", s->tid, s->tid);
		json_key_known(j, "domain", s->domain != EBT_NO_DOMAIN, s->domain);
		if (s->fiber)
			json_key_i64(j, "fiber", s->fiber);
		else
			json_key_null(j, "fiber");
		json_key_u64(j, "begin_ns", s->begin_ns);
		json_key_u64(j, "ns", s->ns);
		json_key_known(j, "p99_ns", s->p99_ns, s->p99_ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int spans_json(struct buf *b, const struct spans_view *v)
{
	const struct span_result *r = v->result;
	struct json j = {.out = b};
	int err = 0;
	json_open(&j, '{');
	json_key_str(&j, "kind", "spans");
	json_key_u64(&j, "schema", 1);
	json_key_u64(&j, "begin_ns", r->begin_ns);
	json_key_u64(&j, "wall_ns", r->end_ns - r->begin_ns);
	json_key_bool(&j, "threads_known", r->knows_threads);
	json_key_u64(&j, "not_followed", r->without_room);
	budget_json(&j, v->session);
	json_key_open(&j, "spans", '[');
	for (uint32_t i = 0; i < r->names && !err; i++)
		err = put_name(&j, v, r->name[i]);
	json_close(&j, ']');
	put_domains(&j, r);
	if (v->hung) {
		json_key_u64(&j, "at_ns", v->at.ns);
		put_hung(&j, v);
	}
	json_key_open(&j, "slowest", '[');
	for (uint32_t i = 0; i < r->slow_count; i++)
		put_slow(&j, v, &r->slowest[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	buf_puts(b, "\n");
	return err;
}
