// SPDX-License-Identifier: BSD-2-Clause
/* The probes of sampled allocations, <ebtrace/alloc.h>. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <ebtrace/memtrace.h>
#include <ebtrace/probes.h>

#include "alloc_trace.h"
#include "gate.h"
#include "marker.h"
#include "module_positions.h"
#include "record.h"
#include "settings.h"
#include "shared/frame_pointers.h"
#include "shared/sampler.h"

#define WORD_BYTES 8

/* The semaphores of the two providers' markers. In a section with contents, as the gate. */
struct listeners {
	uint16_t ebtrace, otel;
};
__attribute__((section(".probes"), aligned(4), used,
	       visibility("hidden"))) struct listeners ebt_object_listeners = {0};
#define SEMAPHORE      "ebt_object_listeners"
#define SEMAPHORE_OTEL "ebt_object_listeners+2"

__thread struct ebt_sampler ebt_object_sampler;
static __thread bool inside; /* the slow path of this thread's sampler */

static double listener_rate = EBT_MEMTRACE_RATE;
static uint64_t seed, samplers;
static int load_error;	 /* why there is no trace */
static uint64_t dropped; /* inside the slow path of another */
static const struct ebt_object_stacks *stacks;

EBT_ONE_SITE static void marker_alloc(uint64_t obj, uint64_t words, uint64_t samples,
				      enum ebt_alloc_source source, struct ebt_tail tail)
{
	EBT_FIRE_OF("ebtrace", "alloc", SEMAPHORE,
		    EBT_ARG_VALUE " " EBT_ARG_BYTES " " EBT_ARG_NAME " " EBT_ARG_ID
				  " " EBT_TAIL_ARGS,
		    source, (const char *)(uintptr_t)samples, obj, words, tail);
}
EBT_ONE_SITE static void marker_promote(uint64_t obj, struct ebt_tail tail)
{
	EBT_FIRE_OF("ebtrace", "promote", SEMAPHORE, EBT_ARG_VALUE " " EBT_TAIL_ARGS, 0, NULL, obj,
		    0, tail);
}
EBT_ONE_SITE static void marker_collect(uint64_t obj, struct ebt_tail tail)
{
	EBT_FIRE_OF("ebtrace", "collect", SEMAPHORE, EBT_ARG_VALUE " " EBT_TAIL_ARGS, 0, NULL, obj,
		    0, tail);
}
/* OpenTelemetry's contract: address, bytes, and how many bytes the sample stands for. */
EBT_ONE_SITE static void marker_otel_alloc(uintptr_t address, uint64_t bytes, uint64_t weight)
{
	EBT_FIRE_OF("otel_memory", "alloc", SEMAPHORE_OTEL,
		    EBT_ARG_VALUE " " EBT_ARG_BYTES " " EBT_ARG_NAME, 0,
		    (const char *)(uintptr_t)weight, address, bytes, (struct ebt_tail){0});
}
EBT_ONE_SITE static void marker_otel_free(uintptr_t address)
{
	EBT_FIRE_OF("otel_memory", "free", SEMAPHORE_OTEL, EBT_ARG_VALUE, 0, NULL, address, 0,
		    (struct ebt_tail){0});
}

/* 0: nobody wants samples. */
static double wanted_rate(void)
{
	double rate = ebt_alloc_trace_rate();
	if (rate > 0)
		return rate;
	return ebt_listened(&ebt_object_listeners.ebtrace) ||
			       ebt_listened(&ebt_object_listeners.otel)
		       ? listener_rate
		       : 0;
}

static void use_rate(double rate)
{
	uint64_t number = __atomic_fetch_add(&samplers, 1, __ATOMIC_RELAXED);
	ebt_sampler_init(&ebt_object_sampler, rate, seed + number);
}

static void fire_alloc(uint64_t obj, uint64_t words, uint64_t samples, enum ebt_alloc_source source,
		       const void *address)
{
	if (ebt_listened(&ebt_object_listeners.ebtrace))
		marker_alloc(obj, words, samples, source, ebt_tail_without_ring());
	if (ebt_listened(&ebt_object_listeners.otel))
		marker_otel_alloc(
			address ? (uintptr_t)address : obj, words * WORD_BYTES,
			(uint64_t)((double)samples / ebt_object_sampler.rate * WORD_BYTES + 0.5));
}

/* 0: the event is dropped. `fp` is the frame whose callers are the backtrace. */
static uint64_t trace_alloc(uint64_t words, uint64_t samples, enum ebt_alloc_source source,
			    const void *fp)
{
	struct ebt_alloc_writer *w = ebt_alloc_enter();
	if (!w)
		return 0;
	const struct ebt_object_stacks *s = __atomic_load_n(&stacks, __ATOMIC_ACQUIRE);
	int64_t *codes = ebt_alloc_frames(w);
	size_t n = s && s->backtrace ? s->backtrace(s->ctx, codes, EBT_ALLOC_FRAMES)
				     : ebt_frame_pointers(fp, codes, EBT_ALLOC_FRAMES);
	n = n < EBT_ALLOC_FRAMES ? n : EBT_ALLOC_FRAMES;
	if (!s || !s->locations)
		ebt_module_codes(codes, n);
	uint64_t obj = ebt_alloc_write(w, words, samples, source, n);
	ebt_alloc_leave(w);
	return obj;
}

__attribute__((noinline, cold)) uint64_t
ebt_object_sample(size_t words, enum ebt_alloc_source source, const void *address)
{
	struct ebt_sampler *s = &ebt_object_sampler;
	uint64_t samples = 0, obj = 0;
	if (inside) {
		__atomic_add_fetch(&dropped, 1, __ATOMIC_RELAXED);
		return 0;
	}
	inside = true;
	ebt_compiler_barrier();
	double rate = wanted_rate();
	if (rate == s->rate)
		samples = ebt_sampler_draw(s);
	else {
		use_rate(rate);
		samples = ebt_sampler_count(s, words);
	}
	if (samples) {
		obj = ebt_alloc_tracing()
			      ? trace_alloc(words, samples, source, __builtin_frame_address(0))
			      : ebt_alloc_number();
		if (obj)
			fire_alloc(obj, words, samples, source, address);
	}
	ebt_compiler_barrier();
	inside = false;
	return obj;
}

static void trace_change(enum ebt_memtrace_what what, uint64_t obj)
{
	struct ebt_alloc_writer *w = ebt_alloc_enter();
	if (!w)
		return;
	ebt_alloc_write_change(w, what, obj);
	ebt_alloc_leave(w);
}

void ebt_emit_promote(uint64_t obj)
{
	trace_change(EBT_MEMTRACE_PROMOTE, obj);
	if (ebt_listened(&ebt_object_listeners.ebtrace))
		marker_promote(obj, ebt_tail_without_ring());
}

void ebt_emit_collect(uint64_t obj, const void *address)
{
	trace_change(EBT_MEMTRACE_COLLECT, obj);
	if (ebt_listened(&ebt_object_listeners.ebtrace))
		marker_collect(obj, ebt_tail_without_ring());
	if (ebt_listened(&ebt_object_listeners.otel))
		marker_otel_free(address ? (uintptr_t)address : obj);
}

void ebt_object_stacks(const struct ebt_object_stacks *new_stacks)
{
	__atomic_store_n(&stacks, new_stacks, __ATOMIC_RELEASE);
}

static size_t find_locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	const struct ebt_object_stacks *s = __atomic_load_n(&stacks, __ATOMIC_ACQUIRE);
	if (s && s->locations)
		return s->locations(s->ctx, code, ret);
	return ebt_module_location(ctx, code, ret);
}

int ebt_object_trace_start(const char *path, double rate, const char *context)
{
	if (!(rate > 0 && rate <= 1))
		return -EINVAL;
	int err = ebt_alloc_trace_start(&(struct ebt_alloc_config){
		.path = path, .context = context, .rate = rate, .locations = find_locations});
	if (!err) {
		use_rate(rate);
		load_error = 0;
	}
	return err;
}

int ebt_object_trace_stop(void)
{
	return ebt_alloc_tracing() || !load_error ? ebt_alloc_trace_stop() : load_error;
}

void ebt_object_trace_flush(void)
{
	ebt_alloc_trace_flush();
}

uint64_t ebt_object_lost(void)
{
	return ebt_alloc_trace_lost() + __atomic_load_n(&dropped, __ATOMIC_RELAXED);
}

void ebt_object_seed(uint64_t new_seed)
{
	seed = new_seed;
	samplers = 0;
}

static bool read_number(const char *text, double *ret)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || *end)
		return false;
	*ret = value;
	return true;
}

/* False: it is no rate, as a line on stderr says. */
static bool read_rate(bool for_trace)
{
	const char *text = ebt_setting("EBTRACE_MEMTRACE_RATE", NULL);
	double value;
	if (!text)
		return true;
	if (read_number(text, &value) && value > 0 && value <= 1) {
		listener_rate = value;
		return true;
	}
	ebt_setting_error("EBTRACE_MEMTRACE_RATE", text,
			  for_trace
				  ? "not a rate (like 1e-5, above 0 and at most 1); no trace is "
				    "written"
				  : "not a rate (like 1e-5, above 0 and at most 1); 1e-5 is used");
	return false;
}

static void read_seed(void)
{
	const char *text = ebt_setting("EBTRACE_MEMTRACE_SEED", NULL);
	const void *random = (const void *)getauxval(AT_RANDOM);
	double value;
	if (text && read_number(text, &value) && value >= 0 && value < 0x1p64) {
		seed = (uint64_t)value;
		return;
	}
	if (text)
		ebt_setting_error("EBTRACE_MEMTRACE_SEED", text,
				  "not a number from 0 on; the samples are not repeatable");
	if (random)
		memcpy(&seed, random, sizeof(seed));
}

static int start_loaded(const char *path)
{
	return ebt_object_trace_start(path, listener_rate, NULL);
}

/* Behind the constructor of process.c, and before those of the program. */
__attribute__((constructor(102))) static void library_loaded(void)
{
	const char *name = "EBTRACE_MEMTRACE";
	bool for_trace = ebt_setting(name, NULL);
	read_seed();
	if (read_rate(for_trace))
		load_error = ebt_setting_start(name, start_loaded);
	else if (for_trace) {
		load_error = -EINVAL;
		unsetenv(name);
	}
}
