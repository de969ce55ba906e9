/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A random trace of several domains, written by our writer, and the list of what is in it. Names
 * and positions are functions of a code, so that a reader's can be checked without a table.
 */
#ifndef TESTS_MEMTRACE_MODEL_H
#define TESTS_MEMTRACE_MODEL_H

#include <ebtrace/memtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_DOMAINS 3
#define MODEL_DEPTH   400
#define MODEL_CODES   600
#define MODEL_NAMES   40 /* more than a table of names holds */
#define MODEL_START   1700000000123456ull

struct model_event {
	struct ebt_memtrace_event e;
	uint32_t depth;
	int64_t stack[MODEL_DEPTH];
};

struct model {
	struct model_event *event;
	size_t events;
	uint8_t *trace;
	size_t bytes;
	size_t packet[4096]; /* where each begins */
	size_t packets;
	uint64_t seed;
	uint32_t domains;
	char name[MODEL_NAMES][16];
	struct ebt_memtrace_location location[3];
};

static inline uint32_t model_random(struct model *m, uint32_t below)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((m->seed >> 33) % below);
}

/* Codes that a hash of few bits does not keep apart, of any sign. */
static inline int64_t model_code(uint32_t i)
{
	int64_t code = (int64_t)(i + 1) * 0x10000001;
	return i % 3 ? code : -code;
}

static int model_store(void *ctx, const void *packet, size_t bytes)
{
	struct model *m = ctx;
	m->trace = realloc(m->trace, m->bytes + bytes);
	if (!m->trace || m->packets == 4096)
		abort();
	m->packet[m->packets++] = m->bytes;
	memcpy(m->trace + m->bytes, packet, bytes);
	m->bytes += bytes;
	return 0;
}

/* 0 to 2 positions, with numbers over the limits of the format. */
static size_t model_locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	struct model *m = ctx;
	uint64_t i = (uint64_t)(code < 0 ? -code : code) / 0x10000001 - 1;
	for (uint64_t k = 0; k < i % 3; k++)
		m->location[k] = (struct ebt_memtrace_location){
			.file = m->name[(i + k) % MODEL_NAMES],
			.function = m->name[(i / 7 + 3 * k) % MODEL_NAMES],
			.line = i % 50 ? (uint32_t)i * 3 : UINT32_MAX,
			.first_char = (uint16_t)(i % 40 ? i % 90 : 300),
			.last_char = (uint16_t)(i % 30 ? 2 * (i % 90) : 2000),
		};
	*ret = m->location;
	return i % 3;
}

/* A stack that shares a random part with the last one of its domain, and recurses. */
static void model_alloc(struct model *m, struct model_event *v, const struct model_event *last,
			uint32_t max_depth)
{
	static const int64_t words[] = {0,   1,	    3,	   16,	      17,	 252,
					253, 65535, 65536, 1ll << 31, 1ll << 40, -1};
	uint32_t depth = 1 + model_random(m, max_depth);
	uint32_t common = last->depth ? model_random(m, last->depth + 1) : 0;
	v->e.common = common < depth ? common : depth;
	memcpy(v->stack, last->stack, v->e.common * sizeof(v->stack[0]));
	uint32_t code = model_random(m, MODEL_CODES);
	for (uint32_t i = (uint32_t)v->e.common; i < depth; i++) {
		code = model_random(m, 4) ? (code + 1) % MODEL_CODES : model_random(m, MODEL_CODES);
		v->stack[i] = model_code(code);
	}
	v->depth = depth;
	v->e.what = EBT_MEMTRACE_ALLOC;
	v->e.words = model_random(m, 2) ? 1 + model_random(m, 16) : words[model_random(m, 12)];
	v->e.samples = model_random(m, 4) ? 1 : words[model_random(m, 12)];
	v->e.source = (uint8_t)(model_random(m, 4) ? 0 : model_random(m, 3));
	v->e.frame = v->stack + v->e.common;
	v->e.frames = depth - (uint32_t)v->e.common;
	v->e.obj = EBT_MEMTRACE_NEW_OBJ;
}

static void model_events(struct model *m, struct ebt_memtrace_writer *const *w, uint32_t max_depth)
{
	static struct model_event none;
	const struct model_event *last[MODEL_DOMAINS] = {&none, &none, &none};
	const struct model_event *allocs[MODEL_DOMAINS] = {0};
	uint64_t us = MODEL_START;
	for (size_t i = 0; i < m->events; i++) {
		struct model_event *v = &m->event[i];
		uint32_t d = model_random(m, m->domains);
		us += model_random(m, 300) ? model_random(m, 3) : 31000000;
		*v = (struct model_event){.e = {.time_us = us, .domain = (uint16_t)(d * d)}};
		uint32_t kind = allocs[d] ? model_random(m, 4) : 0;
		if (kind < 2) {
			model_alloc(m, v, last[d], max_depth);
			ebt_memtrace_write(w[d], &v->e);
			last[d] = allocs[d] = v;
			continue;
		}
		/* An object of another domain may be collected, not promoted. */
		uint32_t of = kind == 3 ? model_random(m, m->domains) : d;
		v->e.what = kind == 3 ? EBT_MEMTRACE_COLLECT : EBT_MEMTRACE_PROMOTE;
		v->e.obj = (allocs[of] ? allocs[of] : allocs[d])->e.obj;
		ebt_memtrace_write(w[d], &v->e);
	}
	for (uint32_t d = 0; d < m->domains; d++)
		ebt_memtrace_write_flush(w[d], us);
}

/* Up to 3 domains: 0, 1 and 4. The caller frees it with model_done(). */
static inline struct model *model_new(uint64_t seed, size_t events, uint32_t max_depth,
				      uint32_t domains)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ebt_memtrace_writer *w[MODEL_DOMAINS];
	struct ebt_memtrace_trace t = {model_store, model_locations, m, 0, 0, 0};
	m->seed = seed;
	m->domains = domains;
	m->events = events;
	m->event = calloc(events, sizeof(*m->event));
	for (int i = 0; i < MODEL_NAMES; i++)
		snprintf(m->name[i], sizeof(m->name[i]), "name%d", i);
	ebt_memtrace_write_info(&t, &(struct ebt_memtrace_info){
					    .sample_rate = 1e-3,
					    .word_bits = 64,
					    .pid = 4242,
					    .start_us = MODEL_START,
					    .executable = "prog",
					    .host = "host",
					    .runtime_params = "v=0",
					    .context = "a test",
				    });
	for (uint32_t d = 0; d < m->domains; d++)
		w[d] = ebt_memtrace_writer_init(calloc(1, ebt_memtrace_writer_bytes()), &t,
						(uint16_t)(d * d), MODEL_START);
	model_events(m, w, max_depth);
	for (uint32_t d = 0; d < m->domains; d++)
		free(w[d]);
	return m;
}

static inline void model_done(struct model *m)
{
	free(m->event);
	free(m->trace);
	free(m);
}

#endif
