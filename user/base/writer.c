/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/writer.h"

#include "base/file.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* What is put grows one block while the thread writes the other; then they change places. */
struct block {
	char *data;
	size_t len, cap;
};

struct writer {
	int fd;
	size_t limit;
	pthread_t thread;
	pthread_mutex_t lock; /* over all that follows */
	pthread_cond_t more, less;
	struct block filling, writing;
	bool busy, ending;
	int err;
};

static void *run(void *arg)
{
	struct writer *w = arg;
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->filling.len && !w->ending)
			pthread_cond_wait(&w->more, &w->lock);
		if (!w->filling.len)
			break;
		struct block full = w->filling;
		w->filling = w->writing;
		w->filling.len = 0;
		w->writing = full;
		w->busy = true;
		int err = w->err;
		pthread_mutex_unlock(&w->lock);
		if (!err)
			err = file_write(w->fd, full.data, full.len);
		pthread_mutex_lock(&w->lock);
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
	/* Signals are the main thread's business. */
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

void writer_free(struct writer *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	free(w->filling.data);
	free(w->writing.data);
	pthread_cond_destroy(&w->more);
	pthread_cond_destroy(&w->less);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static int append(struct block *b, const void *data, size_t len)
{
	if (b->cap - b->len < len) {
		size_t cap = b->cap ? b->cap : 1 << 16;
		while (cap - b->len < len)
			cap *= 2;
		char *grown = realloc(b->data, cap);
		if (!grown)
			return -ENOMEM;
		b->data = grown;
		b->cap = cap;
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

int writer_put(struct writer *w, const void *data, size_t len)
{
	pthread_mutex_lock(&w->lock);
	/* The two blocks together stay below twice the limit and one put. */
	while (!w->err && w->filling.len >= w->limit)
		pthread_cond_wait(&w->less, &w->lock);
	int err = w->err;
	if (!err)
		err = w->err = append(&w->filling, data, len);
	if (!w->busy)
		pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	return err;
}

bool writer_ready(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	bool ready = w->err || w->filling.len < w->limit / 2;
	pthread_mutex_unlock(&w->lock);
	return ready;
}

int writer_drain(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->busy || (w->filling.len && !w->err))
		pthread_cond_wait(&w->less, &w->lock);
	int err = w->err;
	pthread_mutex_unlock(&w->lock);
	return err;
}
