/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder.h"

#include <ebtrace/recorder.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../fork_mark.h"
#include "../lock.h"
#include "../pages.h"
#include "../signals.h"
#include "../trace_stream.h"
#include "backtrace.h"
#include "mappings.h"
#include "modules.h"
#include "trace_file.h"

/*
 * What is buffered is lost if the program is killed, so each event is written at once; but of many
 * in a short time only some, as each packet has a head.
 */
#define FLUSH_US     1000 /* one packet in this time */
#define FLUSH_CREDIT 1000 /* packets */

enum recorder_state { EARLY, ON, OFF };

__thread struct ebt_thread ebt_thread;

static struct {
	int state;
	pid_t pid;
	double rate;
	struct ebt_memtrace_trace trace;
	struct ebt_trace_stream stream;
	struct ebt_trace_file file;
	uint64_t now_us;
	uint64_t flushed_us; /* each packet moves it on by FLUSH_US */
} recorder;

static __thread int64_t frames[EBT_BACKTRACE_MAX];

static bool is_on(void)
{
	return __atomic_load_n(&recorder.state, __ATOMIC_ACQUIRE) == ON && !ebt_forked();
}

/* Its sampler is due no more, for as long as a thread lives. */
static void switch_off(struct ebt_thread *t)
{
	t->sampler.left = INT64_MAX;
	t->sampler.rest = 0;
	t->ready = false;
}

/* With the signals blocked; ebt_unlock() restores the mask. */
static void lock_with(const sigset_t *mask)
{
	ebt_lock(mask);
	uint64_t now_us = ebt_trace_clock_us(CLOCK_REALTIME); /* the clock may be set back */
	recorder.now_us = now_us > recorder.now_us ? now_us : recorder.now_us;
}

static void lock(void)
{
	sigset_t mask;
	ebt_signals_block(&mask);
	lock_with(&mask);
}

static int write_packet(void *ctx, const void *packet, size_t bytes)
{
	return ebt_trace_file_write(ctx, packet, bytes);
}

static void flush(void)
{
	ebt_memtrace_write_flush(recorder.stream.codec, recorder.now_us);
}

static void write_event(struct ebt_memtrace_event *e)
{
	struct ebt_recorder_state *s = recorder.file.state;
	e->time_us = recorder.now_us;
	int err = ebt_trace_stream_write(&recorder.stream, e);
	s->events++;
	s->dropped += err != 0;
	if (err && !s->err)
		s->err = -err;
	uint64_t oldest = recorder.now_us - FLUSH_US * FLUSH_CREDIT;
	if (recorder.flushed_us < oldest)
		recorder.flushed_us = oldest;
	if (recorder.flushed_us >= recorder.now_us)
		return;
	recorder.flushed_us += FLUSH_US;
	flush();
}

/* The codes of the backtrace; the number of frames. With the lock. */
static size_t make_codes(const void *caller, size_t count)
{
	if (!ebt_modules_codes(frames, count))
		return count;
	/* The backtrace may have been made by what was known of the code that was there before. */
	ebt_backtrace_forget();
	count = ebt_backtrace(caller, frames);
	ebt_modules_codes(frames, count);
	return count;
}

static void write_alloc(const void *address, struct ebt_memtrace_event *e, size_t count)
{
	e->frame = frames;
	e->frames = (uint32_t)count;
	write_event(e);
	if (e->source == EBT_ALLOC_EXTERNAL)
		ebt_mappings_add((uintptr_t)address, e->obj);
	else
		ebt_objects_add(address, e->obj);
}

/* With the lock. */
static void write_collect(uint64_t obj)
{
	struct ebt_memtrace_event e = {.what = EBT_MEMTRACE_COLLECT, .obj = obj};
	if (is_on())
		write_event(&e);
}

/* An object at an address that is allocated again was released by a call that we did not see. */
static void collect_replaced(const void *address)
{
	uint64_t obj;
	if (ebt_objects_remove(address, &obj))
		write_collect(obj);
}

/* The samples of the allocation; 0 where nothing is recorded. */
static uint64_t draw(struct ebt_thread *t, uint64_t words)
{
	if (!is_on()) {
		if (__atomic_load_n(&recorder.state, __ATOMIC_RELAXED) == EARLY)
			t->sampler.left = 0;
		else
			switch_off(t);
		return 0;
	}
	if (t->inside) {
		t->sampler.left += (int64_t)words;
		return 0;
	}
	if (!t->ready) {
		ebt_sampler_init(&t->sampler, recorder.rate,
				 ebt_trace_clock_us(CLOCK_MONOTONIC) ^ (uintptr_t)t);
		t->ready = true;
		return ebt_sampler_count(&t->sampler, words);
	}
	return ebt_sampler_draw(&t->sampler);
}

void ebt_record_alloc(const void *address, uint64_t words, enum ebt_alloc_source source,
		      const void *caller)
{
	struct ebt_thread *t = &ebt_thread;
	int err = errno;
	if (!address) {
		t->sampler.left += (int64_t)words;
		return;
	}
	uint64_t samples = draw(t, words);
	if (!samples)
		return;
	/* No handler finds us inside, which it might leave by longjmp(). */
	sigset_t mask;
	ebt_signals_block(&mask);
	t->inside = true;
	size_t count = ebt_backtrace(caller, frames);
	lock_with(&mask);
	struct ebt_memtrace_event e = {
		.what = EBT_MEMTRACE_ALLOC,
		.source = source,
		.obj = EBT_MEMTRACE_NEW_OBJ,
		.words = (int64_t)words,
		.samples = (int64_t)samples,
	};
	collect_replaced(address);
	if (is_on())
		write_alloc(address, &e, make_codes(caller, count));
	t->inside = false;
	ebt_unlock();
	errno = err;
}

void ebt_record_free(const void *address)
{
	uint64_t obj;
	if (!ebt_objects_has(address) || !is_on())
		return;
	int err = errno;
	lock();
	if (ebt_objects_remove(address, &obj))
		write_collect(obj);
	ebt_unlock();
	errno = err;
}

bool ebt_record_forget(const void *address, uint64_t *ret_obj)
{
	if (!ebt_objects_has(address) || !is_on())
		return false;
	int err = errno;
	lock();
	bool found = ebt_objects_remove(address, ret_obj);
	ebt_unlock();
	errno = err;
	return found;
}

void ebt_record_collect(uint64_t obj)
{
	int err = errno;
	lock();
	write_collect(obj);
	ebt_unlock();
	errno = err;
}

void ebt_record_remember(const void *address, uint64_t obj)
{
	int err = errno;
	lock();
	ebt_objects_add(address, obj);
	ebt_unlock();
	errno = err;
}

/* With the lock. */
static void collect_mappings(const void *address, size_t bytes)
{
	uint64_t obj;
	while (ebt_mappings_take((uintptr_t)address, bytes, &obj))
		write_collect(obj);
}

void ebt_record_unmap(const void *address, size_t bytes)
{
	if (!ebt_mappings_any() || !is_on())
		return;
	int err = errno;
	lock();
	collect_mappings(address, bytes);
	ebt_unlock();
	errno = err;
}

bool ebt_record_move_begin(void)
{
	if (!ebt_mappings_any() || !is_on())
		return false;
	int err = errno;
	lock();
	errno = err;
	return true;
}

void ebt_record_move_end(const void *address, size_t bytes, bool moved)
{
	int err = errno;
	if (moved)
		collect_mappings(address, bytes);
	ebt_unlock();
	errno = err;
}

/* Reads "PID:RATE:DIR". NULL: not for this process. */
static const char *read_environment(double *ret_rate)
{
	const char *v = secure_getenv(EBT_RECORDER_VARIABLE);
	char *end;
	if (!v || strtoul(v, &end, 10) != (unsigned long)getpid() || *end != ':')
		return NULL;
	*ret_rate = strtod(end + 1, &end);
	return *end == ':' && *ret_rate > 0 ? end + 1 : NULL;
}

/* 0 or -errno. */
static int begin(const char *dir, bool own_malloc)
{
	int err = ebt_trace_file_make(&recorder.file, dir);
	if (err)
		return err;
	recorder.pid = getpid();
	recorder.file.state->own_malloc = own_malloc;
	void *memory = ebt_pages_get(ebt_trace_stream_bytes(EBT_BACKTRACE_MAX));
	if (own_malloc || !memory)
		return -ENOMEM;
	recorder.trace = (struct ebt_memtrace_trace){
		.write = write_packet,
		.locations = ebt_modules_locations,
		.ctx = &recorder.file,
	};
	err = ebt_trace_begin(&recorder.trace, recorder.rate, "");
	if (!err)
		err = ebt_objects_init();
	if (err)
		return err;
	recorder.now_us = recorder.trace.start_us;
	ebt_trace_stream_init(&recorder.stream, memory, &recorder.trace, 0, recorder.now_us);
	return 0;
}

void ebt_recorder_start(bool own_malloc)
{
	const char *dir = read_environment(&recorder.rate);
	int state = OFF;
	ebt_fork_mark_init();
	if (dir && !begin(dir, own_malloc))
		state = ON;
	/* What was set up before is visible to every thread that sees the state. */
	__atomic_store_n(&recorder.state, state, __ATOMIC_RELEASE);
}

void ebt_recorder_end(void)
{
	if (!is_on() || getpid() != recorder.pid)
		return;
	lock();
	flush();
	ebt_trace_file_end(&recorder.file);
	__atomic_store_n(&recorder.state, OFF, __ATOMIC_RELAXED);
	ebt_unlock();
}
