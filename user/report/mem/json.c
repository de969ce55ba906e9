/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/json.h"

#include <math.h>
#include <stdio.h>

#define MEM_SCHEMA 1

void mem_json_begin(struct json *j, struct buf *b, const char *report)
{
	*j = (struct json){.out = b};
	json_open(j, '{');
	json_key_str(j, "kind", "mem");
	json_key_u64(j, "schema", MEM_SCHEMA);
	json_key_str(j, "report", report);
}

void mem_json_end(struct json *j)
{
	json_close(j, '}');
	buf_puts(j->out, "\n");
}

static void put_amount(struct json *j, const char *key, const struct mem_amount *a)
{
	json_key_double(j, key, a->bytes);
	json_key_double(j, "low", a->low);
	json_key_double(j, "high", a->high);
}

void mem_json_amount(struct json *j, const struct mem_amount *a)
{
	put_amount(j, "bytes", a);
}

void mem_json_value(struct json *j, const struct mem_amount *a)
{
	put_amount(j, "value", a);
}

static void put_text(struct json *j, const char *key, const char *text)
{
	if (text)
		json_key_str(j, key, text);
	else
		json_key_null(j, key);
}

void mem_json_name(struct json *j, const char *shown, const char *symbol, const char *file)
{
	json_key_str(j, "function", shown);
	json_key_str(j, "symbol", symbol);
	put_text(j, "file", file);
}

void mem_json_measure(struct json *j, const struct mem_measure *m)
{
	struct mem_amount a = mem_sum_amount(&m->sum);
	mem_json_amount(j, &a);
	json_key_u64(j, "samples", m->count.samples);
	json_key_u64(j, "objects", m->count.objects);
	json_key_double(j, "objects_estimate", m->objects);
}

void mem_json_key_measure(struct json *j, const char *key, const struct mem_measure *m)
{
	json_key_open(j, key, '{');
	mem_json_measure(j, m);
	json_close(j, '}');
}

static void put_programs(struct json *j, const struct mem_view *v)
{
	const struct strings *strings = v->session->strings;
	json_key_open(j, "programs", '[');
	for (const struct mem_process *p = v->model->first; p; p = p->next) {
		const char *name = strings_text(strings, p->executable);
		json_open(j, '{');
		json_key_known(j, "pid", p->pid, p->pid);
		json_key_u64(j, "processes", p->processes);
		json_key_str(j, "name", name && *name ? name : p->comm);
		put_text(j, "context", strings_text(strings, p->context));
		json_key_exact(j, "rate", p->scale.rate > 0 ? p->scale.rate : NAN);
		json_key_double(j, "word_bytes", p->scale.word_bytes);
		json_key_bool(j, "periodic", p->periodic);
		json_key_known(j, "words_between_samples", p->periodic,
			       (uint64_t)llround(mem_scale_between(&p->scale)));
		json_key_bool(j, "complete", !p->is_partial);
		json_key_open(j, "not_recorded", '{');
		json_key_u64(j, "programs", p->lack.programs);
		json_key_bool(j, "ended_early", p->lack.cut);
		json_key_u64(j, "events", p->lack.events);
		json_close(j, '}');
		json_close(j, '}');
	}
	json_close(j, ']');
}

void mem_json_run(struct json *j, const struct mem_view *v)
{
	struct totals t = session_run_totals(v->session);
	put_programs(j, v);
	if (v->at.known)
		json_key_u64(j, "at_ns", v->at.ns);
	json_key_u64(j, "elapsed_ns", mem_model_elapsed_ns(v->model));
	json_key_known(j, "lost_events", !t.lost_uncounted, t.lost_events);
	json_key_u64(j, "damaged", t.damaged);
	json_key_u64(j, "lost_allocs", t.lost_allocs);
}

void mem_json_function(struct json *j, const struct mem_view *v, const struct mem_function *f)
{
	const struct strings *strings = v->session->strings;
	char scratch[FRAMES_BARE_BYTES];
	const char *bare =
		f->frame ? frames_bare_text(frames_get(v->session->frames, f->frame), scratch)
			 : "(no backtrace)";
	const char *symbol = f->name ? strings_text(strings, f->name) : bare;
	const char *shown = f->name ? strings_text(strings, display_name(v->names, f->name)) : bare;
	mem_json_name(j, shown, symbol, strings_text(strings, f->file));
}

void mem_json_positions(struct json *j, const struct mem_function *f)
{
	json_key_open(j, "positions", '[');
	for (uint32_t i = 0; i < f->positions; i++) {
		const struct mem_position *p = &f->position[i];
		json_open(j, '{');
		json_key_known(j, "line", p->has_line, p->line);
		json_key_known(j, "start_char", p->has_chars, p->start_char);
		json_key_known(j, "end_char", p->has_chars, p->end_char);
		mem_json_measure(j, &p->measure);
		json_close(j, '}');
	}
	json_close(j, ']');
}

uint32_t mem_json_sites(const struct mem_view *v, const struct mem_sites *t)
{
	uint32_t n = 0;
	while (n < t->functions && (!v->opt.top || n < v->opt.top) &&
	       t->function[t->by_self[n]].self.count.objects)
		n++;
	return n;
}
