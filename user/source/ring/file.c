/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "proc/process.h"
#include "session/versions.h"

/* A writer that is inside one event for longer counts as stopped, not as slow. */
#define MAX_HOLD_NS 1000000000ull
/* Period of looks that read all rings. The others read only the first ones: producers take the
 * first free ring. */
#define WHOLE_LOOK_NS 16000000ull
/* Of a file in which nothing changes one read asks whether that is still so, and a look follows
 * after this. */
#define STILL_NS 250000000ull
/* Of many files at rest one read asks that, for longer: of at least BATCH_LEAST, so that few are
 * mapped. */
#define STILL_MANY_NS 1000000000ull
#define BATCH_LEAST   32u
#define BATCH_FILES   64u
#define BATCH_BYTES   16384u
/* Numbers of threads of another namespace that are asked for: each reads the status of all
 * threads. */
#define ASKED_MAX 64u
#define ASKED_NS  1000000000ull

size_t ring_file_bytes(const struct ebt_cursor *c)
{
	return sizeof(struct ring_file) + EBT_RING_NAMES / 8 + cursor_bytes(c) +
	       cursor_layout(c)->max_domains * sizeof(struct ring_watch);
}

int ring_file_new(struct ebt_cursor *c, const char *name, uint32_t process, bool live,
		  uint64_t began_ns, struct ring_file **ret)
{
	struct ring_file *f = calloc(1, sizeof(*f));
	if (!f) {
		ebt_cursor_close(c);
		return -ENOMEM;
	}
	f->cursor = c;
	f->process = process;
	f->live = live;
	f->counted = cursor_ext(c) != NULL;
	cursor_set_process(c, process);
	f->name = strdup(name);
	if (!f->name || !array_room(f->rings, f->watches, 0)) {
		ring_file_free(f);
		return -ENOMEM;
	}
	f->update_ns = f->whole_ns = f->safe_ns = began_ns;
	f->began_ns = live ? began_ns : 0;
	*ret = f;
	return 0;
}

void ring_file_free(struct ring_file *f)
{
	if (!f)
		return;
	ebt_cursor_close(f->cursor);
	free(f->rings);
	free(f->named);
	free(f->name);
	free(f);
}

/*
 * Updates safe_ns, the time before which no event can still appear in a ring. If a writer was
 * inside an event at the last look and has published since, it has finished that event.
 */
static void watch_ring(struct ring_watch *w, const struct cursor_ring *r, uint64_t update_ns)
{
	if (!r->writing)
		w->safe_ns = update_ns;
	else if (r->tail != w->tail)
		w->safe_ns = w->update_ns;
	if (update_ns - w->safe_ns > MAX_HOLD_NS)
		w->safe_ns = update_ns - MAX_HOLD_NS;
	w->tail = r->tail;
	w->update_ns = update_ns;
}

/* How fast it filled since the last look. */
static void rate_ring(struct ring_fill *fill, const struct ring_watch *w,
		      const struct cursor_ring *r, uint64_t update_ns, uint64_t ring_words)
{
	if (!w->update_ns || update_ns <= w->update_ns || r->tail <= w->tail)
		return;
	fill->words += r->tail - w->tail;
	double rings = (double)(r->tail - w->tail) / (double)ring_words;
	double rate = rings / (double)(update_ns - w->update_ns);
	if (rate > fill->rate)
		fill->rate = rate;
	if (rings > fill->fill)
		fill->fill = rings;
}

uint64_t ring_file_due_ns(const struct ring_file *f, uint64_t idle_ns)
{
	double fill_ns = f->rate > 1e-18 ? 1.0 / 32 / f->rate : 1e18;
	if (!f->live)
		return 0;
	return f->update_ns + (fill_ns < (double)idle_ns ? (uint64_t)fill_ns : idle_ns);
}

static bool may_rest(const struct ring_file *f, uint64_t update_ns, uint64_t still_ns)
{
	return f->live && f->looked_ns && update_ns - f->looked_ns < still_ns;
}

/*
 * A look at a file that was at rest at the last one. A writer that was inside an event at the look
 * before has published it, or the file is not still: see cursor_is_still().
 */
static void rest(struct ring_file *f, uint64_t update_ns)
{
	for (uint32_t d = 0; d < f->used; d++) {
		f->rings[d].safe_ns = f->update_ns;
		f->rings[d].update_ns = update_ns;
	}
	f->safe_ns = f->whole_ns = f->update_ns;
	f->update_ns = update_ns;
	f->rate /= 2;
}

struct batch {
	struct ring_file *file[BATCH_FILES];
	struct iovec from[BATCH_FILES], to[BATCH_FILES];
	unsigned count;
	size_t bytes;
	char copy[BATCH_BYTES];
};

/* What cannot be copied, as a file was cut or the call is refused, is left to a look. */
static void read_batch(struct batch *b)
{
	uint64_t update_ns = now_ns();
	ssize_t got = process_vm_readv(getpid(), b->to, b->count, b->from, b->count, 0);
	/* As in cursor_is_still(). */
	atomic_thread_fence(memory_order_acquire);
	for (unsigned i = 0; i < b->count && got >= (ssize_t)b->to[i].iov_len; i++) {
		struct ring_file *f = b->file[i];
		got -= (ssize_t)b->to[i].iov_len;
		f->rested = cursor_was_still(f->cursor, b->to[i].iov_base);
		if (f->rested)
			rest(f, update_ns);
		else
			f->looked_ns = 0; /* not to be asked for again */
	}
	b->count = 0;
	b->bytes = 0;
}

void ring_files_rest(struct ring_file *const *files, uint32_t count)
{
	struct batch b;
	uint64_t now = now_ns();
	uint32_t most = 0;
	for (uint32_t i = 0; i < count; i++)
		most += files[i]->looked && may_rest(files[i], now, STILL_MANY_NS);
	b.count = 0;
	b.bytes = 0;
	for (uint32_t i = 0; i < count && most >= BATCH_LEAST; i++) {
		struct ring_file *f = files[i];
		struct iovec from = {0};
		if (f->looked && may_rest(f, now, STILL_MANY_NS))
			from = cursor_mapped(f->cursor);
		if (!from.iov_len)
			continue;
		if (b.count == BATCH_FILES || from.iov_len > BATCH_BYTES - b.bytes)
			read_batch(&b);
		b.file[b.count] = f;
		b.from[b.count] = from;
		b.to[b.count++] = (struct iovec){b.copy + b.bytes, from.iov_len};
		b.bytes += from.iov_len;
	}
	if (b.count)
		read_batch(&b);
}

bool ring_file_update(struct ring_file *f, uint64_t update_ns, struct ring_fill *fill)
{
	if (may_rest(f, update_ns, STILL_NS) && cursor_is_still(f->cursor)) {
		rest(f, update_ns);
		return true;
	}
	const struct ring_layout *l = cursor_layout(f->cursor);
	bool whole = !f->live || update_ns - f->whole_ns >= WHOLE_LOOK_NS;
	/* Of a file at rest one look is enough, and the end must not chase a writer. */
	int looked = f->last_update ? 1 : cursor_update(f->cursor, whole);
	if (!f->last_update)
		f->before_ns = f->update_ns;
	f->last_update = !f->live;
	uint32_t used = cursor_used(f->cursor);
	if (looked < 0 || (used && !array_room(f->rings, f->watches, used - 1))) {
		/* Fetched words are delivered, the rest is lost. */
		snprintf(f->unread, sizeof(f->unread), "the headers of the rings, found: %s",
			 strerror(looked < 0 ? -looked : ENOMEM));
		ring_file_damage(f, l->headers_offset, f->unread, NULL);
		return false;
	}
	for (; f->used < used; f->used++)
		f->rings[f->used].safe_ns = f->rings[f->used].update_ns = f->whole_ns;
	struct ring_fill of_file = {.rate = f->rate / 2};
	f->whole_ns = looked ? update_ns : f->whole_ns;
	bool changes = false;
	f->safe_ns = f->whole_ns;
	for (uint32_t d = 0; d < f->used; d++) {
		const struct cursor_ring *r = cursor_ring(f->cursor, d);
		changes |= r->tail != f->rings[d].tail;
		rate_ring(&of_file, &f->rings[d], r, update_ns, l->ring_words);
		watch_ring(&f->rings[d], r, update_ns);
		if (f->rings[d].safe_ns < f->safe_ns)
			f->safe_ns = f->rings[d].safe_ns;
	}
	f->update_ns = update_ns;
	f->looked_ns = looked && !changes ? update_ns : 0;
	if (f->leaves)
		of_file = (struct ring_fill){.words = of_file.words};
	f->rate = of_file.rate;
	fill->fill = of_file.fill > fill->fill ? of_file.fill : fill->fill;
	fill->words += of_file.words;
	return true;
}

bool ring_file_has_news(const struct ring_file *f, uint32_t domain)
{
	const struct cursor_ring *r = cursor_ring(f->cursor, domain);
	return r->tail != r->pos || r->notice;
}

/* 0: not known. */
static uint32_t owner_of(struct ring_file *f, struct ring_watch *w, uint32_t inner)
{
	if (!f->is_inner || !inner)
		return inner;
	if (w->owner == inner)
		return w->outer_owner;
	if (f->update_ns - f->asked_ns > ASKED_NS) {
		f->asked_ns = f->update_ns;
		f->asked = 0;
	}
	if (f->asked == ASKED_MAX)
		return 0;
	f->asked++;
	w->owner = inner;
	w->outer_owner = (uint32_t)process_outer_thread(f->pid, (pid_t)inner);
	return w->outer_owner;
}

void ring_file_know_threads(struct ring_file *f, pid_t pid)
{
	const struct ring_ext *ext = cursor_ext(f->cursor);
	if (!f->live || !ext || ext->pid != (uint64_t)process_inner_pid(pid))
		return;
	f->pid = pid;
	f->is_inner = ext->pid != (uint64_t)pid;
}

void ring_file_look_at_owner(struct ring_file *f, uint32_t domain, struct ring_owners *o)
{
	const struct cursor_ring *r = cursor_ring(f->cursor, domain);
	if (r->generation)
		ring_owners_look(o, r->tail, r->generation,
				 owner_of(f, &f->rings[domain], r->owner));
}

void ring_file_damage(struct ring_file *f, uint64_t offset, const char *expected,
		      const struct ring_fault *fault)
{
	if (f->damage.count++)
		return;
	f->damage.name = f->name;
	f->damage.offset = offset;
	f->damage.expected = expected;
	if (fault)
		f->damage.fault = *fault;
}

bool ring_file_ringless(const struct ring_file *f, uint64_t update_ns, struct ring_loss *ret)
{
	uint64_t n = f->counted ? cursor_ringless(f->cursor) : 0;
	if (n <= f->ringless)
		return false;
	*ret = (struct ring_loss){.process = f->process,
				  .since_ns = f->ringless_ns,
				  .ts = update_ns,
				  .events = n - f->ringless};
	return true;
}

int ring_file_learn(struct ring_file *f, struct session *s, uint32_t id)
{
	if (id >= EBT_RING_NAMES || ring_file_knows(f, id))
		return 0;
	const char *name = ebt_cursor_user_name(f->cursor, id);
	if (!name)
		return 0;
	if (!f->named && !(f->named = calloc(EBT_RING_NAMES / 8, 1)))
		return -ENOMEM;
	f->named[id / 8] |= (uint8_t)(1 << id % 8);
	return processes_set_user_name(&s->processes, f->process, id, name);
}

void ring_file_describe(const struct ring_file *f, struct process *ret)
{
	struct ebt_cursor_info info;
	ebt_cursor_info(f->cursor, &info);
	memcpy(ret->producer, info.producer, sizeof(ret->producer));
	memcpy(ret->runtime, info.runtime, sizeof(ret->runtime));
	ret->traits = versions_traits(versions_by_release(info.release));
	ret->traits.hides_user_events = false; /* its ring has them */
	/* The file's name of the process, used if it has ended: a live process may have another. */
	const struct ring_ext *ext = cursor_ext(f->cursor);
	if (ext && !*ret->comm)
		memcpy(ret->comm, ext->comm, sizeof(ext->comm));
	if (!f->live) /* the pid may be that of another process by now */
		return;
	struct process_status now;
	process_read_status((pid_t)ret->pid, &now);
	if (*now.comm)
		memcpy(ret->comm, now.comm, sizeof(ret->comm));
}
