/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/process.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/*
 * Estimates of bytes from samples. Each word of an allocation is sampled with the same chance,
 * independently of all others, so the number of samples of N words is binomial: N is estimated as
 * samples / rate, with an interval that holds the truth in 95 % of all cases. At a rate of 1 both
 * are exact. Up to MEM_EXACT_SAMPLES samples the interval is exact (Clopper and Pearson's argument,
 * for a known rate and an unknown N), also of 0 samples; above it is the score interval (Wilson).
 *
 * Objects are estimated by the same samples: each sample of an object of N words represents 1 /
 * rate words and so 1 / (N rate) objects. The object has N rate samples on average, so the sum over
 * all samples is without bias, whatever the sizes; a share is samples / N, which can be added up
 * before the rate is known.
 *
 * Samples that are taken together are no more certain than one: the interval is that of fewer
 * samples at a lower rate.
 *
 * Where the rate is not known there is an estimate if samples have weights, but no interval: its
 * ends are NAN.
 *
 * Where not all was recorded, what was allocated is at least the lower end: the other one is
 * INFINITY. What is alive may be more or less than estimated: its interval is not known.
 *
 * A sum over processes that were sampled at different rates keeps the samples of each rate apart;
 * its interval combines theirs by the squares of their distances from the estimates.
 */

#define Z    1.959963984540054 /* of a normal distribution: 95 % lie within */
#define TAIL 0.025	       /* on each side */

/* The probability of at most `samples` samples of n words. */
static double at_most(uint64_t samples, double n, double rate)
{
	if (n <= (double)samples)
		return 1;
	/* The terms by their logarithms: the first may be too small for a double. */
	double odds = log(rate) - log1p(-rate), term = n * log1p(-rate), sum = exp(term);
	for (uint64_t k = 0; k < samples; k++) {
		term += log((n - (double)k) / (double)(k + 1)) + odds;
		sum += exp(term);
	}
	return sum < 1 ? sum : 1;
}

/* The n above `from` at which the probability of at most `samples` samples falls to p. */
static double where_falls(uint64_t samples, double rate, double p, double from)
{
	double low = from, high = (from + 1) * 2;
	while (at_most(samples, high, rate) > p && high < 1e300) {
		low = high;
		high *= 2;
	}
	for (int i = 0; i < 60 && high - low > 1e-9 * high; i++) {
		double middle = (low + high) / 2;
		*(at_most(samples, middle, rate) > p ? &low : &high) = middle;
	}
	return (low + high) / 2;
}

struct mem_amount mem_words(uint64_t samples, double rate)
{
	double s = (double)samples, rest = 1 - rate;
	struct mem_amount a = {s / rate, s, s};
	if (rest <= 0)
		return a;
	if (samples <= MEM_EXACT_SAMPLES) {
		a.high = where_falls(samples, rate, TAIL, s);
		a.low = samples ? where_falls(samples - 1, rate, 1 - TAIL, s - 1) : 0;
		/* The interval is of whole words, and each sample is one. */
		a.low = a.low > s ? a.low : s;
		return a;
	}
	/* The n at a distance of Z standard deviations from the samples: (s - n rate)^2 = Z^2 n
	 * rate rest. */
	double c = Z * Z * rest, width = sqrt(c * (4 * s + c));
	a.low = (2 * s + c - width) / (2 * rate);
	a.low = a.low > s ? a.low : s;
	a.high = (2 * s + c + width) / (2 * rate);
	return a;
}

struct mem_amount mem_scale_amount(const struct mem_scale *scale, uint64_t samples)
{
	double unit = scale->word_bytes, words = (double)samples * mem_scale_words(scale);
	double rate = scale->each > 1 ? scale->rate / scale->each : scale->rate;
	if (!(rate > 0) || scale->doubt == MEM_ANY)
		return (struct mem_amount){words * unit, NAN, NAN};
	struct mem_amount a = {words, words, words};
	if (!scale->weighted && rate == scale->rate) {
		a = mem_words(samples, rate);
	} else if (rate < 1) {
		/* The interval of the number of samples that represents `words` at this rate. */
		struct mem_amount around =
			mem_words((uint64_t)llround(fmin(words * rate, 0x1p62)), rate);
		a.low = fmin(around.low, words);
		a.high = fmax(around.high, words);
	}
	if (scale->doubt == MEM_AT_LEAST)
		a.high = INFINITY;
	return (struct mem_amount){a.bytes * unit, a.low * unit, a.high * unit};
}

static void add_rest(struct mem_sum *s, const struct mem_part *p)
{
	struct mem_amount a = mem_scale_amount(&p->scale, p->samples);
	s->bytes += a.bytes;
	s->below += (a.bytes - a.low) * (a.bytes - a.low);
	s->above += (a.high - a.bytes) * (a.high - a.bytes);
}

static uint64_t add_samples(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void mem_sum_add(struct mem_sum *s, const struct mem_scale *scale, uint64_t samples)
{
	struct mem_part added = {*scale, samples};
	for (uint32_t i = 0; i < s->parts; i++) {
		struct mem_part *p = &s->part[i];
		if (!mem_scale_same(&p->scale, scale))
			continue;
		p->samples = add_samples(p->samples, samples);
		return;
	}
	if (s->parts < MEM_SUM_PARTS)
		s->part[s->parts++] = added;
	else
		add_rest(s, &added);
}

void mem_sum_merge(struct mem_sum *s, const struct mem_sum *other)
{
	for (uint32_t i = 0; i < other->parts; i++)
		mem_sum_add(s, &other->part[i].scale, other->part[i].samples);
	s->bytes += other->bytes;
	s->below += other->below;
	s->above += other->above;
}

double mem_sum_bytes(const struct mem_sum *s)
{
	double bytes = s->bytes;
	for (uint32_t i = 0; i < s->parts; i++)
		bytes += mem_scale_bytes(&s->part[i].scale, s->part[i].samples);
	return bytes;
}

struct mem_amount mem_sum_amount(const struct mem_sum *s)
{
	struct mem_sum all = *s;
	if (s->parts == 1 && !s->above)
		return mem_scale_amount(&s->part[0].scale, s->part[0].samples);
	for (uint32_t i = 0; i < s->parts; i++)
		add_rest(&all, &s->part[i]);
	double low = all.bytes - sqrt(all.below);
	return (struct mem_amount){all.bytes, low < 0 ? 0 : low, all.bytes + sqrt(all.above)};
}

void mem_process_init(struct mem_process *p, const struct session *s, uint32_t process,
		      double given_rate)
{
	*p = (struct mem_process){
		.process = process,
		.processes = 1,
		.given_rate = given_rate,
		.pid = processes_pid(&s->processes, process),
	};
	mem_process_know(p, s);
}

void mem_process_done(struct mem_process *p, const struct session *s)
{
	for (uint32_t i = 1; i <= p->rows; i++)
		stacks_drop(s->stacks, p->row[i].stack);
	strings_drop(s->strings, p->executable);
	strings_drop(s->strings, p->context);
	for (uint32_t i = 1; i <= p->rows && p->fate; i++)
		free(p->fate[i].lifetime);
	mem_objects_done(&p->objects);
	free(p->row_of);
	free(p->row);
	free(p->fate);
}

static void keep_string(const struct session *s, uint32_t *kept, uint32_t id)
{
	strings_hold(s->strings, id);
	strings_drop(s->strings, *kept);
	*kept = id;
}

struct mem_scale mem_process_scale(const struct process *p, const struct strings *strings,
				   double given_rate)
{
	const struct alloc_trace *t = &p->alloc_trace;
	bool has_weights = alloc_trace_has_weights(t, strings);
	/* The rate is a number of a file's. */
	bool known = t->known && !has_weights && t->sample_rate >= 1e-18 && t->sample_rate <= 1;
	struct mem_scale s = {.rate = known ? t->sample_rate : given_rate, .word_bytes = 8};
	s.weighted = has_weights || s.rate == 0 || alloc_trace_has_words(t, strings);
	s.by_object = has_weights || alloc_trace_periodic(t, strings);
	if (t->known && t->word_bits >= 8)
		s.word_bytes = t->word_bits / 8;
	return s;
}

void mem_process_know(struct mem_process *p, const struct session *s)
{
	const struct process *about = processes_at(&s->processes, p->process);
	const struct alloc_trace *t = &about->alloc_trace;
	memcpy(p->comm, about->comm, sizeof(p->comm));
	p->scale = mem_process_scale(about, s->strings, p->given_rate);
	p->has_weights = alloc_trace_has_weights(t, s->strings);
	p->periodic = alloc_trace_periodic(t, s->strings);
	p->samples_header = alloc_trace_samples_header(t, s->strings);
	p->has_generations |= p->periodic || p->samples_header;
	p->is_of_memtrace = t->known && !p->scale.weighted;
	if (p->is_partial)
		mem_process_doubt(p);
	if (!t->known)
		return;
	const char *parameters = strings_text(s->strings, t->parameters);
	if (parameters && alloc_trace_lacks(parameters, &p->lack))
		mem_process_doubt(p);
	keep_string(s, &p->executable, t->executable);
	keep_string(s, &p->context, t->context);
}

void mem_process_doubt(struct mem_process *p)
{
	p->is_partial = true;
	p->scale.doubt = MEM_AT_LEAST;
}

void mem_process_settle(struct mem_process *p)
{
	double each = p->small_samples > 0 ? p->small_squares / p->small_samples : 1;
	if (p->scale.weighted)
		each *= p->scale.rate;
	if (each > 1)
		p->scale.each = each;
}

static bool grow_rows(struct mem_process *p)
{
	uint32_t rows = p->cap, fates = p->cap;
	if (!array_reserve(p->row, rows, p->rows + 1) ||
	    (p->has_fates && !array_reserve(p->fate, fates, p->rows + 1)))
		return false;
	p->cap = rows;
	return true;
}

uint32_t mem_process_add_row(struct mem_process *p, const struct session *s,
			     const struct mem_filter *f, uint32_t stack)
{
	if (!array_room(p->row_of, p->stacks, stack))
		return 0;
	if (p->rows + 1 >= p->cap && !grow_rows(p))
		return 0;
	p->row[++p->rows] = (struct mem_row){
		.stack = stack,
		.selected = !f || mem_filter_stack(f, s, stack),
	};
	if (p->fate)
		p->fate[p->rows] = (struct mem_fate){0};
	stacks_hold(s->stacks, stack);
	return p->row_of[stack] = p->rows;
}

int mem_fate_collect(struct mem_fate *f, const struct mem_object *o, uint64_t lifetime_ns)
{
	if (!f->lifetime)
		f->lifetime = calloc(MEM_LIFETIME_TIMES, sizeof(*f->lifetime));
	if (!f->lifetime)
		return -ENOMEM;
	uint64_t *n = &f->lifetime[mem_lifetime_bucket(lifetime_ns)];
	if (__builtin_add_overflow(*n, o->samples, n))
		*n = UINT64_MAX;
	mem_count_add(&f->collected, mem_object_count(o));
	return 0;
}

/* To the size that is in use; if there is no memory for that it stays. */
static void *shrink(void *array, size_t bytes)
{
	void *smaller = realloc(array, bytes);
	return smaller ? smaller : array;
}

void mem_process_end(struct mem_process *p)
{
	mem_objects_done(&p->objects);
	free(p->row_of);
	p->row_of = NULL;
	p->stacks = 0;
	if (!p->rows)
		return;
	p->cap = p->rows + 1;
	p->row = shrink(p->row, p->cap * sizeof(*p->row));
	if (p->fate)
		p->fate = shrink(p->fate, p->cap * sizeof(*p->fate));
}

static void add_fate(struct mem_fate *sum, struct mem_fate *f)
{
	mem_count_add(&sum->live, f->live);
	mem_count_add(&sum->promoted, f->promoted);
	mem_count_add(&sum->collected, f->collected);
	if (f->oldest_ns && (!sum->oldest_ns || f->oldest_ns < sum->oldest_ns))
		sum->oldest_ns = f->oldest_ns;
	if (!sum->lifetime) {
		sum->lifetime = f->lifetime;
		f->lifetime = NULL;
	}
	for (unsigned i = 0; f->lifetime && i < MEM_LIFETIME_TIMES; i++)
		if (__builtin_add_overflow(sum->lifetime[i], f->lifetime[i], &sum->lifetime[i]))
			sum->lifetime[i] = UINT64_MAX;
}

/* What the processes of a sum have in common. */
static void add_name(struct mem_process *sum, const struct mem_process *p, const struct session *s)
{
	sum->pid = 0;
	if (sum->executable != p->executable || strcmp(sum->comm, p->comm) != 0) {
		keep_string(s, &sum->executable, 0);
		snprintf(sum->comm, sizeof(sum->comm), "several programs");
	}
	if (sum->context != p->context)
		keep_string(s, &sum->context, 0);
}

/* After mem_process_end(): a process of many rows is found by its stacks again. */
static bool index_rows(struct mem_process *sum)
{
	for (uint32_t i = 1; i <= sum->rows; i++) {
		uint32_t stack = sum->row[i].stack;
		if (!array_room(sum->row_of, sum->stacks, stack))
			return false;
		sum->row_of[stack] = i;
	}
	return true;
}

int mem_process_add(struct mem_process *sum, struct mem_process *p, const struct session *s)
{
	if (!sum->row_of && !index_rows(sum))
		return -ENOMEM;
	for (uint32_t i = 1; i <= p->rows; i++) {
		struct mem_row *row = &p->row[i];
		if (!mem_row_alloc(row).objects)
			continue;
		uint32_t to = mem_process_row(sum, s, NULL, row->stack);
		if (!to)
			return -ENOMEM;
		for (unsigned k = 0; k < MEM_SOURCES; k++)
			mem_count_add(&sum->row[to].alloc[k], row->alloc[k]);
		if (p->fate)
			add_fate(&sum->fate[to], &p->fate[i]);
	}
	add_name(sum, p, s);
	sum->small_samples += p->small_samples;
	sum->small_squares += p->small_squares;
	sum->processes += p->processes;
	sum->has_generations |= p->has_generations;
	return 0;
}
