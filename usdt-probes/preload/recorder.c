/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder.h"

#include <ebtrace/loadable.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "../shared/confined.h"
#include "../shared/fork_mark.h"
#include "../shared/pages.h"
#include "../shared/trace_stream.h"
#include "backtrace.h"
#include "environment.h"
#include "filters.h"
#include "mappings.h"
#include "modules.h"
#include "own_stack.h"
#include "section.h"
#include "trace_file.h"

/*
 * What is buffered is lost if the program is killed, so each event is written at once; but of many
 * in a short time only some, as each packet has a head.
 */
#define FLUSH_US     1000 /* one packet in this time */
#define FLUSH_CREDIT 1000 /* packets */

/* For a process that confines itself: what it may write from then on, and its memory. */
#define CONFINED_TRACE_BYTES (8u << 20)
#define CONFINED_BYTES	     (8u << 20)

#define WORD_BYTES 8 /* of the rate that users know */

/* LOST: what is sampled is counted as missing alone. */
enum recorder_state { EARLY, ON, OFF, LOST };

__thread struct ebt_thread ebt_thread;

static struct {
	int state;
	pid_t pid;
	struct ebt_environment environment;
	double rate; /* of a byte */
	struct ebt_memtrace_trace trace;
	struct ebt_trace_stream stream;
	void *stream_memory;
	struct ebt_trace_file file;
	uint64_t now_us;
	uint64_t flushed_us; /* each packet moves it on by FLUSH_US */
} recorder;

static __thread int64_t frames[EBT_BACKTRACE_MAX];

struct allocation {
	const void *address;
	uint64_t words, samples;
	enum ebt_alloc_source source;
	const void *caller;
	const void *frame; /* that the call of `caller` made, or one inside it */
};

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

static void write_collect(uint64_t obj);

/* With the lock: what handlers have freed meanwhile, unless its address has another object by
 * now. */
static void collect_noted(void)
{
	const void *address;
	uint64_t obj, there;
	while (ebt_section_next(&address, &obj))
		if (ebt_objects_get(address, &there) && there == obj &&
		    ebt_objects_remove(address, &obj))
			write_collect(obj);
}

static void count_missing(int err)
{
	struct ebt_recorder_state *s = recorder.file.state;
	__atomic_add_fetch(&s->events, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&s->dropped, 1, __ATOMIC_RELAXED);
	s->err = s->err ? s->err : err;
}

static void lose(int err)
{
	__atomic_store_n(&recorder.state, LOST, __ATOMIC_RELAXED);
	count_missing(err);
}

/* A handler of a signal that interrupted the recorder is refused, or one has left it. */
static void refuse(void)
{
	if (ebt_section_is_broken())
		lose(EINTR);
	else
		count_missing(EINTR);
}

/* In the section. False: nothing is recorded any more. */
static bool lock_inside(void)
{
	if (!ebt_section_lock()) {
		lose(ETIMEDOUT);
		return false;
	}
	if (__atomic_load_n(&recorder.state, __ATOMIC_RELAXED) != ON) {
		ebt_section_unlock();
		return false;
	}
	uint64_t now_us = ebt_trace_clock_us(CLOCK_REALTIME); /* the clock may be set back */
	recorder.now_us = now_us > recorder.now_us ? now_us : recorder.now_us;
	return true;
}

/* False: the thread is in the section, or nothing is recorded any more. */
static bool lock(void)
{
	if (!ebt_section_enter())
		return false;
	if (lock_inside())
		return true;
	ebt_section_leave();
	return false;
}

/* What a handler frees between the last look and the end of the section is the next look's. */
static void unlock(void)
{
	do {
		collect_noted();
		ebt_section_unlock();
		ebt_section_leave();
	} while (ebt_section_any() && lock());
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
static size_t make_codes(const struct allocation *a, size_t count)
{
	if (!ebt_modules_codes(frames, count))
		return count;
	/* The backtrace may have been made by what was known of the code that was there before. */
	ebt_backtrace_forget();
	count = ebt_backtrace(a->caller, a->frame, frames);
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
		int state = __atomic_load_n(&recorder.state, __ATOMIC_RELAXED);
		if (state == EARLY)
			t->sampler.left = 0;
		else if (state != LOST || ebt_forked())
			switch_off(t);
		else if (!t->ready || ebt_sampler_draw(&t->sampler))
			count_missing(EINTR);
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

/* In the section. */
static void record_alloc(void *ctx)
{
	const struct allocation *a = ctx;
	size_t count = ebt_backtrace(a->caller, a->frame, frames);
	if (!lock_inside()) {
		ebt_section_leave();
		return;
	}
	struct ebt_memtrace_event e = {
		.what = EBT_MEMTRACE_ALLOC,
		.source = a->source,
		.obj = EBT_MEMTRACE_NEW_OBJ,
		.words = (int64_t)a->words,
		.samples = (int64_t)a->samples,
	};
	collect_replaced(a->address);
	if (is_on())
		write_alloc(a->address, &e, make_codes(a, count));
	unlock();
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
	struct allocation a = {address, words, 0, source, caller, __builtin_frame_address(0)};
	a.samples = draw(t, words);
	if (!a.samples)
		return;
	if (!ebt_section_enter()) {
		refuse();
		return;
	}
	if (!ebt_own_stack_call(record_alloc, &a)) {
		ebt_section_leave();
		count_missing(EAGAIN);
	}
	errno = err;
}

/* Of a sampled object: in a handler that interrupted the recorder it is removed later. */
static bool forget(const void *address, uint64_t *ret_obj)
{
	if (lock())
		return true;
	if (ebt_section_is_inside() && ebt_objects_get(address, ret_obj))
		ebt_section_note(address, *ret_obj);
	return false;
}

struct release {
	const void *address;
	size_t bytes; /* of a range */
	uint64_t obj;
	bool found;
};

static void record_free(void *ctx)
{
	struct release *r = ctx;
	if (!forget(r->address, &r->obj))
		return;
	if (ebt_objects_remove(r->address, &r->obj))
		write_collect(r->obj);
	unlock();
}

static void call(void (*fn)(void *), struct release *r)
{
	int err = errno;
	if (!ebt_own_stack_call(fn, r))
		count_missing(EAGAIN);
	errno = err;
}

void ebt_record_free(const void *address)
{
	struct release r = {.address = address};
	if (ebt_objects_has(address) && is_on())
		call(record_free, &r);
}

static void record_forget(void *ctx)
{
	struct release *r = ctx;
	if (!forget(r->address, &r->obj))
		return;
	r->found = ebt_objects_remove(r->address, &r->obj);
	unlock();
}

bool ebt_record_forget(const void *address, uint64_t *ret_obj)
{
	struct release r = {.address = address};
	if (ebt_objects_has(address) && is_on())
		call(record_forget, &r);
	if (r.found)
		*ret_obj = r.obj;
	return r.found;
}

static void record_collect(void *ctx)
{
	struct release *r = ctx;
	if (lock()) {
		write_collect(r->obj);
		unlock();
	}
}

void ebt_record_collect(uint64_t obj)
{
	struct release r = {.obj = obj};
	call(record_collect, &r);
}

static void record_remember(void *ctx)
{
	struct release *r = ctx;
	if (lock()) {
		ebt_objects_add(r->address, r->obj);
		unlock();
	}
}

void ebt_record_remember(const void *address, uint64_t obj)
{
	struct release r = {.address = address, .obj = obj};
	call(record_remember, &r);
}

/* With the lock. */
static void collect_mappings(const void *address, size_t bytes)
{
	uint64_t obj;
	while (ebt_mappings_take((uintptr_t)address, bytes, &obj))
		write_collect(obj);
}

static void record_unmap(void *ctx)
{
	struct release *r = ctx;
	if (lock()) {
		collect_mappings(r->address, r->bytes);
		unlock();
	}
}

void ebt_record_unmap(const void *address, size_t bytes)
{
	struct release r = {.address = address, .bytes = bytes};
	if (ebt_mappings_any() && is_on())
		call(record_unmap, &r);
}

bool ebt_record_move_begin(void)
{
	if (!ebt_mappings_any() || !is_on())
		return false;
	int err = errno;
	bool locked = lock();
	if (locked)
		ebt_section_call();
	errno = err;
	return locked;
}

static void record_move(void *ctx)
{
	struct release *r = ctx;
	if (r->found)
		collect_mappings(r->address, r->bytes);
	unlock();
}

void ebt_record_move_end(const void *address, size_t bytes, bool moved)
{
	struct release r = {.address = address, .bytes = bytes, .found = moved};
	call(record_move, &r);
}

struct ebt_recorder_state *ebt_recorder_state(void)
{
	return recorder.file.state;
}

bool ebt_recorder_is_process(void)
{
	/* A child of vfork() is not marked. */
	return !ebt_forked() && (ebt_confined() || getpid() == recorder.pid);
}

void ebt_recorder_check_filters(void)
{
	if (!ebt_confined() && ebt_filters_read() > recorder.file.filters)
		ebt_confine(NULL, 0);
}

bool ebt_recorder_has_children(void)
{
	return recorder.environment.children;
}

/* 0 or -errno. */
static int begin_trace(void)
{
	void *memory = ebt_pages_get(ebt_trace_stream_bytes(EBT_BACKTRACE_MAX));
	if (!memory)
		return -ENOMEM;
	recorder.trace = (struct ebt_memtrace_trace){
		.write = write_packet,
		.locations = ebt_modules_locations,
		.ctx = &recorder.file,
	};
	int err = ebt_trace_begin(&recorder.trace, 8, recorder.rate, "");
	if (!err)
		err = ebt_objects_init();
	if (err)
		return err;
	recorder.now_us = recorder.trace.start_us;
	ebt_trace_stream_init(&recorder.stream, memory, &recorder.trace, 0, recorder.now_us);
	recorder.stream_memory = memory;
	return 0;
}

/* 0 or -errno. */
static int begin(bool own_malloc)
{
	const struct ebt_environment *env = &recorder.environment;
	int err = ebt_trace_file_make(&recorder.file, env->dir);
	if (err)
		return err;
	recorder.pid = getpid();
	/* RATE is per word of 8 bytes, the trace samples bytes; RATE 1 samples each byte. */
	recorder.rate = env->rate < 1 ? env->rate / WORD_BYTES : 1;
	recorder.file.state->pid = (uint32_t)recorder.pid;
	recorder.file.state->start = env->start;
	recorder.file.state->is_child = env->is_child;
	recorder.file.state->own_malloc = own_malloc;
	return own_malloc ? -ENOTSUP : begin_trace();
}

/* Called by the thread that forks, before and after: no other thread changes the tables
 * meanwhile. */
static __thread bool forks;

static void before_fork(void)
{
	int err = errno;
	forks = is_on() && !ebt_confined() && lock();
	errno = err;
}

static void after_fork(void)
{
	int err = errno;
	if (forks)
		unlock();
	errno = err;
}

/* The child records into a file of its own, and knows nothing of its parent's objects. */
static void begin_child(void)
{
	struct ebt_trace_file parent = recorder.file;
	if (!ebt_environment_fork(&recorder.environment))
		return;
	__atomic_add_fetch(&parent.state->children, 1, __ATOMIC_RELAXED);
	ebt_pages_put(recorder.stream_memory, ebt_trace_stream_bytes(EBT_BACKTRACE_MAX));
	ebt_objects_done();
	ebt_mappings_done();
	ebt_backtrace_begin_child();
	ebt_own_stack_begin_child();
	int err = begin(false);
	if (err) {
		__atomic_store_n(&recorder.state, OFF, __ATOMIC_RELAXED);
		recorder.file = parent;
	} else {
		ebt_trace_file_leave(&parent);
	}
	recorder.flushed_us = 0;
	ebt_thread.ready = false;
	ebt_thread.sampler.left = 0;
	ebt_fork_mark_renew();
}

static void in_child(void)
{
	int err = errno;
	if (forks) {
		begin_child();
		unlock();
	}
	errno = err;
}

void ebt_recorder_start(char **envp, bool own_malloc)
{
	struct ebt_environment *env = &recorder.environment;
	int state = OFF;
	/* First, as it asks whether more may be asked for. */
	ebt_environment_take(envp, env);
	if (env->dir) {
		ebt_fork_mark_init();
		ebt_loadable_prepare();
		state = begin(own_malloc) ? OFF : ON;
	}
	/* What was set up before is visible to every thread that sees the state. */
	__atomic_store_n(&recorder.state, state, __ATOMIC_RELEASE);
	if (state == ON && env->children)
		pthread_atfork(before_fork, after_fork, in_child);
}

bool ebt_recorder_confine(void)
{
	static bool reserved;
	/* A child of vfork() confines itself alone. */
	if (!is_on() || ebt_confined() || !ebt_recorder_is_process() || !lock())
		return false;
	int err = errno;
	ebt_modules_prepare();
	ebt_trace_file_reserve(&recorder.file, CONFINED_TRACE_BYTES);
	ebt_confine(reserved ? NULL : ebt_pages_get(CONFINED_BYTES), CONFINED_BYTES);
	reserved = true;
	errno = err;
	unlock();
	return true;
}

void ebt_recorder_flush(void)
{
	int err = errno;
	if (is_on() && lock()) {
		flush();
		unlock();
	}
	errno = err;
}

void ebt_recorder_end(void)
{
	int state = __atomic_load_n(&recorder.state, __ATOMIC_ACQUIRE);
	/* A child of vfork() may be what ends. */
	if ((state != ON && state != LOST) || !ebt_recorder_is_process())
		return;
	recorder.file.state->ended = 1;
	if (!is_on() || !lock())
		return;
	flush();
	if (!ebt_confined()) {
		ebt_trace_file_end(&recorder.file);
		__atomic_store_n(&recorder.state, OFF, __ATOMIC_RELAXED);
	}
	unlock();
}
