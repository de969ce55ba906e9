/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/plural.h"

struct report_text mem_interval_text(const struct mem_amount *a)
{
	struct report_text t = {"exact"};
	if (isnan(a->low))
		return (struct report_text){"not known"};
	if (isinf(a->high))
		snprintf(t.text, sizeof(t.text), "at least %.20s", report_bytes_text(a->low).text);
	else if (a->low < a->high)
		snprintf(t.text, sizeof(t.text), "%.20s to %.20s", report_bytes_text(a->low).text,
			 report_bytes_text(a->high).text);
	return t;
}

struct report_text mem_certainty_text(const struct mem_measure *m)
{
	struct mem_amount a = mem_sum_amount(&m->sum);
	struct report_text t = mem_interval_text(&a);
	if (isnan(a.low))
		snprintf(t.text, sizeof(t.text), "%" PRIu64 " sample%s", m->taken,
			 plural(m->taken));
	return t;
}

void mem_put_few(struct buf *b, const struct mem_measure *m)
{
	struct mem_amount a = mem_sum_amount(&m->sum);
	bool is_estimate = isnan(a.low) || a.low < (isinf(a.high) ? a.bytes : a.high);
	if (m->taken < MEM_FEW_SAMPLES && is_estimate)
		report_print(b, " [only %" PRIu64 " sample%s]", m->taken, plural(m->taken));
}

static void put_process(struct buf *b, const struct session *s, const struct mem_process *p)
{
	const char *executable = strings_text(s->strings, p->executable);
	const char *name = executable && *executable ? executable : p->comm;
	buf_put_plain(b, *name ? name : "program without a name");
	if (p->pid)
		report_print(b, " [%" PRIu32 "]", p->pid);
}

static const char *unit_of(double word_bytes)
{
	return word_bytes == 1 ? "byte" : "word";
}

/* At rate 1 each sample is a word of an object, or of C a byte. */
static bool samples_all(const struct mem_model *m)
{
	const struct mem_process *p = m->first;
	while (p && p->scale.rate >= 1 && p->scale.word_bytes == m->first->scale.word_bytes)
		p = p->next;
	return m->first && !p;
}

const char *mem_sample_name(const struct mem_view *v)
{
	const struct mem_model *m = v->model;
	return m->has_words || samples_all(m) ? unit_of(m->first->scale.word_bytes) : "sample";
}

/* "1 word in 100 sampled" */
static void put_rate(struct buf *b, const struct mem_process *p)
{
	const char *unit = unit_of(p->scale.word_bytes);
	if (!(p->scale.rate > 0) && p->has_weights)
		buf_puts(b, "sampled with weights at a rate that is not known");
	else if (!(p->scale.rate > 0))
		buf_puts(b, "sample rate not known: a sample counts as a word");
	else if (p->scale.rate >= 1)
		report_print(b, "each %s sampled", unit);
	else
		report_print(b, "1 %s in %.6g sampled", unit, mem_scale_between(&p->scale));
}

/* "132 objects with 140 samples", "132 objects with 1320 bytes" at rate 1, "1 sampled object that
 * stands for 8192 words" */
static void put_counts(struct buf *b, const struct mem_view *v)
{
	const struct mem_model *m = v->model;
	const struct mem_count *c = &m->alloc;
	const char *objects = plural_of(c->objects, "object", "objects");
	const char *verb = plural_of(c->objects, "s", ""), *many = plural(c->samples);
	const char *sample = mem_sample_name(v);
	if (m->has_words)
		report_print(b, "%" PRIu64 " sampled %s that ", c->objects, objects);
	else
		report_print(b, "%" PRIu64 " %s%s", c->objects, objects,
			     m->opt.filter ? " that " : " ");
	if (m->opt.filter)
		report_print(b, "pass%s the filter %s", *verb ? "es" : "",
			     m->has_words ? "and " : "");
	if (m->has_words)
		report_print(b, "stand%s for %" PRIu64 " %s%s", verb, c->samples, sample, many);
	else
		report_print(b, "with %" PRIu64 " %s%s", c->samples, sample, many);
}

/* The rate of an empty recording, and how to get samples. */
static void put_empty(struct buf *b, const struct session *s)
{
	const struct process *p = NULL;
	while ((p = processes_next(&s->processes, p)) &&
	       !(p->alloc_trace.known && p->alloc_trace.sample_rate > 0))
		;
	if (!p) {
		buf_puts(b, "No allocations in this recording; memtrace traces and captures of "
			    "them have some.\n");
		return;
	}
	const struct traits_language *periodic = alloc_trace_periodic(&p->alloc_trace, s->strings);
	if (periodic) {
		report_print(b, "No allocation of this recording was sampled: %s.\n",
			     periodic->no_samples);
		return;
	}
	struct mem_scale scale = mem_process_scale(p, s->strings, 0);
	report_print(b,
		     "No allocation of this recording was sampled, as 1 %s in %.6g is. mem record "
		     "with a higher --rate samples more, with --children also those of child "
		     "processes.\n",
		     unit_of(scale.word_bytes), mem_scale_between(&scale));
}

static bool same_sampling(const struct mem_scale *a, const struct mem_scale *b)
{
	struct mem_scale other = *b;
	other.doubt = a->doubt;
	return mem_scale_same(a, &other);
}

/* What traces lack by their own heads. */
static void put_lacks(struct buf *b, const struct mem_view *v)
{
	for (const struct mem_process *p = v->model->first; p; p = p->next) {
		const struct alloc_trace_lack *l = &p->lack;
		if (!l->programs && !l->cut && !l->events)
			continue;
		buf_puts(b, "Not recorded of ");
		put_process(b, v->session, p);
		const char *before = ": ";
		if (l->programs) {
			report_print(b, "%sprograms that it became by exec(): %u", before,
				     l->programs);
			before = "; ";
		}
		if (l->cut) {
			report_print(b, "%swhat it did behind the end of its trace", before);
			before = "; ";
		}
		if (l->events)
			report_print(b, "%sevents: %llu", before, l->events);
		buf_puts(b, "\n");
	}
}

bool mem_put_head(struct buf *b, const struct mem_view *v)
{
	const struct mem_model *m = v->model;
	const struct mem_process *first = m->first;
	uint32_t processes = 0;
	bool same_rate = true, no_rate = false, selects = m->opt.filter;
	for (const struct mem_process *p = first; p; p = p->next) {
		processes += p->processes;
		same_rate &= same_sampling(&p->scale, &first->scale);
		no_rate |= !(p->scale.rate > 0);
	}
	if (first && selects && !m->alloc.objects) {
		buf_puts(b, "No allocation passes the filter.\n");
		report_put_loss(b, v->session);
		return false;
	}
	if (!first) {
		put_empty(b, v->session);
		report_put_loss(b, v->session);
		return false;
	}
	put_process(b, v->session, first);
	if (processes > 1)
		report_print(b, " and %" PRIu32 " more", processes - 1);
	buf_puts(b, ": ");
	put_counts(b, v);
	report_print(b, " in %s, ", report_ns_text((double)mem_model_elapsed_ns(m)).text);
	if (same_rate)
		put_rate(b, first);
	else
		buf_puts(b, "at different rates");
	buf_puts(b, "\n");
	if (no_rate)
		buf_puts(b, "Intervals are not known without the rate; --rate P sets it\n");
	if (m->is_periodic)
		report_print(b,
			     "Sampling is periodic, %s, of many such places\nat random: a "
			     "program that allocates with the same period is misjudged. Nothing is "
			     "known of what became of objects\n",
			     first->periodic->periodic);
	report_put_loss(b, v->session);
	put_lacks(b, v);
	if (m->unknown && !m->opt.filter)
		report_print(b,
			     "%" PRIu64
			     " promotions and collections are of objects whose allocation "
			     "was not seen\n",
			     m->unknown);
	return true;
}

uint32_t mem_sites_listed(const struct mem_sites *t, uint32_t most, uint32_t usual)
{
	double least = most ? 0 : MEM_SHARE_MIN * mem_sum_bytes(&t->all.sum);
	uint32_t limit = most ? most : usual, n = 0;
	for (; n < t->functions && (!limit || n < limit); n++) {
		const struct mem_function *f = &t->function[t->by_self[n]];
		if (!f->self.count.objects || mem_sum_bytes(&f->self.sum) <= least)
			break;
	}
	return n;
}
