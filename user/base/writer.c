/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/writer.h"

#include "base/file.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_LEAST (64u << 10)

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
	size_t waiting; /* bytes in the list */
	bool busy, ending;
	int err;
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

static void *run(void *arg)
{
	struct writer *w = arg;
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->first && !w->ending)
			pthread_cond_wait(&w->more, &w->lock);
		if (!w->first)
			break;
		struct block *b = pop_block(w);
		w->busy = true;
		int err = w->err;
		pthread_mutex_unlock(&w->lock);
		if (!err)
			err = file_write(w->fd, b->data, b->len);
		b->len = 0;
		pthread_mutex_lock(&w->lock);
		b->next = w->unused;
		w->unused = b;
		w->err = err;
		w->busy = false;
		pthread_cond_broadcast(&w->less);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int writer_new(int fd, size_t limit, struct writer **ret)
{
	struct writer *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->limit = limit;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	pthread_cond_init(&w->less, NULL);
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

void writer_free(struct writer *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	free_blocks(w->first);
	free_blocks(w->unused);
	pthread_cond_destroy(&w->more);
	pthread_cond_destroy(&w->less);
	pthread_mutex_destroy(&w->lock);
	free(w);
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

/* Blocks while the limit is reached. 0 or the first error so far. */
static int wait_for_room(struct writer *w)
{
	/* The queue stays below the limit plus one put. */
	while (!w->err && w->waiting >= w->limit)
		pthread_cond_wait(&w->less, &w->lock);
	return w->err;
}

static int leave(struct writer *w, int err, size_t len)
{
	w->err = err;
	w->waiting += err ? 0 : len;
	if (!w->busy)
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
	bool ready = w->err || w->waiting < w->limit / 2;
	pthread_mutex_unlock(&w->lock);
	return ready;
}

int writer_drain(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->busy || (w->first && !w->err))
		pthread_cond_wait(&w->less, &w->lock);
	int err = w->err;
	pthread_mutex_unlock(&w->lock);
	return err;
}
