/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/writer.h"

#include "base/clock.h"
#include "base/ending.h"
#include "base/file.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK_LEAST (64u << 10)
/* Maximum of one write to an output that may block: only the end of a write shows that bytes were
 * accepted. */
#define SHORT_BYTES (16u << 10)
/* The output is given up after STALL_LOOKS checks, at least STALL_LOOK_NS apart, found it full. */
#define STALL_LOOK_NS 20000000u
#define STALL_LOOKS   8

/* A block of queued bytes, or an empty one for reuse. */
struct block {
	struct block *next;
	char *data;
	size_t len, cap;
};

struct writer {
	int fd;
	size_t limit;
	pthread_t thread;
	pthread_mutex_t lock; /* over all that follows */
	pthread_cond_t more, less;
	struct block *first, *last; /* to be written, the oldest first */
	struct block *unused;
	size_t waiting;	       /* bytes in the list */
	struct block *writing; /* by the thread; NULL: none */
	size_t written;	       /* bytes of it */
	size_t write_bytes;    /* of one write, at most */
	bool ending;
	int err;
	/* Checks that found the output full since it last accepted bytes. Only checks after the
	 * user has asked us to end count. */
	unsigned stalled;
	uint64_t looked_ns;
	uint64_t given_up; /* bytes */
	bool abandoned;
};

static struct block *pop_block(struct writer *w)
{
	struct block *b = w->first;
	w->first = b->next;
	if (!w->first)
		w->last = NULL;
	w->waiting -= b->len;
	return b;
}

/* Called with the lock, which it releases during writes. */
static int write_block(struct writer *w, const struct block *b)
{
	int err = w->err;
	for (w->written = 0; w->written < b->len && !err;) {
		size_t left = b->len - w->written;
		size_t n = left < w->write_bytes ? left : w->write_bytes;
		pthread_mutex_unlock(&w->lock);
		err = file_write(w->fd, b->data + w->written, n);
		pthread_mutex_lock(&w->lock);
		w->written += n;
		w->stalled = 0;
		/* The descriptor of an output that was given up may be another file by now. */
		err = w->err ? w->err : err;
	}
	return err;
}

static void free_block(struct block *b)
{
	free(b->data);
	free(b);
}

static void free_blocks(struct block *b)
{
	while (b) {
		struct block *next = b->next;
		free_block(b);
		b = next;
	}
}

static void destroy(struct writer *w)
{
	free_blocks(w->first);
	free_blocks(w->unused);
	pthread_cond_destroy(&w->more);
	pthread_cond_destroy(&w->less);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void *run(void *arg)
{
	struct writer *w = arg;
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->first && !w->ending)
			pthread_cond_wait(&w->more, &w->lock);
		if (!w->first)
			break;
		struct block *b = w->writing = pop_block(w);
		w->err = write_block(w, b);
		b->len = 0;
		b->next = w->unused;
		w->unused = b;
		w->writing = NULL;
		pthread_cond_broadcast(&w->less);
	}
	/* One that waited in write() may end late, or never: the memory is its own. */
	bool is_abandoned = w->abandoned;
	pthread_mutex_unlock(&w->lock);
	if (is_abandoned)
		destroy(w);
	return NULL;
}

static void init_locks(struct writer *w)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	pthread_cond_init(&w->less, &attr);
	pthread_condattr_destroy(&attr);
}

int writer_new(int fd, size_t limit, struct writer **ret)
{
	struct writer *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	struct stat st;
	w->fd = fd;
	w->limit = limit;
	w->write_bytes = fstat(fd, &st) || !S_ISREG(st.st_mode) ? SHORT_BYTES : SIZE_MAX;
	init_locks(w);
	/* The main thread handles signals. */
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		free(w);
		return -err;
	}
	*ret = w;
	return 0;
}

/* An empty block of at least this size: the one written last, if it fits. NULL: no memory. */
static struct block *get_block(struct writer *w, size_t cap)
{
	struct block *b = w->unused;
	if (b) {
		w->unused = b->next;
		if (b->cap >= cap)
			return b;
		free_block(b);
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->data = malloc(cap);
	b->cap = cap;
	if (b->data)
		return b;
	free(b);
	return NULL;
}

static void append(struct writer *w, struct block *b)
{
	b->next = NULL;
	*(w->last ? &w->last->next : &w->first) = b;
	w->last = b;
}

static void give_up(struct writer *w)
{
	for (const struct block *b = w->first; b; b = b->next)
		w->given_up += b->len;
	w->given_up += w->writing ? w->writing->len - w->written : 0;
	w->err = w->err ? w->err : -ECANCELED;
	w->abandoned = true;
}

/* A writer that waits for a CPU, as after SIGSTOP, finds room and gives nothing up. */
static void look_for_stall(struct writer *w)
{
	struct pollfd out = {.fd = w->fd, .events = POLLOUT};
	uint64_t now = now_ns();
	if (w->abandoned || !w->writing || w->write_bytes == SIZE_MAX ||
	    now - w->looked_ns < STALL_LOOK_NS)
		return;
	w->looked_ns = now;
	if (!ending_asked() || poll(&out, 1, 0))
		w->stalled = 0;
	else if (++w->stalled >= STALL_LOOKS)
		give_up(w);
}

/* Waits for the thread to have written a block, or for a while. */
static void wait_for_less(struct writer *w)
{
	uint64_t until = now_ns() + STALL_LOOK_NS;
	struct timespec ts = {.tv_sec = (time_t)(until / 1000000000u),
			      .tv_nsec = (long)(until % 1000000000u)};
	pthread_cond_timedwait(&w->less, &w->lock, &ts);
	look_for_stall(w);
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	while (!w->abandoned && (w->writing || w->first))
		wait_for_less(w);
	pthread_t thread = w->thread;
	bool is_abandoned = w->abandoned;
	w->ending = true;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	if (is_abandoned) {
		pthread_detach(thread);
		return;
	}
	pthread_join(thread, NULL);
	destroy(w);
}

/* Blocks while the limit is reached. 0 or the first error so far. */
static int wait_for_room(struct writer *w)
{
	/* The queue stays below the limit plus one put. */
	while (!w->err && w->waiting >= w->limit)
		wait_for_less(w);
	return w->err;
}

static int leave(struct writer *w, int err, size_t len)
{
	w->err = err;
	w->waiting += err ? 0 : len;
	if (!w->writing)
		pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	return err;
}

int writer_put(struct writer *w, const void *data, size_t len)
{
	pthread_mutex_lock(&w->lock);
	int err = wait_for_room(w);
	struct block *b = w->last;
	if (!err && (!b || b->cap - b->len < len)) {
		b = get_block(w, len > BLOCK_LEAST ? len : BLOCK_LEAST);
		err = b ? 0 : -ENOMEM;
		if (b)
			append(w, b);
	}
	if (!err) {
		memcpy(b->data + b->len, data, len);
		b->len += len;
	}
	return leave(w, err, len);
}

int writer_swap(struct writer *w, char **data, size_t cap, size_t len)
{
	/* The bytes of nearly empty blocks are copied, so that memory is proportional to the
	 * queue. */
	if (len < cap / 2)
		return writer_put(w, *data, len);
	pthread_mutex_lock(&w->lock);
	int err = wait_for_room(w);
	struct block *b = err ? NULL : get_block(w, cap);
	if (!err && !b)
		err = -ENOMEM;
	if (!err) {
		char *full = *data;
		*data = b->data;
		*b = (struct block){.data = full, .len = len, .cap = cap};
		append(w, b);
	}
	return leave(w, err, len);
}

bool writer_ready(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	if (w->waiting >= w->limit / 2)
		look_for_stall(w);
	bool ready = w->err || w->waiting < w->limit / 2;
	pthread_mutex_unlock(&w->lock);
	return ready;
}

int writer_drain(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	while (!w->abandoned && (w->writing || (w->first && !w->err)))
		wait_for_less(w);
	int err = w->err;
	pthread_mutex_unlock(&w->lock);
	return err;
}

uint64_t writer_given_up(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	uint64_t bytes = w->given_up;
	pthread_mutex_unlock(&w->lock);
	return bytes;
}
